// Splits a search into words as the full-text index does: runs of letters and digits.

const MAX_TERMS = 16;
/** Letters and digits, except the few letters that the index treats as separators. */
const WORD = /(?![\u19b0-\u19c0\u19c8\u19c9\u1cf2\u1cf3])[\p{L}\p{N}\p{Co}]/u;
const WORDS = new RegExp(`(?:${WORD.source})+`, "gu");

export const searchTermsOf = (text: string): string[] =>
  [...new Set(text.normalize("NFC").match(WORDS) ?? [])].slice(0, MAX_TERMS);
