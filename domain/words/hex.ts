// Bytes as hexadecimal text, two digits a byte, written in lower case.

/** The digits of each byte. */
export const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

export const hexOf = (bytes: Uint8Array): string => {
  let text = "";
  for (const byte of bytes) text += HEX[byte];
  return text;
};

const digitAt = (hex: string, index: number): number => {
  const code = hex.charCodeAt(index);
  return code < 0x3a ? code - 0x30 : (code | 0x20) - 0x57;
};

/** Of digits in either case. Quicker than `parseInt`, which takes longer than a decompression of the bytes. */
export const bytesOfHex = (hex: string): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(hex.length / 2);
  for (let index = 0; index < bytes.length; index += 1)
    bytes[index] = digitAt(hex, 2 * index) * 16 + digitAt(hex, 2 * index + 1);
  return bytes;
};
