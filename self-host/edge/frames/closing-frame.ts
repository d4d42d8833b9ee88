// Finds the close frame among the bytes to a WebSocket's client, whose connection then ends (RFC 6455, 7.1.1: the server
// closes first). workerd keeps the connection open until its object sleeps, if the client has never sent a message.

import { FrameWalk } from "./frame-walk.ts";

const CLOSE_OPCODE = 0x8;

export class CloseWatch {
  readonly #frames = new FrameWalk();

  /** Whether a close frame has passed completely with these bytes. */
  hasPassed(bytes: Buffer): boolean {
    for (let at = 0; at < bytes.length; ) {
      at = this.#frames.step(bytes, at);
      if (this.#frames.isBetween && this.#frames.opcode === CLOSE_OPCODE) return true;
    }
    return false;
  }
}
