// Viewers of /live on a thread of their own, so that watching costs the load beside it nothing but the server's time.

import { once } from "node:events";
import path from "node:path";
import { Worker } from "node:worker_threads";
import type { Tenant } from "./signalbox.ts";

/** The same on every thread, ms. */
export const sharedNow = (): number => performance.timeOrigin + performance.now();

export interface Watching {
  port: number;
  authorization: string;
  viewers: number;
}

/** Jobs that have ended, each with when that was answered to its worker, by `sharedNow`. */
export type Ended = ReadonlyMap<string, number>;

/** What the viewers saw of jobs that have ended. */
export interface Seen {
  /** Of the viewer that got fewest, and of the one that got most. */
  fewestFrames: number;
  mostFrames: number;
  /** Received by all together. */
  bytes: number;
  /** From the answer to a job's completion to the frame that shows it, ms. */
  p50Ms: number;
  p99Ms: number;
  /** Snapshots beside the first, all viewers together: somebody was too far behind for single changes. */
  laterSnapshots: number;
  /** How a viewer's picture is wrong at the end; null where none is. */
  mistake: string | null;
}

export class Viewers {
  readonly #thread: Worker;

  private constructor(thread: Worker) {
    this.#thread = thread;
  }

  /** All have their first snapshot when it resolves. */
  static async open({ port, authorization }: Tenant, viewers: number): Promise<Viewers> {
    const workerData: Watching = { port, authorization, viewers };
    const thread = new Worker(path.join(import.meta.dirname, "viewers-thread.ts"), { workerData });
    await once(thread, "message");
    return new Viewers(thread);
  }

  /** Waits until everybody has been shown the end of every one of these jobs, or has had time enough for it. */
  async seen(ended: Ended): Promise<Seen> {
    this.#thread.postMessage(ended);
    const [seen] = await once(this.#thread, "message");
    return seen as Seen;
  }

  async close(): Promise<void> {
    await this.#thread.terminate();
  }
}
