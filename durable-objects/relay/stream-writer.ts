// The worker's side of a stream: when it last said something, and whether it will say more.

import type { HeldOpen } from "./holder-check.ts";

/** How much later than its worker's report, or than the loss of the worker's line, a stream's end may come. */
export const END_GRACE_MS = 5_000;
/** Its worker has sent everything over HTTP, so that its report is near. */
const ASK_LEFT_AFTER_MS = 100;

export class StreamWriter {
  /** The body of events that comes over HTTP. */
  body: HeldOpen | null = null;
  /** Time of the worker's last byte, or of the end. */
  lastAt: number;
  #askedAt: number;
  /** The body of events has ended without an end of the stream. */
  #isLeft = false;

  constructor(nowAt: number) {
    this.lastAt = nowAt;
    this.#askedAt = nowAt;
  }

  /** It has begun to send over HTTP. One body at a time is taken. */
  noteBody(body: HeldOpen): void {
    this.body?.end();
    this.body = body;
    this.#isLeft = false;
  }

  /** It has sent all that it will send over HTTP. */
  noteLeft(nowAt: number): void {
    this.body = null;
    this.#isLeft = true;
    this.lastAt = nowAt;
  }

  /** It left too long ago for an end to come. */
  isLost(nowAt: number): boolean {
    return this.#isLeft && nowAt - this.lastAt >= END_GRACE_MS;
  }

  /** It has been silent for so long, or has left, that the tenant may know the end. True once for each time to ask. */
  shouldAsk(nowAt: number): boolean {
    const quietMs = this.#isLeft ? ASK_LEFT_AFTER_MS : END_GRACE_MS;
    if (nowAt - Math.max(this.lastAt, this.#askedAt) < quietMs) return false;
    this.#askedAt = nowAt;
    return true;
  }
}
