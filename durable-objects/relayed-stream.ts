// One attempt's stream in a relay: its last events and its readers. Events come in order, from one lease, none twice.
// When a stream ends, every reader is told in its own API's format.

import { errorEvent, isUsageOnly, saysItsEnd } from "../contract/dialect.ts";
import { doorErrorOf } from "../contract/door-status.ts";
import type { JobError } from "../domain/job.ts";
import { type Reader, WINDOW_BYTES } from "./stream-reader.ts";

const EVENT_END = "\n\n";
/** How much later than its worker's report, or than the loss of the worker's line, a stream's end may come. */
export const END_GRACE_MS = 5_000;
/** Its worker has sent everything over HTTP, so that its report is near. */
const ASK_LEFT_AFTER_MS = 100;
/** How long an ended stream, or one without a reader, is kept. */
const KEPT_MS = 15_000;

export type EndError = Pick<JobError, "code" | "message" | "status">;

export const streamLost: EndError = {
  code: "stream_lost",
  message: "the worker's stream broke off before its end",
};

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
  #lastAt: number;
  #askedAt: number;
  /** The worker's body of events has ended without an end of the stream. */
  #isLeft = false;
  isReaderGone = false;
  /** A client has received events: no other attempt may continue or repeat the answer. */
  isHeard = false;

  constructor(jobId: string, lease: number, nowAt: number) {
    this.jobId = jobId;
    this.lease = lease;
    this.#lastAt = nowAt;
    this.#askedAt = nowAt;
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

  /** Its worker has begun to send it over HTTP. */
  noteWriter(): void {
    this.#isLeft = false;
  }

  /** Its worker has sent all that it will send over HTTP. */
  noteLeft(nowAt: number): void {
    this.#isLeft = true;
    this.#lastAt = nowAt;
  }

  /** Its worker left it too long ago for an end to come. */
  isLost(nowAt: number): boolean {
    return this.#isLeft && nowAt - this.#lastAt >= END_GRACE_MS;
  }

  /** Nobody needs it any more. */
  isForgettable(nowAt: number): boolean {
    const isUnwanted = this.isOver || (this.hasEvents && this.readers.size === 0 && this.isReaderGone);
    return isUnwanted && nowAt - this.#lastAt > KEPT_MS;
  }

  /** It has been silent for so long, or is left, that the tenant may know its end. True once for each time to ask. */
  shouldAsk(nowAt: number): boolean {
    const quietMs = this.#isLeft ? ASK_LEFT_AFTER_MS : END_GRACE_MS;
    if (this.isOver || nowAt - Math.max(this.#lastAt, this.#askedAt) < quietMs) return false;
    this.#askedAt = nowAt;
    return true;
  }

  /** Whether a reader can get all events after this one. */
  has(after: number): boolean {
    return after >= this.#dropped;
  }

  publish(events: string, nowAt: number): void {
    if (this.isOver || events === "") return;
    this.#parts.push(events);
    this.#chars += events.length;
    this.#lastAt = nowAt;
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
    this.#lastAt = nowAt;
    for (const reader of this.readers) this.#tellEnd(reader, error, nowAt);
    this.readers.clear();
    this.#firstEvent.resolve();
  }

  #tellEnd(reader: Reader, error: EndError | null, nowAt: number): void {
    const { api, isNumbered } = reader.wishes;
    const mustBeTold = !isNumbered && api !== null && !saysItsEnd(api, this.#parts.slice(-LAST_PARTS).join(""));
    if (mustBeTold) reader.write(errorEvent(api, doorErrorOf(error ?? streamLost)), nowAt);
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
