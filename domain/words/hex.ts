// Bytes as hexadecimal text, two lower-case digits a byte.

/** The digits of each byte. */
export const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

export const hexOf = (bytes: Uint8Array): string => {
  let text = "";
  for (const byte of bytes) text += HEX[byte];
  return text;
};
