// The bounds of JSON from outside, over HTTP and over a socket. They are checked before anything is parsed: a parser
// recurses with the depth, and each value costs memory and time however few bytes it has.

import { JSON_MARKS } from "../text/json-marks.ts";

export const MAX_JSON_DEPTH = 64;

/** Room for the largest embeddings request of OpenAI's API: 300 000 tokens in 2 048 inputs. */
export const MAX_JSON_VALUES = 320_000;

/** Each costs a parser some 0.3 µs, however little is in it. */
export const MAX_JSON_LISTS = 65_536;

/**
 * V8 keeps one copy of each name, and of each text of at most 10 characters, in a table that all tenants of a process
 * share: a new one costs 0.3 to 1 µs, ten times as much as a longer text, and each collection of garbage visits all of
 * them. Room for 500 jobs of which each has 60 of its own. They are told apart by 18 bits of a hash, so that some more
 * may pass.
 */
export const MAX_JSON_WORDS = 32_768;
const WORD_CHARS = 10;
/** Of `\u0061` for each character. */
const ESCAPED_WORD_CHARS = 6 * WORD_CHARS;
const HASH_BITS = 18;

/** A shorter text may nest too deep, but cannot have too many of anything. */
export const LONG_JSON_CHARS = 65_536;

const [QUOTE, BACKSLASH, COMMA, COLON, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = JSON_MARKS;

/** What is too much in a JSON text, as the end of a sentence about it; null if nothing is. */
export type JsonExcess = string | null;

const TOO_DEEP = `must not nest deeper than ${MAX_JSON_DEPTH} levels`;
const TOO_MANY_VALUES = `must not have more than ${MAX_JSON_VALUES} values (numbers, texts, lists, objects)`;
const TOO_MANY_LISTS = `must not have more than ${MAX_JSON_LISTS} lists and objects`;
const TOO_MANY_WORDS = `must not have more than ${MAX_JSON_WORDS} different names and texts of at most ${WORD_CHARS} characters: put a longer list of them into one text, or into a file`;

/** A hash that a sender cannot foresee: texts that share one would be counted once. */
let seed = 0;
const HASH_FACTOR = 0x01000193;

export const mixed = (hash: number, char: number): number => Math.imul(hash ^ char, HASH_FACTOR);

/** Which hashes there were, by a bit for each. */
class Words {
  readonly #seen = new Uint32Array(2 ** HASH_BITS / 32);
  count = 0;

  add(hash: number): void {
    const place = (hash ^ (hash >>> HASH_BITS)) & (2 ** HASH_BITS - 1);
    const bit = 1 << (place & 31);
    const seen = this.#seen[place >>> 5] as number;
    if ((seen & bit) !== 0) return;
    this.#seen[place >>> 5] = seen | bit;
    this.count += 1;
  }
}

/**
 * Counts what a scan finds outside of texts, and the texts. Each value of a list or an object follows a comma or the
 * opening bracket, so that the count is exact but for empty lists and objects, which count twice.
 */
export class JsonTally {
  readonly #words: Words | null;
  /** Of the hash of each text. */
  readonly seed: number;
  depth = 0;
  #isTooDeep = false;
  #values = 1;
  #lists = 0;
  #lastText = 0;
  #isLastKept = true;

  constructor(isLong: boolean) {
    seed ||= crypto.getRandomValues(new Int32Array(1))[0] as number;
    this.seed = seed;
    this.#words = isLong ? new Words() : null;
  }

  /** A character outside of texts. */
  mark(char: number): void {
    if (char === COMMA) this.#values += 1;
    else if (char === OPEN_BRACKET || char === OPEN_BRACE) {
      this.depth += 1;
      if (this.depth > MAX_JSON_DEPTH) this.#isTooDeep = true;
      this.#values += 1;
      this.#lists += 1;
    } else if (char === CLOSE_BRACKET || char === CLOSE_BRACE) this.depth -= 1;
    else if (char === COLON && !this.#isLastKept) this.#words?.add(this.#lastText);
  }

  /** A text, by the hash of its characters as they are written. */
  text(hash: number, chars: number, hasEscape: boolean): void {
    this.#lastText = hash;
    this.#isLastKept = chars <= (hasEscape ? ESCAPED_WORD_CHARS : WORD_CHARS);
    if (this.#isLastKept) this.#words?.add(hash);
  }

  excess(): JsonExcess {
    if (this.#isTooDeep) return TOO_DEEP;
    if (this.#values > MAX_JSON_VALUES) return TOO_MANY_VALUES;
    if (this.#lists > MAX_JSON_LISTS) return TOO_MANY_LISTS;
    return (this.#words?.count ?? 0) > MAX_JSON_WORDS ? TOO_MANY_WORDS : null;
  }
}

export const jsonExcess = (text: string): JsonExcess => {
  const tally = new JsonTally(text.length >= LONG_JSON_CHARS);
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) at = endOfText(text, at + 1, tally);
    else if (char >= COMMA) tally.mark(char);
  }
  return tally.excess();
};

const endOfText = (text: string, from: number, tally: JsonTally): number => {
  let hash = tally.seed;
  let hasEscape = false;
  let at = from;
  for (; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) break;
    hash = mixed(hash, char);
    if (char !== BACKSLASH) continue;
    hasEscape = true;
    at += 1;
    hash = mixed(hash, text.charCodeAt(at));
  }
  tally.text(hash, at - from, hasEscape);
  return at;
};
