// How many frames a tenant's sockets may bring in a second, together. Each keeps this process busy for some microseconds,
// however short it is and whether or not the object is told of it: pings are answered here. What comes faster is read
// later, so that TCP slows the sender down, and nothing is lost.

import { Bucket } from "./pace.ts";

/** Workers that start and complete 10,000 jobs a second, each in a frame of its own, send fewer. */
export const FRAMES_A_SECOND = 32_768;
/** What may come at once: 64 KiB of the shortest. */
const BURST_FRAMES = 8_192;

/** Of one socket. */
export interface FramePace {
  /** So many have come; answers how long the socket waits before it is read on, in ms. */
  readonly take: (frames: number) => number;
  readonly end: () => void;
}

interface Pace {
  readonly bucket: Bucket;
  sockets: number;
}

export class FramePaces {
  /** Of tenants with open sockets. */
  readonly #tenants = new Map<string, Pace>();

  open(tenant: string): FramePace {
    const bucket = new Bucket(performance.now(), FRAMES_A_SECOND, BURST_FRAMES);
    const pace = this.#tenants.get(tenant) ?? { bucket, sockets: 0 };
    pace.sockets += 1;
    this.#tenants.set(tenant, pace);
    return {
      take: (frames) => pace.bucket.take(frames, performance.now()),
      end: () => {
        pace.sockets -= 1;
        if (pace.sockets === 0) this.#tenants.delete(tenant);
      },
    };
  }
}
