// Estimates of tokens, for attempts that were cut before the runtime reported its counts: an attempt with any output is
// never free. Four characters a token is the usual rule for texts; media in a request are not text.

import { isObject } from "../text/json-object.ts";

const CHARS_A_TOKEN = 4;
/** What a picture or a sound in a request counts for; about what large providers charge for a picture. */
const TOKENS_A_MEDIUM = 1_000;
/** The names under which requests have media, as bytes or as an address. */
const MEDIA = /^(data|result|images?|b64_json|file_data|(.+_)?url)$/;
const MAX_DEPTH = 32;

export const tokensOf = (chars: number): number => Math.ceil(chars / CHARS_A_TOKEN);

/** Whoever writes the text must not make it count for less, so that it is no medium by how it begins. */
const isMedium = (name: string, text: string): boolean => MEDIA.test(name) && !text.includes(" ");

/** The input of a request, as far as its body shows it. A prompt may be the tokens themselves, as numbers. */
export const inputTokensOf = (body: unknown, depth = 0, name = ""): number => {
  if (typeof body === "string") return isMedium(name, body) ? TOKENS_A_MEDIUM : tokensOf(body.length);
  if (typeof body === "number") return 1;
  if (depth > MAX_DEPTH) return 0;
  if (Array.isArray(body)) return body.reduce((sum: number, one) => sum + inputTokensOf(one, depth + 1, name), 0);
  if (!isObject(body)) return 0;
  return Object.entries(body).reduce((sum, [inner, one]) => sum + inputTokensOf(one, depth + 1, inner), 0);
};
