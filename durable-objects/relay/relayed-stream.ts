// One attempt's stream in a relay, and who reads it. Events come in order, from one lease, none twice. When a stream
// ends, every reader gets an end event in the format of its own API.

import { MAX_READERS_OF_A_STREAM, TOOK_EVERY_CHARS } from "../../contract/data-line.ts";
import { streamLost } from "../../domain/job/job-error.ts";
import { isSpeech } from "../../domain/words/api.ts";
import type { HeldOpen } from "./holder-check.ts";
import { WINDOW_BYTES } from "./relay-bounds.ts";
import { type EndError, SaidEvents } from "./said-events.ts";
import type { Reader } from "./stream-reader.ts";
import { StreamWindow } from "./stream-window.ts";
import { StreamWriter } from "./stream-writer.ts";
import { WindowPart } from "./window-part.ts";

/** How long an ended stream, or one without a reader, is kept. */
const KEPT_MS = 15_000;
/** How long what waits for readers waits before it looks again whether they have caught up. */
const LOOK_AGAIN_MS = 5;

const PLAYED_BYTES = WINDOW_BYTES / 4;

const encoder = new TextEncoder();

export class RelayedStream {
  readonly jobId: string;
  readonly lease: number;
  /** These two change only in `publish` and `emptyWindow`. */
  readonly window = new StreamWindow();
  readonly said = new SaidEvents();
  readonly writer: StreamWriter;
  readonly readers = new Set<Reader>();
  /** Readers that wait for the first event: the parts that come with it stay until they have joined. */
  awaitedBy = 0;
  /** Its worker knows that so many characters are taken. */
  #toldChars = 0;
  /** How it ended; undefined while it is open. */
  #end: EndError | null | undefined;
  readonly #firstEvent = Promise.withResolvers<void>();
  isReaderGone = false;
  /** A client got the error that the stream is lost, whatever its worker reports. */
  isToldLost = false;
  /** A client has received events: no other attempt may continue or repeat the answer. */
  hasBegunAnswer = false;

  constructor(jobId: string, lease: number, nowAt: number) {
    this.jobId = jobId;
    this.lease = lease;
    this.writer = new StreamWriter(nowAt);
  }

  get isOver(): boolean {
    return this.#end !== undefined;
  }

  /** Resolves with the first event, or with an end that comes before any. */
  get begun(): Promise<void> {
    return this.#firstEvent.promise;
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
    const { body } = this.writer;
    return body === null ? read : [body, ...read];
  }

  /** Nobody needs it any more. */
  isForgettable(nowAt: number): boolean {
    const isUnwanted = this.isOver || (this.window.hasEvents && this.readers.size === 0 && this.isReaderGone);
    return isUnwanted && nowAt - this.writer.lastAt > KEPT_MS;
  }

  /** Memory that it takes: its window, and what the reader furthest behind leaves unread, whose bytes all share. */
  get heldBytes(): number {
    return this.window.heldBytes + Math.max(0, ...[...this.readers].map(({ unreadBytes }) => unreadBytes));
  }

  get isFull(): boolean {
    let seconds = 0;
    for (const { wishes } of this.readers) if (wishes.isNumbered) seconds += 1;
    return seconds >= MAX_READERS_OF_A_STREAM;
  }

  /** A reader has more to read than it may leave unread: what can wait waits, and does not make it slow. */
  get isReadBehind(): boolean {
    for (const reader of this.readers) if (reader.overBytes(this.said.longEventBytes) > 0) return true;
    return false;
  }

  /** Resolves when no reader is: one that does not read on is cut. */
  async caughtUp(): Promise<void> {
    while (this.isReadBehind) await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }

  /** How many characters its readers have taken, where its worker is to hear it now. */
  takeTold(): number | null {
    const { chars } = this.said;
    if (chars - this.#toldChars < TOOK_EVERY_CHARS || this.writer.body !== null) return null;
    if (this.isReadBehind || this.#isPlayed()) return null;
    this.#toldChars = chars;
    return chars;
  }

  /** Sound is read as slowly as it is played: what its worker may say next must not make its reader slow. */
  #isPlayed(): boolean {
    return [...this.readers].some(({ wishes, unreadBytes }) => isSpeech(wishes.api) && unreadBytes > PLAYED_BYTES);
  }

  publish(events: string, nowAt: number): void {
    if (this.isOver || events === "") return;
    const part = new WindowPart(events, this.lease, this.said.isWithinEvent);
    this.said.note(part, events);
    this.writer.lastAt = nowAt;
    for (const reader of this.readers)
      this.#write(reader, part, reader.wishes.isNumbered ? this.window.countAll() : 0, 0, nowAt);
    this.window.add(part);
    if (this.awaitedBy === 0) this.window.fit();
    this.#firstEvent.resolve();
  }

  /** Gives its memory back: late readers can no longer get what was said. */
  emptyWindow(): void {
    this.said.noteEmptied(this.window.lastText);
    this.window.empty();
  }

  join(reader: Reader, nowAt: number): void {
    const { after } = reader.wishes;
    for (const [part, before] of this.window.partsAfter(after)) this.#write(reader, part, before, after, nowAt);
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
    this.writer.lastAt = nowAt;
    for (const reader of this.readers) this.#tellEnd(reader, error, nowAt);
    this.readers.clear();
    this.#firstEvent.resolve();
  }

  /** The stream has said its end itself, as the reader's API has it. */
  hasSaidEndTo({ wishes: { api } }: Reader): boolean {
    return api !== null && this.said.hasEnd(api, this.window.lastText);
  }

  #tellEnd(reader: Reader, error: EndError | null, nowAt: number): void {
    const { api, isNumbered } = reader.wishes;
    const last = this.window.lastText;
    if (!isNumbered && api !== null && !this.hasSaidEndTo(reader)) {
      const told = error ?? streamLost;
      this.isToldLost ||= told.code === streamLost.code;
      reader.write(encoder.encode(this.said.endOf(api, told, this.jobId, last)), nowAt);
    }
    reader.close();
  }
}
