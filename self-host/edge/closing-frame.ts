// Finds the close frame among the bytes to a WebSocket's client, whose connection then ends (RFC 6455, 7.1.1: the server
// closes first). workerd keeps the connection open until its object sleeps, if the client has never sent a message.

import { headerBytes, MAX_HEADER_BYTES, payloadBytes } from "./websocket-frame.ts";

const NO_BYTES = Buffer.alloc(0);
const CLOSE_OPCODE = 0x8;

export class CloseWatch {
  /** The current frame: the known part of its header, and how much of its payload is still to come. */
  #header = NO_BYTES;
  #remaining = 0;
  #isClosing = false;

  /** Whether a close frame has passed completely with these bytes. */
  hasPassed(bytes: Buffer): boolean {
    for (let at = 0; at < bytes.length; ) {
      if (this.#remaining > 0) {
        const passed = Math.min(this.#remaining, bytes.length - at);
        this.#remaining -= passed;
        at += passed;
      } else {
        at += this.#takeHeader(bytes.subarray(at));
      }
      if (this.#isClosing && this.#remaining === 0) return true;
    }
    return false;
  }

  /** Returns how many bytes of the header were in `bytes`. */
  #takeHeader(bytes: Buffer): number {
    const had = this.#header.length;
    const begun = bytes.subarray(0, MAX_HEADER_BYTES);
    const known = had === 0 ? begun : Buffer.concat([this.#header, begun]);
    const wanted = known.length < 2 ? 2 : headerBytes(known);
    this.#header = known.subarray(0, wanted);
    if (known.length >= wanted) {
      this.#remaining = payloadBytes(this.#header);
      this.#isClosing = ((this.#header[0] ?? 0) & 0x0f) === CLOSE_OPCODE;
      this.#header = NO_BYTES;
    }
    return Math.min(wanted, known.length) - had;
  }
}
