// A client that reads a relayed stream: what it leaves unread, and its signs of life. The bytes that it is given belong
// to all readers of the stream, so that what many leave unread is kept once.

import { slowReader } from "../../domain/job/job-error.ts";
import { costOf } from "../sockets/reading-frames.ts";
import { BURST_BYTES, BURST_MS, PIECE_BYTES, WINDOW_BYTES } from "./relay-bounds.ts";
import type { ReaderWishes, ReadRequest } from "./relay-request.ts";

/** A comment: it keeps a silent connection alive. */
export const KEEP_ALIVE = ": keep-alive\n\n";

/** The connection that a reader is sent on. */
export interface Outlet {
  readonly unreadBytes: number;
  readonly write: (piece: Uint8Array) => void;
  readonly close: () => void;
  /** Without an end, so that its client does not take a part for the whole. */
  readonly cut: () => void;
}

const KEEP_ALIVE_BYTES = new TextEncoder().encode(KEEP_ALIVE);

/** `lost`: its client got the error that its stream broke off. */
export type WhyGone = "left" | "lost";
export type Leave = (why: WhyGone) => void;

/** `leave` is called when the connection has ended. */
export type OpenOutlet = (leave: Leave) => Outlet;

export class Reader {
  readonly holder: string | null;
  readonly wishes: ReaderWishes;
  readonly #outlet: Outlet;
  #lastWriteAt: number;
  #writtenBytes = 0;
  /** Since when it has left more unread than allowed, and up to where it must read to count as a reader. */
  #behind: { readonly sinceAt: number; readonly untilBytes: number } | null = null;

  constructor({ holder, wishes }: Pick<ReadRequest, "holder" | "wishes">, nowAt: number, outlet: Outlet) {
    this.holder = holder;
    this.wishes = wishes;
    this.#outlet = outlet;
    this.#lastWriteAt = nowAt;
  }

  get unreadBytes(): number {
    return this.#outlet.unreadBytes;
  }

  /** Unread beyond what it may leave for longer than a moment. */
  overBytes(longEventBytes: number): number {
    return this.unreadBytes - WINDOW_BYTES - longEventBytes;
  }

  /** It leaves more unread than allowed of what came a moment ago; a reader that reads on may stay behind what comes. */
  isSlow(nowAt: number, longEventBytes: number): boolean {
    const overBytes = this.overBytes(longEventBytes);
    const readBytes = this.#writtenBytes - this.unreadBytes;
    if (overBytes <= 0) this.#behind = null;
    else if (this.#behind === null || readBytes >= this.#behind.untilBytes)
      this.#behind = { sinceAt: nowAt, untilBytes: this.#writtenBytes - WINDOW_BYTES };
    return overBytes > BURST_BYTES || (this.#behind !== null && nowAt - this.#behind.sinceAt >= BURST_MS);
  }

  /** Says that the connection lives, if nothing else has for its time. */
  keepAlive(nowAt: number): void {
    if (nowAt - this.#lastWriteAt >= this.wishes.keepAliveMs) this.write(KEEP_ALIVE_BYTES, nowAt);
  }

  write(bytes: Uint8Array, nowAt: number): void {
    if (bytes.byteLength === 0) return;
    this.#lastWriteAt = nowAt;
    if (bytes.byteLength <= PIECE_BYTES) this.#enqueue(bytes);
    else for (let at = 0; at < bytes.byteLength; at += PIECE_BYTES) this.#enqueue(bytes.subarray(at, at + PIECE_BYTES));
  }

  #enqueue(piece: Uint8Array): void {
    this.#writtenBytes += costOf(piece);
    this.#outlet.write(piece);
  }

  close(): void {
    this.#outlet.close();
  }

  cut(): void {
    this.#outlet.cut();
  }
}

/** The body of an answer. */
export class BodyOutlet implements Outlet {
  readonly body: ReadableStream<Uint8Array>;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;

  constructor(onGone: () => void) {
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
      { highWaterMark: WINDOW_BYTES, size: costOf },
    );
  }

  get unreadBytes(): number {
    return WINDOW_BYTES - (this.#controller?.desiredSize ?? WINDOW_BYTES);
  }

  write(piece: Uint8Array): void {
    this.#controller?.enqueue(piece);
  }

  close(): void {
    this.#controller?.close();
    this.#controller = null;
  }

  cut(): void {
    this.#controller?.error(new Error(slowReader.code));
    this.#controller = null;
  }
}

/** `join` resolves to the status. */
export const answerRead = async (
  join: (open: OpenOutlet) => Promise<number>,
  signal: AbortSignal,
): Promise<Response> => {
  let body: ReadableStream<Uint8Array> | null = null;
  const status = await join((leave) => {
    const left = (): void => leave("left");
    const outlet = new BodyOutlet(left);
    signal.addEventListener("abort", left);
    body = outlet.body;
    return outlet;
  });
  return new Response(body, { status, headers: { "content-type": "text/event-stream; charset=utf-8" } });
};
