// One attempt's stream in a relay: its last events and its readers. Events come in order, from one lease, none twice.
// When a stream ends, every reader is told in its own API's format.

import { MAX_DATA_FRAME_BYTES } from "../contract/data-line.ts";
import { errorEvent, isUsageOnly, saysItsEnd } from "../contract/dialect.ts";
import { doorErrorOf } from "../contract/door-status.ts";
import type { Api } from "../domain/api.ts";
import type { JobError } from "../domain/job.ts";

/** What a late reader can get again, and what a reader may leave unread. */
export const WINDOW_BYTES = 1024 * 1024;
/** What a burst may leave unread beyond that, briefly: a data frame of the largest size. */
const BURST_BYTES = MAX_DATA_FRAME_BYTES;
/** How long a reader has for a burst. */
const BURST_MS = 1_000;
const EVENT_END = "\n\n";

export type EndError = Pick<JobError, "code" | "message" | "status">;

export const streamLost: EndError = {
  code: "stream_lost",
  message: "the worker's stream broke off before its end",
};

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

const eventsOf = (text: string): string[] => {
  const events = (text.includes("\r") ? text.replaceAll("\r\n", "\n") : text).split(EVENT_END);
  if (events.at(-1)?.trim() === "") events.pop();
  return events;
};

const lastEndIn = (text: string, end: string): number => {
  const at = text.lastIndexOf(end);
  return at === -1 ? 0 : at + end.length;
};

/** The part of a text up to the end of its last complete event. */
export const wholeEventsOf = (text: string): string =>
  text.slice(0, Math.max(lastEndIn(text, EVENT_END), lastEndIn(text, "\r\n\r\n")));

const countEvents = (text: string): number => eventsOf(text).length;

/** An event's data, without the protocol's lines. */
const dataOf = (event: string): string =>
  event
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice("data:".length).trimStart())
    .join("\n");

export class Reader {
  readonly wishes: ReaderWishes;
  readonly body: ReadableStream<Uint8Array>;
  lastWriteAt: number;
  #behindSinceAt: number | null = null;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;

  constructor(wishes: ReaderWishes, nowAt: number, onGone: () => void) {
    this.wishes = wishes;
    this.lastWriteAt = nowAt;
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

  write(text: string, nowAt: number): void {
    if (text === "") return;
    this.lastWriteAt = nowAt;
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

export class RelayedStream {
  readonly jobId: string;
  readonly lease: number;
  readonly readers = new Set<Reader>();
  /** Readers that wait for the first event. */
  awaitedBy = 0;
  /** The last events, in the parts that they came in. */
  readonly #parts: string[] = [];
  #chars = 0;
  /** Of the parts in the window, how many were counted, and how many events they have. */
  #countedParts = 0;
  #counted = 0;
  /** Events that have left the window. */
  #dropped = 0;
  /** How it ended; undefined while it is open. */
  #end: EndError | null | undefined;
  readonly #firstEvent = Promise.withResolvers<void>();
  /** Time of the worker's last byte, or of the end. */
  lastAt: number;
  askedAt: number;
  /** The worker's job has ended without an end of its stream. */
  isAbandonedByWorker = false;
  isReaderGone = false;
  /** A client has received events: no other attempt may continue or repeat the answer. */
  isHeard = false;

  constructor(jobId: string, lease: number, nowAt: number) {
    this.jobId = jobId;
    this.lease = lease;
    this.lastAt = nowAt;
    this.askedAt = nowAt;
  }

  get isOver(): boolean {
    return this.#end !== undefined;
  }

  get hasEvents(): boolean {
    return this.#dropped > 0 || this.#parts.length > 0;
  }

  /** Resolves with the first event, or with an end that comes before any. */
  get begun(): Promise<void> {
    return this.#firstEvent.promise;
  }

  /** Whether a reader can get all events after this one. */
  has(after: number): boolean {
    return after >= this.#dropped;
  }

  publish(events: string, nowAt: number): void {
    if (this.isOver || events === "") return;
    this.#parts.push(events);
    this.#chars += events.length;
    this.lastAt = nowAt;
    for (const reader of this.readers) {
      const before = reader.wishes.isNumbered ? this.#countBefore() : 0;
      this.#write(reader, this.#textFor(reader, events, before), nowAt);
    }
    while (this.#chars > WINDOW_BYTES && this.#parts.length > 1) this.#drop();
    this.#firstEvent.resolve();
  }

  #drop(): void {
    const oldest = this.#parts.shift() ?? "";
    this.#chars -= oldest.length;
    const events = countEvents(oldest);
    this.#dropped += events;
    if (this.#countedParts === 0) return;
    this.#counted -= events;
    this.#countedParts -= 1;
  }

  /** The number of events before the last part. Parts are counted once, and only if a reader wants numbers. */
  #countBefore(): number {
    while (this.#countedParts < this.#parts.length - 1) {
      this.#counted += countEvents(this.#parts[this.#countedParts] ?? "");
      this.#countedParts += 1;
    }
    return this.#dropped + this.#counted;
  }

  join(reader: Reader, nowAt: number): void {
    const { after } = reader.wishes;
    let at = this.#dropped;
    for (const part of this.#parts) {
      const events = countEvents(part);
      if (at + events > after) this.#write(reader, this.#textFor(reader, part, at, after), nowAt);
      at += events;
    }
    if (this.#end === undefined) this.readers.add(reader);
    else this.#tellEnd(reader, this.#end, nowAt);
  }

  #write(reader: Reader, text: string, nowAt: number): void {
    reader.write(text, nowAt);
    if (!reader.wishes.isNumbered) this.isHeard = true;
  }

  /** `null`: the worker says that it is complete. */
  finish(error: EndError | null, nowAt: number): void {
    if (this.isOver) return;
    this.#end = error;
    this.lastAt = nowAt;
    for (const reader of this.readers) this.#tellEnd(reader, error, nowAt);
    this.readers.clear();
    this.#firstEvent.resolve();
  }

  #tellEnd(reader: Reader, error: EndError | null, nowAt: number): void {
    const { api, isNumbered } = reader.wishes;
    if (!isNumbered && api !== null) {
      const isWhole = error === null && saysItsEnd(api, this.#parts.slice(-LAST_PARTS).join(""));
      const hasSaidItself = error !== null && saysItsEnd(api, this.#parts.slice(-LAST_PARTS).join(""));
      if (!isWhole && !hasSaidItself) reader.write(errorEvent(api, doorErrorOf(error ?? streamLost)), nowAt);
    }
    reader.close();
  }

  #textFor(reader: Reader, part: string, firstIndex: number, after = 0): string {
    const { isNumbered, stripsUsage } = reader.wishes;
    if (!isNumbered) {
      if (!stripsUsage || !part.includes('"usage"')) return part;
      return eventsOf(part)
        .filter((event) => !isUsageOnly(event))
        .map((event) => `${event}${EVENT_END}`)
        .join("");
    }
    return eventsOf(part)
      .map((event, index) => ({ data: dataOf(event), number: firstIndex + index + 1 }))
      .filter(({ data, number }) => number > after && data !== "" && data !== "[DONE]")
      .map(({ data, number }) => numbered(`${this.lease}.${number}`, data))
      .join("");
  }
}

/** A stream's end may come in the parts after its last content. */
const LAST_PARTS = 3;

const numbered = (id: string, data: string): string => {
  const lines = data.split("\n").map((line) => `data: ${line}`);
  return `event: chunk\nid: ${id}\n${lines.join("\n")}${EVENT_END}`;
};
