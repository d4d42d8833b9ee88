// Text of others on a terminal. Control characters could rewrite what is there; overrides of the direction of writing
// could show a line in another order than it has.

const UNSAFE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu;
const UNSAFE_BUT_LINES = /[^\P{Cc}\n\t]+|[\u202a-\u202e\u2066-\u2069]+/gu;

/** On one line. */
export const printable = (text: string): string => text.replaceAll(UNSAFE, " ");

/** The same for text of several lines: its line breaks and tabs stay. */
export const printableLines = (text: string): string =>
  text.replaceAll(/\r\n?/g, "\n").replaceAll(UNSAFE_BUT_LINES, " ");
