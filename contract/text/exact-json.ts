// Whole numbers with more digits than a number holds, such as a seed of 64 bits, and numbers like 1e400: read as usual and
// written again they are others, or null. What a client means for its runtime must arrive as it was sent. They are looked
// for in the text, because a parser's reviver takes a microsecond for each value that there is.

const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };
// Each from a number's first digit on: tried at each of its digits, they would take time with the square of its length.
/** A number above 1.8e308 has such an exponent, or more than 200 digits before a shorter one. */
const MAYBE_TOO_LARGE = /\d[eE]\+?\d{3}|(?:^|[^.\d])\d{200}/;
const MANY_DIGITS = /\d[eE]\+?\d{3}|(?:^|[^.\d])\d{16}/;
const LONG_NUMBERS = /(?<![-+.\deE])-?(?:\d{16,}(?:\.\d+)?(?:[eE][+-]?\d+)?|\d+(?:\.\d+)?[eE]\+?\d{3,})/g;

const isTooLarge = (value: unknown): boolean => value === Infinity || value === -Infinity;

const isChanged = (source: string): boolean => {
  const value = Number(source);
  const isWrittenOtherwise = isTooLarge(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));
  return isWrittenOtherwise && String(value) !== source;
};

/** As the end of a sentence about what has one. */
export const TOO_LARGE_A_NUMBER = "has a number that is larger than 1.8e308";

/** Whether what was read of the text has a number that would be written as null. */
export const hasTooLarge = (text: string, value: unknown): boolean =>
  MAYBE_TOO_LARGE.test(text) && holdsTooLarge(value);

export const holdsTooLarge = (value: unknown): boolean =>
  typeof value === "object" && value !== null ? Object.values(value).some(holdsTooLarge) : isTooLarge(value);

/** The numbers that would be changed, and where they stand. */
function* changedNumbers(text: string): Generator<{ readonly at: number; readonly source: string }> {
  if (!MANY_DIGITS.test(text)) return;
  for (let from = 0; from < text.length; ) {
    const quote = text.indexOf('"', from);
    const outside = text.slice(from, quote < 0 ? undefined : quote);
    if (MANY_DIGITS.test(outside))
      for (const { 0: source, index } of outside.matchAll(LONG_NUMBERS))
        if (isChanged(source)) yield { at: from + index, source };
    if (quote < 0) return;
    from = endOfText(text, quote + 1) + 1;
  }
}

/** Where the quote is that ends a text. */
const endOfText = (text: string, from: number): number => {
  let at = text.indexOf('"', from);
  while (at >= 0 && isEscaped(text, at)) at = text.indexOf('"', at + 1);
  return at < 0 ? text.length : at;
};

const isEscaped = (text: string, at: number): boolean => {
  let before = at;
  while (text[before - 1] === "\\") before -= 1;
  return (at - before) % 2 === 1;
};

/** Whether such a number would be changed. The text is JSON. */
export const losesDigits = (text: string): boolean => !changedNumbers(text).next().done;

/** Such a number becomes raw JSON, which is written as it came. Old engines parse it as usual. */
export const parseExact = (text: string): unknown => {
  const changed = rawJSON === undefined ? [] : [...changedNumbers(text)];
  if (changed.length === 0) return JSON.parse(text);
  // Stands for them while the rest is parsed: no text of the body begins so.
  const mark = `${crypto.randomUUID()} `;
  let [marked, from] = ["", 0];
  for (const { at, source } of changed) {
    marked += `${text.slice(from, at)}"${mark}${source}"`;
    from = at + source.length;
  }
  return unmarked(JSON.parse(marked + text.slice(from)), mark);
};

const unmarked = (value: unknown, mark: string): unknown => {
  if (typeof value === "string") return value.startsWith(mark) ? rawJSON?.(value.slice(mark.length)) : value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((part) => unmarked(part, mark));
  const parts = value as Record<string, unknown>;
  for (const name of Object.keys(parts)) parts[name] = unmarked(parts[name], mark);
  return parts;
};
