// FNV-1a: the same 32 bits for the same text, everywhere and for ever. Its low bits are weak; `mixedHashOf` has none
// that are.

const OFFSET = 0x811c9dc5;
const PRIME = 0x01000193;

export const fnv1a = (text: string): number => {
  let hash = OFFSET;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), PRIME);
  return hash;
};

/** The same with the final mix of MurmurHash3: similar texts have values far apart. */
export const mixedHashOf = (text: string): number => {
  let hash = fnv1a(text);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
};

/** The same as a part of 1, in [0, 1). */
export const hashedPartOf = (text: string): number => mixedHashOf(text) / 2 ** 32;
