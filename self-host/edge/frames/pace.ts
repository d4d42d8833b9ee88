// How many bytes a second a tenant's workers may send of their streams on data lines, together: a token bucket. What
// comes faster is read later, so that TCP slows the sender down. Without it the workers of one tenant could keep the
// thread busy that all tenants of a process share. What the tenant's readers are sent has a bucket of its own, because
// each byte goes to every reader: while that is in debt, the lines wait, so that no reader falls behind. Nothing is
// refused or lost. A stream over HTTP waits for its readers instead (`durable-objects/relay/events-body.ts`).

import { Transform } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { MIB } from "../../../domain/words/size.ts";
import { TickTurns } from "../turns/tick-turns.ts";
import { FrameWalk } from "./frame-walk.ts";

/** Thousands of streams of tokens take less. */
export const LINE_BYTES_A_SECOND = 8 * MIB;
/** What may come at once after a pause. */
const BURST_BYTES = 2 * MIB;
/** One reader gets all that the lines may send. */
export const READER_BYTES_A_SECOND = LINE_BYTES_A_SECOND;
const READER_BURST_BYTES = 8 * MIB;
/**
 * Each message keeps the objects' process busy for some 25 µs, however short it is. A worker sends at most 50 frames a
 * second.
 */
export const LINE_MESSAGES_A_SECOND = 8_192;
const BURST_MESSAGES = 512;
const MESSAGES_A_PIECE = 64;
/** What passes in one turn of the event loop: they may all have bytes at once. */
const LINE_BYTES_A_TURN = 256 * 1024;
/** Lines wait no longer than this: readers that come back get 1 MiB each at once, which no line has sent. */
const LONGEST_DEBT_MS = 1_000;
/** By then both buckets are full: a line that closes and comes again must not find new ones. */
export const FULL_AGAIN_MS = LONGEST_DEBT_MS + (1_000 * READER_BURST_BYTES) / READER_BYTES_A_SECOND;

/** Of bytes, or of messages. */
export class Bucket {
  readonly #bytesASecond: number;
  readonly #burstBytes: number;
  #level: number;
  #filledAt: number;

  constructor(nowAt: number, bytesASecond: number = LINE_BYTES_A_SECOND, burstBytes: number = BURST_BYTES) {
    this.#bytesASecond = bytesASecond;
    this.#burstBytes = burstBytes;
    this.#level = burstBytes;
    this.#filledAt = nowAt;
  }

  /** Takes the bytes; answers how long their reader waits, in ms. */
  take(bytes: number, nowAt: number): number {
    this.#fill(nowAt);
    this.#level -= bytes;
    return this.#level >= 0 ? 0 : Math.ceil((-this.#level / this.#bytesASecond) * 1000);
  }

  /** Takes bytes that did not wait. */
  charge(bytes: number, nowAt: number): void {
    this.#fill(nowAt);
    this.#level = Math.max(this.#level - bytes, -(this.#bytesASecond * LONGEST_DEBT_MS) / 1000);
  }

  #fill(nowAt: number): void {
    const filled = this.#level + (Math.max(0, nowAt - this.#filledAt) / 1000) * this.#bytesASecond;
    this.#level = Math.min(this.#burstBytes, filled);
    this.#filledAt = nowAt;
  }
}

/** A part of what came, with the number of messages that begin in it. */
interface Piece {
  readonly bytes: Buffer;
  readonly messages: number;
}

/** Cuts what came into pieces of few messages. */
type Cut = (bytes: Buffer) => Iterable<Piece>;

/** Over HTTP, what came at once is one message to the object. */
const asOne: Cut = (bytes) => [{ bytes, messages: 1 }];

/** For a data line: a message is a frame. */
export const frameCutter = (): Cut => {
  const frames = new FrameWalk();
  return function* (bytes) {
    let from = 0;
    let messages = 0;
    for (let at = 0; at < bytes.length; ) {
      if (frames.isBetween) messages += 1;
      at = frames.step(bytes, at);
      if (at < bytes.length && !(frames.isBetween && messages === MESSAGES_A_PIECE)) continue;
      yield { bytes: bytes.subarray(from, at), messages };
      from = at;
      messages = 0;
    }
  };
};

interface WaitingPiece extends Piece {
  /** Of its message, or of the first that begins in it: earlier ones have lower numbers. */
  readonly place: number;
  readonly begin: () => void;
}

interface PacedLine {
  readonly paced: Transform;
  /** Of the message that its next bytes belong to. */
  place: number;
}

interface Pace {
  readonly lines: Bucket;
  readonly messages: Bucket;
  readonly readers: Bucket;
  /** By place: a message that has begun ends before another begins, so that they do not all reach their readers at once. */
  readonly waiting: WaitingPiece[];
  places: number;
  isServing: boolean;
  openLines: number;
  forgetting: NodeJS.Timeout | undefined;
}

export class Paces {
  readonly #known = new Map<string, Pace>();
  readonly #turns = new TickTurns(() => LINE_BYTES_A_TURN);

  /** Tenants with an open line, or one that was open a moment ago. */
  get size(): number {
    return this.#known.size;
  }

  /** The tenant's readers were sent so much. */
  noteRead(tenant: string, bytes: number): void {
    this.#known.get(tenant)?.readers.charge(bytes, performance.now());
  }

  /** A stream that passes one line's bytes on at its tenant's pace. */
  open(tenant: string, cut: Cut = asOne): Transform {
    const pace = this.#known.get(tenant) ?? newPace(performance.now());
    pace.openLines += 1;
    clearTimeout(pace.forgetting);
    this.#known.set(tenant, pace);
    const paced = new Transform({
      transform: (bytes: Buffer, _encoding, done) =>
        void this.#pass(tenant, pace, line, cut(bytes)).then(() => done(), done),
    });
    const line: PacedLine = { paced, place: 0 };
    paced.once("close", () => {
      pace.openLines -= 1;
      if (pace.openLines === 0) pace.forgetting = setTimeout(() => this.#known.delete(tenant), FULL_AGAIN_MS).unref();
    });
    return paced;
  }

  async #pass(tenant: string, pace: Pace, line: PacedLine, pieces: Iterable<Piece>): Promise<void> {
    for (const piece of pieces) {
      if (piece.messages > 0) line.place = pace.places += 1;
      const { place } = line;
      await new Promise<void>((begin) => {
        const at = pace.waiting.findLastIndex((other) => other.place <= place) + 1;
        pace.waiting.splice(at, 0, { ...piece, place, begin });
        if (!pace.isServing) void this.#serve(tenant, pace);
      });
      if (line.paced.destroyed) return;
      line.paced.push(piece.bytes);
    }
  }

  async #serve(tenant: string, pace: Pace): Promise<void> {
    pace.isServing = true;
    while (pace.waiting.length > 0) {
      const fromAt = performance.now();
      const waitsMs = [pace.lines.take(0, fromAt), pace.messages.take(0, fromAt), pace.readers.take(0, fromAt)];
      const waitMs = Math.max(...waitsMs);
      if (waitMs > 0) await pause(waitMs);
      // Only now: the message that goes on may have come meanwhile.
      const next = pace.waiting.shift();
      if (next === undefined) break;
      const nowAt = performance.now();
      pace.lines.take(next.bytes.byteLength, nowAt);
      pace.messages.take(next.messages, nowAt);
      await this.#turns.take(tenant, next.bytes.byteLength);
      next.begin();
    }
    pace.isServing = false;
  }
}

const newPace = (nowAt: number): Pace => ({
  lines: new Bucket(nowAt),
  messages: new Bucket(nowAt, LINE_MESSAGES_A_SECOND, BURST_MESSAGES),
  readers: new Bucket(nowAt, READER_BYTES_A_SECOND, READER_BURST_BYTES),
  waiting: [],
  places: 0,
  isServing: false,
  openLines: 0,
  forgetting: undefined,
});
