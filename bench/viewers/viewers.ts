// Viewers of /live on a thread of their own, so that watching costs the load only the server's time.

import { once } from "node:events";
import path from "node:path";
import { Worker } from "node:worker_threads";
import type { Tenant } from "../signalbox.ts";

/** The same on every thread, in ms. */
export const sharedNow = (): number => performance.timeOrigin + performance.now();

export interface Watching {
  port: number;
  authorization: string;
  viewers: number;
}

/** Ended jobs, each with the time at which that was answered to its worker, by `sharedNow`. */
export type Ended = ReadonlyMap<string, number>;

/** What the viewers saw of ended jobs. */
export interface Seen {
  /** Of the viewers with the fewest and the most frames. */
  fewestFrames: number;
  mostFrames: number;
  /** Received by all viewers together. */
  bytes: number;
  /** From the answer to a job's completion to the frame that shows it, in ms. */
  p50Ms: number;
  p99Ms: number;
  /** Snapshots after the first, all viewers together: a viewer was too far behind for single changes. */
  laterSnapshots: number;
  /** How a viewer's picture is wrong at the end; null if none is. */
  mistake: string | null;
}

export class Viewers {
  readonly #thread: Worker;

  private constructor(thread: Worker) {
    this.#thread = thread;
  }

  /** Resolves when all have their first snapshot. */
  static async open({ port, authorization }: Tenant, viewers: number): Promise<Viewers> {
    const workerData: Watching = { port, authorization, viewers };
    const thread = new Worker(path.join(import.meta.dirname, "viewers-thread.ts"), { workerData });
    await once(thread, "message");
    return new Viewers(thread);
  }

  /** Waits until every viewer has seen the end of all these jobs, or has had enough time for it. */
  async seen(ended: Ended): Promise<Seen> {
    this.#thread.postMessage(ended);
    const [seen] = await once(this.#thread, "message");
    return seen as Seen;
  }

  async close(): Promise<void> {
    await this.#thread.terminate();
  }
}
