// A flood: clients that repeat one request as soon as the last is answered, on a thread of their own, so that sending
// does not slow the measurement.

import { once } from "node:events";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Worker } from "node:worker_threads";

export interface Flood {
  readonly port: number;
  readonly clients: number;
  readonly method: string;
  readonly path: string;
  readonly authorization: string | null;
  readonly body: unknown;
}

/** The flood has begun by then. */
const BEGUN_AFTER_MS = 500;

/** What was measured during a flood, and how often it got which answer. */
export const flooded = async <T>(
  flood: Flood,
  measure: () => Promise<T>,
): Promise<{ readonly during: T; readonly answers: string }> => {
  const thread = new Worker(path.join(import.meta.dirname, "flood-thread.ts"), { workerData: flood });
  await pause(BEGUN_AFTER_MS);
  const during = await measure();
  thread.postMessage("end");
  const [counts] = (await once(thread, "message")) as [Record<string, number>];
  const answers = Object.entries(counts).map(([status, count]) => `${count} × ${status}`);
  return { during, answers: answers.join(", ") };
};
