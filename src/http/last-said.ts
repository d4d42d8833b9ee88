// The last of what a client got of a stream, for an end that must fit to it: its events may be numbered.

/** What follows a stream that broke off, given the end of what its client got. */
export type LastWords = (last: string) => string;

/** Keeps the last of what passes, for those whose end must fit to it. */
export class LastSaid {
  #chunks: Uint8Array[] = [];
  #bytes = 0;

  note(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
    while (this.#bytes - (this.#chunks[0]?.byteLength ?? 0) >= LAST_BYTES)
      this.#bytes -= this.#chunks.shift()?.byteLength ?? 0;
  }

  text(): string {
    const decoder = new TextDecoder();
    return this.#chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("");
  }
}

const LAST_BYTES = 16 * 1024;
