// The bounds of JSON from outside, over HTTP and over a socket. Both are checked before anything is parsed: a parser
// recurses with the depth, and each value costs memory and time however few bytes it has.

export const MAX_JSON_DEPTH = 64;

/** Room for the largest embeddings request of OpenAI's API: 300 000 tokens in 2 048 inputs. */
export const MAX_JSON_VALUES = 320_000;

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_BRACKET, CLOSE_BRACKET] = [0x5b, 0x5d];
const [OPEN_BRACE, CLOSE_BRACE] = [0x7b, 0x7d];

/** What is too much in a JSON text, as the end of a sentence about it; null if nothing is. */
export type JsonExcess = string | null;

export const TOO_DEEP: string = `must not nest deeper than ${MAX_JSON_DEPTH} levels`;
export const TOO_MANY_VALUES: string = `must not have more than ${MAX_JSON_VALUES} values (numbers, texts, lists, objects)`;

/**
 * Counts brackets and commas outside strings. Each value of a list or an object follows a comma or the opening bracket,
 * so that the count is exact but for empty lists and objects, which count twice.
 */
export const jsonExcess = (text: string): JsonExcess => {
  let depth = 0;
  let values = 1;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (isInString) {
      if (char === BACKSLASH) at += 1;
      else if (char === QUOTE) isInString = false;
    } else if (char === QUOTE) isInString = true;
    else if (char === COMMA) values += 1;
    else if (char === OPEN_BRACKET || char === OPEN_BRACE) {
      depth += 1;
      values += 1;
      if (depth > MAX_JSON_DEPTH) return TOO_DEEP;
    } else if (char === CLOSE_BRACKET || char === CLOSE_BRACE) depth -= 1;
  }
  return values > MAX_JSON_VALUES ? TOO_MANY_VALUES : null;
};
