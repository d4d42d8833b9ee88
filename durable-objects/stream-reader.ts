// A client that reads a relayed stream: its connection, what it leaves unread, and its signs of life.

import { MAX_DATA_FRAME_BYTES } from "../contract/data-line.ts";
import type { Api } from "../domain/api.ts";

/** What a late reader can get again, and what a reader may leave unread. */
export const WINDOW_BYTES = 1024 * 1024;
/** What a burst may leave unread beyond that, briefly: a data frame of the largest size. */
const BURST_BYTES = MAX_DATA_FRAME_BYTES;
/** How long a reader has for a burst. */
const BURST_MS = 1_000;

/** A comment: it keeps a silent connection alive. */
export const KEEP_ALIVE = ": keep-alive\n\n";

export interface ReaderWishes {
  /** The API format for errors; null for a reader that gets numbered events as data. */
  readonly api: Api | null;
  readonly isNumbered: boolean;
  readonly stripsUsage: boolean;
  readonly keepAliveMs: number;
  /** The number of the last event that it has; 0: from the beginning. */
  readonly after: number;
}

const encoder = new TextEncoder();

export class Reader {
  readonly wishes: ReaderWishes;
  readonly body: ReadableStream<Uint8Array>;
  #lastWriteAt: number;
  #behindSinceAt: number | null = null;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;

  constructor(wishes: ReaderWishes, nowAt: number, onGone: () => void) {
    this.wishes = wishes;
    this.#lastWriteAt = nowAt;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        cancel: () => {
          this.#controller = null;
          onGone();
        },
      },
      { highWaterMark: WINDOW_BYTES, size: (chunk) => chunk.byteLength },
    );
  }

  /** It leaves more unread than allowed; a burst that has just arrived does not count. */
  isSlow(nowAt: number): boolean {
    const room = this.#controller?.desiredSize ?? 0;
    if (room >= 0) this.#behindSinceAt = null;
    else this.#behindSinceAt ??= nowAt;
    return room < -BURST_BYTES || (this.#behindSinceAt !== null && nowAt - this.#behindSinceAt >= BURST_MS);
  }

  /** Says that the connection lives, if nothing else has for its time. */
  keepAlive(nowAt: number): void {
    if (nowAt - this.#lastWriteAt >= this.wishes.keepAliveMs) this.write(KEEP_ALIVE, nowAt);
  }

  write(text: string, nowAt: number): void {
    if (text === "") return;
    this.#lastWriteAt = nowAt;
    this.#controller?.enqueue(encoder.encode(text));
  }

  close(): void {
    this.#controller?.close();
    this.#controller = null;
  }

  /** Without an end, so that its client does not take a part for the whole. */
  cut(): void {
    this.#controller?.error(new Error("the stream was cut"));
    this.#controller = null;
  }
}
