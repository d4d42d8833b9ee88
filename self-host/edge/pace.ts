// How many bytes a second a tenant's workers may send on their data lines, together: a token bucket. What comes faster
// is read later, so that TCP slows the sender down. Without it the workers of one tenant could keep the thread busy that
// all tenants of a process share. What the tenant's readers are sent has a bucket of its own, because each byte goes to
// every reader: while that is in debt, the lines wait, so that no reader falls behind. Nothing is refused or lost.

import { Transform } from "node:stream";

const MIB = 1024 * 1024;
/** Thousands of streams of tokens take less. */
export const LINE_BYTES_A_SECOND = 8 * MIB;
/** What may come at once after a pause. */
const BURST_BYTES = 2 * MIB;
/** One reader gets all that the lines may send. */
export const READER_BYTES_A_SECOND = LINE_BYTES_A_SECOND;
const READER_BURST_BYTES = 8 * MIB;
/** Lines wait no longer: readers that come back get 1 MiB each at once, which no line sends. */
const LONGEST_DEBT_MS = 1_000;

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

interface Pace {
  readonly lines: Bucket;
  readonly readers: Bucket;
  openLines: number;
}

export class Paces {
  readonly #open = new Map<string, Pace>();

  /** Tenants with an open line. */
  get size(): number {
    return this.#open.size;
  }

  /** The tenant's readers were sent so much. */
  noteRead(tenant: string, bytes: number): void {
    this.#open.get(tenant)?.readers.charge(bytes, performance.now());
  }

  /** A stream that passes one line's bytes on at its tenant's pace. */
  open(tenant: string): Transform {
    const pace = this.#open.get(tenant) ?? newPace(performance.now());
    pace.openLines += 1;
    this.#open.set(tenant, pace);
    const paced = new Transform({
      transform: (bytes: Buffer, _encoding, done) => {
        const nowAt = performance.now();
        const waitMs = Math.max(pace.lines.take(bytes.byteLength, nowAt), pace.readers.take(0, nowAt));
        if (waitMs === 0) done(null, bytes);
        else setTimeout(() => done(null, bytes), waitMs);
      },
    });
    paced.once("close", () => {
      pace.openLines -= 1;
      if (pace.openLines === 0) this.#open.delete(tenant);
    });
    return paced;
  }
}

const newPace = (nowAt: number): Pace => ({
  lines: new Bucket(nowAt),
  readers: new Bucket(nowAt, READER_BYTES_A_SECOND, READER_BURST_BYTES),
  openLines: 0,
});
