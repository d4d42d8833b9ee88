// Estimates of tokens, for attempts that were cut before the runtime reported its counts: an attempt with any output is
// never free. Four characters a token is the usual rule for texts; media in a request are not text.

import { isObject } from "../text/json-object.ts";

const CHARS_A_TOKEN = 4;
/** What a picture or a sound in a request counts for; about what large providers charge for a picture. */
const TOKENS_A_MEDIUM = 1_000;
/** The names of media, as bytes or as an address. Each pattern ends soon: a name may have a megabyte. */
const MEDIUM = /^(images?|audio|video|b64_json|file_data|.{1,24}_url)$/;
/** What holds one as its `data` or `url`, by its name or its type. */
const HOLDER = /^(source|(input_)?audio|inline_data|.{1,24}_url)$/;
const MEDIUM_TYPE = /^(image|audio|video|file)/;
const MAX_DEPTH = 32;

export const tokensOf = (chars: number): number => Math.ceil(chars / CHARS_A_TOKEN);

/** Whoever writes a text must not make it count for less, so that it is no medium by how it begins. */
export const inputTokensOf = (body: unknown, depth = 0, name = "", isMedium = false): number => {
  if (typeof body === "string") return isMedium && !body.includes(" ") ? TOKENS_A_MEDIUM : tokensOf(body.length);
  // A prompt may be the tokens themselves.
  if (typeof body === "number") return 1;
  if (depth > MAX_DEPTH) return 0;
  if (Array.isArray(body))
    return body.reduce((sum: number, one) => sum + inputTokensOf(one, depth + 1, name, isMedium), 0);
  if (!isObject(body)) return 0;
  const { type } = body;
  const isHolder = (HOLDER.test(name) && type !== "text") || (typeof type === "string" && MEDIUM_TYPE.test(type));
  return Object.entries(body).reduce((sum, [inner, one]) => {
    const isHeld = isHolder && (inner === "data" || inner === "url" || inner === "result");
    return sum + inputTokensOf(one, depth + 1, inner, isHeld || MEDIUM.test(inner));
  }, 0);
};
