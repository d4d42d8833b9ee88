// Whole numbers with more digits than a number holds, such as a seed of 64 bits, and numbers like 1e400: read as usual and
// written again they are others, or null. What a client means for its runtime must arrive as it was sent.

interface Source {
  readonly source?: string;
}
type Reviver = (name: string, value: unknown, context?: Source) => unknown;

const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };
const LONG_EXPONENT = /\d[eE]\+?\d{3}/;
const MANY_DIGITS = /[^.\d]\d{16}|\d[eE]\+?\d{3}/;

const isTooLarge = (value: unknown): boolean => value === Infinity || value === -Infinity;

const isChanged = (value: unknown, source: string | undefined): source is string =>
  (isTooLarge(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) &&
  source !== undefined &&
  String(value) !== source;

/** Whether what was read of the text has a number that would be written as null. */
export const hasTooLarge = (text: string, value: unknown): boolean =>
  (LONG_EXPONENT.test(text) || /\d{309}/.test(text)) && holdsTooLarge(value);

const holdsTooLarge = (value: unknown): boolean =>
  typeof value === "object" && value !== null ? Object.values(value).some(holdsTooLarge) : isTooLarge(value);

/** Whether such a number would be changed. The text is JSON. */
export const losesDigits = (text: string): boolean => {
  if (!MANY_DIGITS.test(text)) return false;
  let isLost = false;
  const look: Reviver = (_, value, context) => {
    isLost ||= isChanged(value, context?.source);
    return value;
  };
  JSON.parse(text, look);
  return isLost;
};

/** Such a number is no number then, but is written as it came. Old engines read it as usual. */
export const parseExact = (text: string): unknown => {
  if (rawJSON === undefined || !MANY_DIGITS.test(text)) return JSON.parse(text);
  const keep: Reviver = (_, value, { source } = {}) => (isChanged(value, source) ? rawJSON(source) : value);
  return JSON.parse(text, keep);
};
