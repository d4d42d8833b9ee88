// A stream as rows of equal size, through one buffer: a new one for each row would wait for the garbage collector.

/** Below the 2 MB limit of a row. */
export const ROW_BYTES: number = 512 * 1024;

/** All but the last are of the whole size. Each is gone when the next one is asked for. */
export async function* rowsOf(
  body: ReadableStream<Uint8Array>,
  rowBytes = ROW_BYTES,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader({ mode: "byob" });
  try {
    for (let buffer = new ArrayBuffer(rowBytes); ; ) {
      const { value } = await reader.readAtLeast(rowBytes, new Uint8Array(buffer));
      if (value === undefined || value.byteLength === 0) return;
      yield value;
      buffer = value.buffer;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/** All of a body that is smaller than a row; null: it is larger. */
export const smallBody = async (body: ReadableStream<Uint8Array> | null): Promise<ArrayBuffer | null> => {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.byteLength;
    if (bytes >= ROW_BYTES) return null;
    pieces.push(piece as Uint8Array<ArrayBuffer>);
  }
  return new Blob(pieces).arrayBuffer();
};

/** As a column's value. */
export const blobOf = (row: Uint8Array<ArrayBuffer>): ArrayBuffer =>
  row.byteLength === row.buffer.byteLength ? row.buffer : row.slice().buffer;
