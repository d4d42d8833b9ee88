// The streams that clients read of one object, on its line (`durable-objects/sockets/reading-frames.ts`). What one message
// brings passes in a turn of its tenant (`tick-turns.ts`); until then the line is not read. Invariant: a reader is given
// whole answers, or learns that its stream broke off; whatever ends the line ends its readers.

import type { LastWords } from "../../contract/text/whole-events.ts";
import { OK } from "../../contract/words/http-status.ts";
import {
  ENDED,
  HEAD_BYTES,
  MAX_AWAY_BYTES,
  READERS,
  type ReadingWord,
} from "../../durable-objects/sockets/reading-frames.ts";
import { processAway } from "./process-away.ts";
import { ReadStream } from "./read-stream.ts";

/** What a part costs of a turn at least, in bytes: it is a write to a client. */
const LEAST_PART_BYTES = 2 * 1024;
/** What readers took is told together with what is said next, or by then, unless the object may wait for it. */
const TOLD_WITHIN_MS = 100;
const SOON_BYTES = MAX_AWAY_BYTES / 4;

/** What its tenant's streams have in common. */
export interface ReadPace {
  /** To read so many bytes; null: it may read at once. */
  readonly takeTurn: (bytes: number) => Promise<void> | null;
  readonly noteRead: (bytes: number) => unknown;
}

interface StreamLine {
  readonly tell: (method: string, text: string) => void;
  readonly pause: () => void;
  readonly resume: () => void;
}

/** The answer to a read. */
interface ReadAnswer {
  readonly status: number;
  readonly body: ReadableStream<Uint8Array>;
}

export class ReadStreams {
  readonly #line: StreamLine;
  readonly #pace: ReadPace;
  readonly #readers = new Map<number, ReadStream>();
  /** Messages that wait for their turn. */
  readonly #messages: ReadPart[][] = [];
  #isTaking = false;
  #lastNumber = 0;
  /** What is said in a turn of the event loop is told at its end: each message is a system call, and wakes the object. */
  #said: string[] = [];
  readonly #took = new Map<number, number>();
  #telling: NodeJS.Timeout | undefined;
  #isToldSoon = false;

  constructor(line: StreamLine, pace: ReadPace) {
    this.#line = line;
    this.#pace = pace;
  }

  get size(): number {
    return this.#readers.size;
  }

  /** `ifLost`: what it ends with if it breaks off, behind a whole event; without it it fails. */
  async read(query: string, ifLost?: LastWords): Promise<ReadAnswer> {
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    const reader = new ReadStream(ifLost, {
      took: (bytes) => this.#noteTaken(number, bytes),
      left: () => this.#left(number),
    });
    this.#readers.set(number, reader);
    this.#say("read", number, query);
    const status = await reader.status;
    return { status, body: reader.body };
  }

  /** A message of the object; throws if it is none. */
  take(message: Buffer): void {
    this.#messages.push(partsOf(message));
    if (!this.#isTaking) void this.#takeAll();
  }

  /** The line has ended. */
  end(failure: Error): void {
    this.#said = [];
    this.#took.clear();
    for (const reader of this.#readers.values()) reader.break(processAway(failure));
    this.#readers.clear();
  }

  async #takeAll(): Promise<void> {
    this.#isTaking = true;
    for (let parts = this.#messages.shift(); parts !== undefined; parts = this.#messages.shift()) {
      const cost = parts.reduce((sum, { size }) => sum + Math.max(size, LEAST_PART_BYTES), 0);
      const turn = this.#pace.takeTurn(cost);
      if (turn !== null) {
        this.#line.pause();
        await turn;
        this.#line.resume();
      }
      this.#pace.noteRead(parts.reduce((sum, { bytes }) => sum + bytes.byteLength, 0));
      for (const part of parts) this.#give(part);
    }
    this.#isTaking = false;
  }

  #give({ number, size, bytes }: ReadPart): void {
    const reader = this.#readers.get(number);
    if (reader === undefined) return;
    if (size < 0 && size !== -OK) this.#readers.delete(number);
    if (size >= 0) reader.give(bytes);
    else if (size === -OK) reader.begin();
    else if (size === ENDED) reader.end();
    else if (size < -OK) reader.refuse(-size);
    else reader.break(new Error("the object cut the stream"), true);
  }

  #left(number: number): void {
    if (!this.#readers.delete(number)) return;
    this.#took.delete(number);
    this.#say("left", number);
  }

  #noteTaken(number: number, bytes: number): void {
    if (!this.#readers.has(number)) return;
    const taken = (this.#took.get(number) ?? 0) + bytes;
    this.#took.set(number, taken);
    if (taken >= SOON_BYTES) this.#tellSoon();
    else this.#telling ??= setTimeout(() => this.#tell(), TOLD_WITHIN_MS);
  }

  #say(word: ReadingWord, number: number, said = ""): void {
    this.#said.push(`${word} ${number} ${said}`);
    this.#tellSoon();
  }

  #tellSoon(): void {
    if (this.#isToldSoon) return;
    this.#isToldSoon = true;
    setImmediate(() => this.#tell());
  }

  #tell(): void {
    clearTimeout(this.#telling);
    this.#telling = undefined;
    this.#isToldSoon = false;
    const lines = [...this.#said, ...[...this.#took].map(([number, bytes]) => `took ${number} ${bytes}`)];
    this.#said = [];
    this.#took.clear();
    if (lines.length > 0) this.#line.tell(READERS, lines.join("\n"));
  }
}

interface ReadPart {
  readonly number: number;
  /** Below 0 there are no bytes. */
  readonly size: number;
  readonly bytes: Uint8Array;
}

/** A part is copied unless it is most of what was read: what one reader leaves must not keep that of all. */
const partsOf = (message: Buffer): ReadPart[] => {
  const parts: ReadPart[] = [];
  for (let at = 0; at < message.length; ) {
    const [number, size] = [message.readUInt32BE(at), message.readInt32BE(at + 4)];
    at += HEAD_BYTES;
    const end = at + Math.max(0, size);
    if (end > message.length) throw new Error("a part is not whole");
    const isMost = 2 * size > message.buffer.byteLength;
    const bytes = isMost ? message.subarray(at, end) : Uint8Array.prototype.slice.call(message, at, end);
    parts.push({ number, size, bytes });
    at = end;
  }
  return parts;
};
