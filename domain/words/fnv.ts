// FNV-1a: the same 32 bits for the same text, everywhere and for ever. Its low bits are weak, so users mix them.

const OFFSET = 0x811c9dc5;
const PRIME = 0x01000193;

export const fnv1a = (text: string): number => {
  let hash = OFFSET;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), PRIME);
  return hash;
};
