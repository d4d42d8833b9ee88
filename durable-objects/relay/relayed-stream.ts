// One attempt's stream in a relay: its last events and its readers. Events come in order, from one lease, none twice.
// When a stream ends, every reader gets an end event in the format of its own API.

import { MAX_PART_BYTES, MAX_READERS_OF_A_STREAM, TOOK_EVERY_CHARS } from "../../contract/data-line.ts";
import { errorEvent, lastNumberIn, openingOf, saysItsEnd } from "../../contract/front-door/dialect.ts";
import { doorErrorOf } from "../../contract/front-door/door-status.ts";
import { endsWhole } from "../../contract/text/event-text.ts";
import type { JobError } from "../../domain/job/job.ts";
import { streamLost } from "../../domain/job/job-error.ts";
import { APIS, type Api } from "../../domain/words/api.ts";
import type { HeldOpen } from "./holder-check.ts";
import { LONG_EVENT_BYTES, WINDOW_BYTES } from "./relay-bounds.ts";
import type { Reader } from "./stream-reader.ts";
import { WindowPart } from "./window-part.ts";

/** How much later than its worker's report, or than the loss of the worker's line, a stream's end may come. */
export const END_GRACE_MS = 5_000;
/** Its worker has sent everything over HTTP, so that its report is near. */
const ASK_LEFT_AFTER_MS = 100;
/** How long an ended stream, or one without a reader, is kept. */
const KEPT_MS = 15_000;

export type EndError = Pick<JobError, "code" | "message" | "status">;

const encoder = new TextEncoder();

export class RelayedStream {
  readonly jobId: string;
  readonly lease: number;
  readonly readers = new Set<Reader>();
  /** Readers that wait for the first event: the parts that come with it stay until they have joined. */
  awaitedBy = 0;
  /** The last events, in parts. */
  readonly #parts: WindowPart[] = [];
  #chars = 0;
  /** The first of it, which names the answer that an end must name. */
  #opening = "";
  #saidChars = 0;
  /** Its worker knows that so many of them are taken. */
  #toldChars = 0;
  /** The beginning of the last event that is too long for a part: its name may tell the end of the stream. */
  #begun = "";
  /** Characters that came in pieces of such events or, over HTTP, in more than a part at once. */
  #longChars = 0;
  #isWithinEvent = false;
  /** Of a window that was emptied: the APIs whose end it had, and its last numbered event. */
  readonly #endedFor = new Set<Api>();
  #numbered = "";
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
  /** The body of events that comes over HTTP. */
  writer: HeldOpen | null = null;
  isReaderGone = false;
  /** A client got the error that the stream is lost, whatever its worker reports. */
  isToldLost = false;
  /** A client has received events: no other attempt may continue or repeat the answer. */
  hasBegunAnswer = false;

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

  /** Its worker has begun to send it over HTTP. One body at a time is taken. */
  noteWriter(writer: HeldOpen): void {
    this.writer?.end();
    this.writer = writer;
    this.#isLeft = false;
  }

  /** By its writer and its readers. */
  heldOpen(): HeldOpen[] {
    const read = [...this.readers].map((reader) => {
      const end = (): void => {
        this.readers.delete(reader);
        reader.cut();
      };
      return { holder: reader.holder, end };
    });
    return this.writer === null ? read : [this.writer, ...read];
  }

  /** Its worker has sent all that it will send over HTTP. */
  noteLeft(nowAt: number): void {
    this.writer = null;
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

  /** Whether a reader can get all events after this one. If this one is not known here, the events since are lost. */
  has(after: number): boolean {
    return after >= this.#dropped && (after === 0 || after <= this.#countAll());
  }

  /** Characters of events so far, those that left the window included. */
  get saidChars(): number {
    return this.#saidChars;
  }

  /** The events still in the window. */
  get window(): string {
    return this.#parts.map(({ text }) => text).join("");
  }

  /** Memory that it takes: its window, and what the reader furthest behind leaves unread, whose bytes all share. */
  get heldBytes(): number {
    let bytes = 0;
    for (const part of this.#parts) bytes += part.heldBytes;
    return bytes + Math.max(0, ...[...this.readers].map(({ unreadBytes }) => unreadBytes));
  }

  get isFull(): boolean {
    let seconds = 0;
    for (const { wishes } of this.readers) if (wishes.isNumbered) seconds += 1;
    return seconds >= MAX_READERS_OF_A_STREAM;
  }

  /** A reader has more to read than it may leave unread: what can wait waits, and does not make it slow. */
  get isReadBehind(): boolean {
    for (const reader of this.readers) if (reader.overBytes(this.longEventBytes) > 0) return true;
    return false;
  }

  /** How many characters its readers have taken, where its worker is to hear it now. */
  takeTold(): number | null {
    if (this.#saidChars - this.#toldChars < TOOK_EVERY_CHARS || this.writer !== null || this.isReadBehind) return null;
    this.#toldChars = this.#saidChars;
    return this.#toldChars;
  }

  publish(events: string, nowAt: number): void {
    if (this.isOver || events === "") return;
    const part = new WindowPart(events, this.lease, this.#isWithinEvent);
    this.#noteLongEvent(part, events);
    if (this.#saidChars === 0) this.#opening = openingOf(events);
    this.#saidChars += events.length;
    this.#lastAt = nowAt;
    for (const reader of this.readers)
      this.#write(reader, part, reader.wishes.isNumbered ? this.#countAll() : 0, 0, nowAt);
    if (this.#parts.at(-1)?.takeIn(part) !== true) this.#parts.push(part);
    this.#chars += events.length;
    while (this.#chars > WINDOW_BYTES && this.#parts.length > 1 && this.awaitedBy === 0) this.#drop();
    this.#firstEvent.resolve();
  }

  #noteLongEvent(part: WindowPart, events: string): void {
    const wasWithin = this.#isWithinEvent;
    this.#isWithinEvent = !endsWhole(events);
    if (!wasWithin && !this.#isWithinEvent && events.length <= MAX_PART_BYTES) return;
    this.#longChars += events.length;
    const { begun } = part;
    if (begun !== "") this.#begun = openingOf(begun);
  }

  /** What follows belongs to an event that has begun: nothing else may be said. */
  get isWithinEvent(): boolean {
    return this.#isWithinEvent;
  }

  /** What its long events allow a reader to leave unread. */
  get longEventBytes(): number {
    return Math.min(LONG_EVENT_BYTES, this.#longChars);
  }

  /** Gives its memory back: late readers can no longer get what was said. */
  emptyWindow(): void {
    const last = this.#lastText();
    for (const api of APIS) if (saysItsEnd(api, last)) this.#endedFor.add(api);
    this.#numbered = lastNumberIn(last) ?? this.#numbered;
    while (this.#parts.length > 0) this.#drop();
  }

  #lastText(): string {
    const last = this.#parts.slice(-LAST_PARTS).map(({ text }) => text);
    return [this.#begun, ...last].join("");
  }

  #drop(): void {
    const oldest = this.#parts.shift();
    if (oldest === undefined) return;
    this.#chars -= oldest.text.length;
    this.#dropped += oldest.eventCount;
    if (this.#countedParts === 0) return;
    this.#counted -= oldest.eventCount;
    this.#countedParts -= 1;
  }

  /** The number of events so far. Parts but the last, which may grow, are counted once, if a reader wants numbers. */
  #countAll(): number {
    while (this.#countedParts < this.#parts.length - 1) {
      this.#counted += this.#parts[this.#countedParts]?.eventCount ?? 0;
      this.#countedParts += 1;
    }
    return this.#dropped + this.#counted + (this.#parts.at(-1)?.eventCount ?? 0);
  }

  join(reader: Reader, nowAt: number): void {
    const { after } = reader.wishes;
    let at = this.#dropped;
    for (const part of this.#parts) {
      if (at + part.eventCount > after) this.#write(reader, part, at, after, nowAt);
      at += part.eventCount;
    }
    if (this.#end === undefined) this.readers.add(reader);
    else this.#tellEnd(reader, this.#end, nowAt);
  }

  #write(reader: Reader, part: WindowPart, before: number, after: number, nowAt: number): void {
    const { isNumbered, stripsUsage } = reader.wishes;
    if (isNumbered) reader.write(part.numbered(before, after), nowAt);
    else reader.write(stripsUsage ? part.stripped() : part.plain(), nowAt);
    if (!isNumbered) this.hasBegunAnswer = true;
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
    const last = this.#lastText();
    const mustBeTold = !isNumbered && api !== null && !this.#endedFor.has(api) && !saysItsEnd(api, last);
    if (mustBeTold) {
      const told = error ?? streamLost;
      this.isToldLost ||= told.code === streamLost.code;
      const said = { jobId: this.jobId, opening: this.#opening, last: last || this.#numbered };
      const event = errorEvent(api, doorErrorOf(told), said);
      reader.write(encoder.encode(this.#isWithinEvent ? `\n\n${event}` : event), nowAt);
    }
    reader.close();
  }
}

/** A stream's end may come in the parts after its last content. */
const LAST_PARTS = 3;
