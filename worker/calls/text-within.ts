// An answer's text, counted as it arrives, unpacked: a small packed answer may be very large, and another never ends.

export const textWithin = async ({ body }: Pick<Response, "body">, maxBytes: number): Promise<string> => {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.byteLength;
    if (bytes > maxBytes) throw new Error("it is too large");
    pieces.push(piece);
  }
  return new TextDecoder().decode(Buffer.concat(pieces));
};

/** What a runtime says of itself and of its models. */
export const MAX_TOLD_BYTES: number = 16 * 1024 * 1024;
