// Passes a stream of events on, whole events only: nothing can be said after half of one. Keeps the end of what passed,
// for last words that must fit to it: events may be numbered. However small the pieces are that a worker sends, each byte
// is copied a few times at most.

/** What follows a stream that broke off, given the end of what its client got, and whether that read too slowly. */
export type LastWords = (last: string, isSlow?: boolean) => string;

const LAST_BYTES = 16 * 1024;
const LAST_PIECES = 64;
/** What is longer passes in pieces, as it comes. */
export const LONGEST_HELD_BYTES = 2 * 1024 * 1024;
const [LF, CR] = [10, 13];

export class WholeEvents {
  /** The beginning of an event, in a buffer that may be larger. */
  #held = new Uint8Array();
  #heldBytes = 0;
  #last: Uint8Array[] = [];
  #lastBytes = 0;

  /** What may pass; it may be empty. */
  take(bytes: Uint8Array): Uint8Array {
    const from = this.#heldBytes;
    const all = from === 0 ? bytes : this.#hold(bytes);
    const end = all.byteLength > LONGEST_HELD_BYTES ? all.byteLength : lastEndIn(all, from);
    if (end === 0 && from > 0) return all.subarray(0, 0);
    const passed = end === all.byteLength ? all : all.subarray(0, end);
    if (from > 0) this.rest();
    if (end < all.byteLength) this.#hold(all.subarray(end));
    this.#note(passed);
    return passed;
  }

  /** What was held back; it is held no longer. */
  rest(): Uint8Array {
    const rest = this.#held.subarray(0, this.#heldBytes);
    this.#held = new Uint8Array();
    this.#heldBytes = 0;
    return rest;
  }

  /** The end of what passed. */
  last(): string {
    return new TextDecoder().decode(joined(this.#last));
  }

  /** Adds to what is held; returns all of it. */
  #hold(bytes: Uint8Array): Uint8Array {
    const all = this.#heldBytes + bytes.byteLength;
    if (all > this.#held.byteLength) this.#held = joined([this.#held.subarray(0, this.#heldBytes)], 2 * all);
    this.#held.set(bytes, this.#heldBytes);
    this.#heldBytes = all;
    return this.#held.subarray(0, all);
  }

  #note(passed: Uint8Array): void {
    if (passed.byteLength === 0) return;
    this.#last.push(passed);
    this.#lastBytes += passed.byteLength;
    while (this.#lastBytes - (this.#last[0]?.byteLength ?? 0) >= LAST_BYTES)
      this.#lastBytes -= this.#last.shift()?.byteLength ?? 0;
    if (this.#last.length <= LAST_PIECES) return;
    const last = joined(this.#last).slice(-LAST_BYTES);
    this.#last = [last];
    this.#lastBytes = last.byteLength;
  }
}

const joined = (pieces: readonly Uint8Array[], length = pieces.reduce((sum, one) => sum + one.byteLength, 0)) => {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole;
};

/** Behind the last event of the bytes; 0 if none ends at `from` or later. Almost always it is their end. */
const lastEndIn = (bytes: Uint8Array, from: number): number => {
  for (let at = bytes.byteLength - 1; at >= from; at -= 1) {
    const byte = bytes[at];
    if (byte !== LF && byte !== CR) continue;
    const before = bytes[at - 1];
    if (before === byte || (byte === LF && before === CR && bytes[at - 2] === LF)) return at + 1;
  }
  return 0;
};
