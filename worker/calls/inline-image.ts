// An image that comes along in its own address (RFC 2397), as chats have it.

/** Its type and its bytes in base64; null if it is another address. */
export const inlineImage = (url: string): { type: string; data: string } | null => {
  const [start, type] = /^data:(image\/[\w.+-]+);base64,/.exec(url) ?? [];
  return start === undefined || type === undefined ? null : { type, data: url.slice(start.length) };
};
