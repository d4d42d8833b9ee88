// The readers of a relay that are clients of the edge in Node, on its line (`reading-frames.ts`). What is written in one
// stretch of the relay's work goes as one message. Invariants: the edge holds little of what a reader leaves untaken, the
// rest stays with the relay, which counts all of it; readers end with their line.

import { OK } from "../../contract/words/http-status.ts";
import { callMethod, type LineEnd } from "../sockets/object-line.ts";
import { CUT, costOf, ENDED, HEAD_BYTES, MAX_AWAY_BYTES } from "../sockets/reading-frames.ts";
import type { Leave, OpenOutlet, Outlet, WhyGone } from "./stream-reader.ts";

/** A message with so much is sent at once: what a reader may be sent soon waits for what it took. */
const FULL_BYTES = 16 * 1024;
/** Between messages, unless a stream begins. Frames of a data line are further apart; what a provider says is not. */
const MESSAGE_EVERY_MS = 10;

/** Joins a reader to what the query names; resolves to the status. */
type Join = (query: string, open: OpenOutlet) => Promise<number>;

interface ReadPart {
  readonly reader: number;
  /** Its length, or what happened. */
  readonly size: number;
  readonly bytes?: Uint8Array;
}

export class ReadingLine implements LineEnd {
  readonly #send: (message: Uint8Array) => void;
  readonly #object: object;
  readonly #join: Join;
  /** Null until it has joined. */
  readonly #readers = new Map<number, LineOutlet | null>();
  #parts: ReadPart[] = [];
  #sentAt = 0;
  #bytes = 0;

  constructor(send: (message: Uint8Array) => void, object: object, join: Join) {
    this.#send = send;
    this.#object = object;
    this.#join = join;
  }

  answer(method: string, args: string): Promise<string> {
    return callMethod(this.#object, method, args);
  }

  /** Lines of what the edge says of its readers. */
  hear(message: string): void {
    for (const line of message.split("\n")) {
      const [word, number, said = ""] = line.split(" ");
      const reader = Number(number);
      if (word === "read") void this.#begin(reader, said);
      else if (word === "took") this.#readers.get(reader)?.took(Number(said));
      else this.#leave(reader, "left");
    }
  }

  /** The edge tells its readers that their streams are lost. */
  ended(): void {
    for (const reader of this.#readers.keys()) this.#leave(reader, "lost");
  }

  write(part: ReadPart): void {
    if (this.#parts.length === 0) this.#flushSoon();
    this.#parts.push(part);
    this.#bytes += HEAD_BYTES + (part.bytes?.byteLength ?? 0);
    if (this.#bytes >= FULL_BYTES) this.#flush();
  }

  /** Nothing more comes of this reader. */
  end(reader: number, size: number): void {
    this.#readers.delete(reader);
    this.write({ reader, size });
  }

  #flushSoon(): void {
    const waitMs = this.#sentAt + MESSAGE_EVERY_MS - Date.now();
    if (waitMs > 0) setTimeout(() => this.#flush(), waitMs);
    else queueMicrotask(() => this.#flush());
  }

  async #begin(reader: number, query: string): Promise<void> {
    this.#readers.set(reader, null);
    let leaveIt: Leave = () => undefined;
    const status = await this.#join(query, (leave) => {
      this.write({ reader, size: -OK });
      queueMicrotask(() => this.#flush());
      const outlet = new LineOutlet(this, reader, leave);
      leaveIt = leave;
      if (this.#readers.has(reader)) this.#readers.set(reader, outlet);
      return outlet;
    });
    if (status !== OK) this.end(reader, -status);
    else if (!this.#readers.has(reader)) leaveIt("left");
  }

  #leave(reader: number, why: WhyGone): void {
    this.#readers.get(reader)?.leave(why);
    this.#readers.delete(reader);
  }

  #flush(): void {
    if (this.#parts.length === 0) return;
    const message = new Uint8Array(this.#bytes);
    const head = new DataView(message.buffer);
    let at = 0;
    for (const { reader, size, bytes } of this.#parts) {
      head.setUint32(at, reader);
      head.setInt32(at + 4, size);
      at += HEAD_BYTES;
      if (bytes === undefined) continue;
      message.set(bytes, at);
      at += size;
    }
    this.#parts = [];
    this.#bytes = 0;
    this.#sentAt = Date.now();
    this.#send(message);
  }
}

/** What one reader is given: sent as far as the edge takes it. */
class LineOutlet implements Outlet {
  readonly #line: ReadingLine;
  readonly #reader: number;
  readonly leave: Leave;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #awayBytes = 0;
  #isOver = false;

  constructor(line: ReadingLine, reader: number, leave: Leave) {
    this.#line = line;
    this.#reader = reader;
    this.leave = leave;
  }

  get unreadBytes(): number {
    return this.#waitingBytes + this.#awayBytes;
  }

  write(piece: Uint8Array): void {
    this.#waiting.push(piece);
    this.#waitingBytes += costOf(piece);
    this.#go();
  }

  took(bytes: number): void {
    this.#awayBytes -= bytes;
    this.#go();
  }

  /** Behind what waits. */
  close(): void {
    this.#isOver = true;
    this.#go();
  }

  cut(): void {
    this.#waiting = [];
    this.#line.end(this.#reader, CUT);
  }

  #go(): void {
    let count = 0;
    for (const bytes of this.#waiting) {
      if (this.#awayBytes >= MAX_AWAY_BYTES) break;
      count += 1;
      this.#awayBytes += costOf(bytes);
      this.#waitingBytes -= costOf(bytes);
      this.#line.write({ reader: this.#reader, size: bytes.byteLength, bytes });
    }
    if (count > 0) this.#waiting.splice(0, count);
    if (this.#isOver && this.#waiting.length === 0) this.#line.end(this.#reader, ENDED);
  }
}
