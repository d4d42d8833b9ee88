// Estimates of tokens, for attempts that were cut before the runtime reported its counts: an attempt with any output is
// never free. Four characters a token is the usual rule for texts; media in a request are not text.

import { isObject } from "../text/json-object.ts";

const CHARS_A_TOKEN = 4;
/** What a picture or a sound in a request counts for; about what large providers charge for a picture. */
const TOKENS_A_MEDIUM = 1_000;
/** Texts at least this long without a space are data. */
const DATA_CHARS = 2_048;
const MAX_DEPTH = 32;

export const tokensOf = (chars: number): number => Math.ceil(chars / CHARS_A_TOKEN);

const isData = (text: string): boolean =>
  text.startsWith("data:") || (text.length >= DATA_CHARS && !/\s/.test(text.slice(0, DATA_CHARS)));

/** The input of a request, as far as its body shows it. */
export const inputTokensOf = (body: unknown, depth = 0): number => {
  if (typeof body === "string") return isData(body) ? TOKENS_A_MEDIUM : tokensOf(body.length);
  if (depth > MAX_DEPTH) return 0;
  if (Array.isArray(body)) return body.reduce((sum: number, one) => sum + inputTokensOf(one, depth + 1), 0);
  if (!isObject(body)) return 0;
  return Object.values(body).reduce((sum: number, one) => sum + inputTokensOf(one, depth + 1), 0);
};
