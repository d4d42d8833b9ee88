// How many bytes a second a tenant's workers may send on their data lines, together: a token bucket. What comes faster
// is read later, so that TCP slows the sender down. Without it the workers of one tenant could keep the thread busy that
// all tenants of a process share. Nothing is refused or lost.

import { Transform } from "node:stream";

const MIB = 1024 * 1024;
/** Thousands of streams of tokens take less. */
export const LINE_BYTES_A_SECOND = 8 * MIB;
/** What may come at once after a pause. */
const BURST_BYTES = 8 * MIB;

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
    const filled = this.#level + (Math.max(0, nowAt - this.#filledAt) / 1000) * this.#bytesASecond;
    this.#level = Math.min(this.#burstBytes, filled) - bytes;
    this.#filledAt = nowAt;
    return this.#level >= 0 ? 0 : Math.ceil((-this.#level / this.#bytesASecond) * 1000);
  }
}

export class Paces {
  readonly #open = new Map<string, { readonly bucket: Bucket; lines: number }>();

  /** Tenants with an open line. */
  get size(): number {
    return this.#open.size;
  }

  /** A stream that passes one line's bytes on at its tenant's pace. */
  open(tenant: string): Transform {
    const held = this.#open.get(tenant) ?? { bucket: new Bucket(performance.now()), lines: 0 };
    held.lines += 1;
    this.#open.set(tenant, held);
    const paced = new Transform({
      transform: (bytes: Buffer, _encoding, done) => {
        const waitMs = held.bucket.take(bytes.byteLength, performance.now());
        if (waitMs === 0) done(null, bytes);
        else setTimeout(() => done(null, bytes), waitMs);
      },
    });
    paced.once("close", () => {
      held.lines -= 1;
      if (held.lines === 0) this.#open.delete(tenant);
    });
    return paced;
  }
}
