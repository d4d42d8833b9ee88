// How many bytes of its clients' WebSocket messages are held for a tenant: messages that have not arrived whole, and
// messages that its object has not been told. A few bytes of each socket are free. Above the tenant's bound only the
// socket whose message began first is read; the others wait, and nothing is lost. A client that keeps others waiting
// without ending its message is cut off. Without this, sockets that each leave a message unfinished would fill the memory.

import { Transform } from "node:stream";
import { MIB } from "../../../domain/words/size.ts";
import { FrameWalk } from "./frame-walk.ts";

/** Most messages of workers are shorter. */
const FREE_BYTES = 4 * 1024;
export const MAX_HELD_BYTES = 32 * MIB;
/** Tenants with less than their part of it wait for none. */
const MAX_HELD_OF_ALL = 128 * MIB;
/** How long others wait for one client. */
const ENDS_WITHIN_MS = 10_000;

/** How a client is read. */
export interface Reading {
  readonly pause: () => void;
  readonly resume: () => void;
  readonly cut: () => void;
}

export class HeldFrames {
  /** Those of which more than free bytes are held. */
  readonly #tenants = new Map<string, TenantFrames>();

  open(tenant: string, reading: Reading): SocketFrames {
    return new SocketFrames(reading, (frames, bytes) => {
      const held =
        this.#tenants.get(tenant) ??
        new TenantFrames(() => Math.min(MAX_HELD_BYTES, MAX_HELD_OF_ALL / this.#tenants.size));
      this.#tenants.set(tenant, held);
      held.count(frames, bytes);
      if (held.isEmpty) this.#tenants.delete(tenant);
    });
  }
}

/** Passes a client's bytes on; the process behind it holds what is unfinished. */
export const passHeld = (held: HeldFrames, tenant: string): Transform => {
  let isWaiting = false;
  let goOn: (() => void) | null = null;
  const passing = new Transform({
    transform: (bytes: Buffer, _encoding, done) => {
      frames.take(bytes);
      frames.told();
      if (isWaiting) goOn = () => done(null, bytes);
      else done(null, bytes);
    },
  });
  const frames = held.open(tenant, {
    pause: () => {
      isWaiting = true;
    },
    resume: () => {
      isWaiting = false;
      const passOn = goOn;
      goOn = null;
      passOn?.();
    },
    cut: () => void passing.destroy(),
  });
  passing.once("close", () => frames.end());
  return passing;
};

/** What is held of one socket. */
export class SocketFrames {
  readonly reading: Reading;
  readonly #count: (frames: SocketFrames, bytes: number) => void;
  readonly #walk = new FrameWalk();
  #unfinished = 0;
  #untold = 0;
  #counted = 0;

  constructor(reading: Reading, count: (frames: SocketFrames, bytes: number) => void) {
    this.reading = reading;
    this.#count = count;
  }

  /** Whether its client has a message to end. */
  get isUnfinished(): boolean {
    return this.#unfinished > 0;
  }

  /** Bytes have come; answers how many frames have ended in them. */
  take(bytes: Buffer): number {
    let ended = 0;
    for (let at = 0; at < bytes.length; ) {
      const next = this.#walk.step(bytes, at);
      this.#unfinished += next - at;
      at = next;
      if (this.#walk.isBetween) ended += 1;
      if (!this.#walk.isWhole) continue;
      // A control frame is answered here, and nobody is told of it.
      if (!this.#walk.isControl) this.#untold += this.#unfinished;
      this.#unfinished = 0;
    }
    this.#tell();
    return ended;
  }

  /** The object was told what has come whole. */
  told(): void {
    this.#untold = 0;
    this.#tell();
  }

  /** The socket has closed. */
  end(): void {
    this.#unfinished = 0;
    this.told();
  }

  #tell(): void {
    const bytes = this.#unfinished + this.#untold;
    const counted = bytes > FREE_BYTES ? bytes : 0;
    if (counted === this.#counted) return;
    this.#counted = counted;
    this.#count(this, counted);
  }
}

class TenantFrames {
  /** The one whose message began first at the beginning. */
  readonly #counted = new Map<SocketFrames, number>();
  readonly #waiting = new Set<SocketFrames>();
  readonly #bound: () => number;
  #bytes = 0;
  #ending: NodeJS.Timeout | undefined;

  constructor(bound: () => number) {
    this.#bound = bound;
  }

  get isEmpty(): boolean {
    return this.#counted.size === 0;
  }

  count(frames: SocketFrames, bytes: number): void {
    const before = this.#counted.get(frames) ?? 0;
    this.#bytes += bytes - before;
    // What is held now began later than what was told.
    if (bytes < before) this.#counted.delete(frames);
    if (bytes > 0) this.#counted.set(frames, bytes);
    if (this.#bytes <= this.#bound()) this.#goOn();
    else {
      if (bytes > 0) this.#wait(frames);
      else this.#read(frames);
      this.#readFirst(bytes < before);
    }
  }

  #wait(frames: SocketFrames): void {
    this.#waiting.add(frames);
    frames.reading.pause();
  }

  #read(frames: SocketFrames): void {
    if (this.#waiting.delete(frames)) frames.reading.resume();
  }

  #goOn(): void {
    clearTimeout(this.#ending);
    this.#ending = undefined;
    for (const { reading } of this.#waiting) reading.resume();
    this.#waiting.clear();
  }

  #readFirst(isNew: boolean): void {
    const [first] = this.#counted.keys();
    if (first === undefined) return;
    this.#read(first);
    if (!isNew && this.#ending !== undefined) return;
    clearTimeout(this.#ending);
    this.#ending = setTimeout(() => this.#cut(first), ENDS_WITHIN_MS).unref();
  }

  /** One whose message is whole waits for the object, too. */
  #cut(first: SocketFrames): void {
    this.#ending = undefined;
    if (first.isUnfinished) first.reading.cut();
  }
}
