// Sends pieces on as a stream, at the pace of its reader. Invariant: the maker of a piece may reuse it as soon as the
// next one is asked for, so that a file of any size passes through one buffer.

type Pieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

const pour = async (pieces: Pieces, writer: WritableStreamDefaultWriter<Uint8Array>): Promise<void> => {
  try {
    for await (const piece of pieces) await writer.write(piece);
    await writer.close();
  } catch (error) {
    writer.abort(error).catch(() => undefined);
    throw error;
  }
};

/** The stream, and what settles when it has ended. */
export const poured = (pieces: Pieces): { readonly body: ReadableStream<Uint8Array>; readonly done: Promise<void> } => {
  const { readable, writable } = new IdentityTransformStream();
  return { body: readable, done: pour(pieces, writable.getWriter()) };
};
