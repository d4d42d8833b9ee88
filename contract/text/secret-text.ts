// The forms in which a secret can appear in a text: plain, encoded for a URL, inside JSON, and in base64 of either
// alphabet, alone or among other bytes (`Bearer <secret>`, `user:<secret>`).

/** Whether a header can carry it as a key. What is thrown for another may contain the key. */
export const isSendableKey = (key: string): boolean => /^[\x21-\x7e]+$/.test(key);
export const UNSENDABLE_KEY = "contains characters that no key has: copy it again, whole and on one line";

const KEY_LIKE = /\b(sbx|sk|gsk|xai|csk|hf|nvapi)[-_][\w*-]{4,}/g;

/** Without what looks like a key of this service or of a provider: some quote a part of it. */
export const withoutKeyLike = (text: string): string => text.replace(KEY_LIKE, "[key]");

/** A shorter secret is only searched in plain form: any text contains its encoded forms. */
const ENCODED_MIN_LENGTH = 8;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Longest first, so that replacing each in turn leaves nothing of a longer one. */
export const secretForms = (secret: string): string[] => {
  if (secret === "") return [];
  if (secret.length < ENCODED_MIN_LENGTH || !secret.isWellFormed()) return [secret];
  const escaped = encodeURIComponent(secret);
  const bytes = utf8(escaped);
  const base64 = [0, 1, 2].map((byteCountBefore) => base64Inside(bytes, byteCountBefore));
  const base64Url = base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_"));
  const inUrl = base64.map(encodeURIComponent);
  const inJson = JSON.stringify(secret).slice(1, -1);
  const forms = new Set([secret, escaped, inJson, ...inUrl, ...base64, ...base64Url]);
  return [...forms].sort((one, other) => other.length - one.length);
};

/** The base64 characters that depend only on these bytes, with this many bytes before them and any after. */
const base64Inside = (bytes: readonly number[], byteCountBefore: number): string => {
  const bits = [...new Array<number>(byteCountBefore).fill(0), ...bytes]
    .map((byte) => byte.toString(2).padStart(8, "0"))
    .join("");
  const sextets = bits.match(/.{6}/g) ?? [];
  return sextets
    .slice(Math.ceil((byteCountBefore * 8) / 6))
    .map((sextet) => ALPHABET.charAt(Number.parseInt(sextet, 2)))
    .join("");
};

const utf8 = (escaped: string): number[] => {
  const parts = escaped.match(/%[0-9A-F]{2}|[^%]/g) ?? [];
  return parts.map((part) => (part.length === 1 ? part.charCodeAt(0) : Number.parseInt(part.slice(1), 16)));
};
