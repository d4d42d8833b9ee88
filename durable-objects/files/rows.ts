// A stream as rows of equal size, through one buffer: a new one for each row would wait for the garbage collector.

/** Below the 2 MB limit of a row. */
export const ROW_BYTES: number = 512 * 1024;

/** All but the last are of the whole size. Each is gone when the next one is asked for. */
export async function* rowsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader({ mode: "byob" });
  try {
    for (let buffer = new ArrayBuffer(ROW_BYTES); ; ) {
      const { value } = await reader.readAtLeast(ROW_BYTES, new Uint8Array(buffer));
      if (value === undefined || value.byteLength === 0) return;
      yield value;
      buffer = value.buffer;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/** As a column's value. */
export const blobOf = (row: Uint8Array<ArrayBuffer>): ArrayBuffer =>
  row.byteLength === row.buffer.byteLength ? row.buffer : row.slice().buffer;
