// Bytes as base64, and in its form for addresses (RFC 4648, 5) without padding. What is no base64 throws.

/** Of at most some ten thousand bytes at a time. `apply` takes a fifth of the time of a spread. */
export const base64 = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode.apply(null, bytes as unknown as number[]));

export const fromBase64 = (text: string): Uint8Array<ArrayBuffer> => {
  const chars = atob(text);
  const bytes = new Uint8Array(chars.length);
  for (let at = 0; at < chars.length; at += 1) bytes[at] = chars.charCodeAt(at);
  return bytes;
};

export const base64Url = (bytes: Uint8Array): string =>
  base64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
