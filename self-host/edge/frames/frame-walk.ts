// Follows the frames of a WebSocket, whose bytes may be cut anywhere, without copying them.

import { headerBytes, IS_MASKED, MASK_BYTES, MAX_HEADER_BYTES, payloadBytes } from "./websocket-frame.ts";

const NO_BYTES = Buffer.alloc(0);
const IS_LAST = 0x80;
/** From here on: a close, a ping, a pong. They come between the frames of a message. */
const FIRST_CONTROL_OPCODE = 8;

export class FrameWalk {
  /** The current frame: the known part of its header, and how much of what follows it is still to come. */
  #header = NO_BYTES;
  #remaining = 0;
  /** Of the last frame whose header has come. */
  opcode = 0;
  #isLast = true;

  /** Whether all frames that have begun have passed. */
  get isBetween(): boolean {
    return this.#remaining === 0 && this.#header.length === 0;
  }

  /** Whether no message has begun and not ended. */
  get isWhole(): boolean {
    return this.isBetween && this.#isLast;
  }

  /** Whether the last frame whose header has come is a close, a ping or a pong. */
  get isControl(): boolean {
    return this.opcode >= FIRST_CONTROL_OPCODE;
  }

  /** Goes on to the end of the header or the payload that comes at `at`, or of the bytes; returns where that is. */
  step(bytes: Buffer, at: number): number {
    if (this.#remaining === 0) return at + this.#takeHeader(bytes.subarray(at, at + MAX_HEADER_BYTES));
    const passed = Math.min(this.#remaining, bytes.length - at);
    this.#remaining -= passed;
    return at + passed;
  }

  /** Returns how many bytes of the header were in `begun`. */
  #takeHeader(begun: Buffer): number {
    const had = this.#header.length;
    const known = had === 0 ? begun : Buffer.concat([this.#header, begun]);
    const wanted = known.length < 2 ? 2 : headerBytes(known);
    const header = known.subarray(0, wanted);
    const isWhole = known.length >= wanted && known.length >= 2;
    this.#header = isWhole ? NO_BYTES : header;
    if (isWhole) {
      this.#remaining = payloadBytes(header) + ((header[1] ?? 0) & IS_MASKED ? MASK_BYTES : 0);
      this.opcode = (header[0] ?? 0) & 0x0f;
      if (!this.isControl) this.#isLast = ((header[0] ?? 0) & IS_LAST) !== 0;
    }
    return header.length - had;
  }
}
