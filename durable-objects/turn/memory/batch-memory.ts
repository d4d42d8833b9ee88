// The batches that have not ended, and what workers have of them and beside them.

import type { BatchRecord } from "../../../domain/batch/batch.ts";
import type { Job } from "../../../domain/job/job.ts";
import type { Store } from "../../store/open.ts";

/** What lines of batches met at a provider that limits its rate. */
interface LineBackoff {
  /** 0: lines may run. */
  readonly untilAt: number;
  /** Waits since a line was last answered. */
  readonly waits: number;
}

export interface BatchMemory {
  readonly open: Map<string, BatchRecord>;
  /** Leased lines, by batch. */
  readonly ofBatch: Map<string, number>;
  /** The same, by worker. */
  readonly ofWorker: Map<string, number>;
  /** When a worker last began or ended other work; only where a quiet time is configured. Empty after a reload. */
  readonly otherAt: Map<string, number>;
  /** By provider, after a rate limit. Empty after a reload. */
  readonly backoffs: Map<string, LineBackoff>;
  /** When batches were last looked at. */
  lookedAt: number;
}

export const loadBatches = (store: Store): BatchMemory => {
  const open = new Map(store.batches.open().map((batch) => [batch.id, batch]));
  const counts = { ofBatch: new Map<string, number>(), ofWorker: new Map<string, number>() };
  if (open.size > 0) for (const job of store.jobs.allLeased()) countLeasedLine(counts, job, 1);
  return { open, ...counts, otherAt: new Map(), backoffs: new Map(), lookedAt: 0 };
};

/** A line was given to its worker (1), or has left it (-1). */
export const countLeasedLine = (
  { ofBatch, ofWorker }: Pick<BatchMemory, "ofBatch" | "ofWorker">,
  { batch, assignedWorker }: Pick<Job, "batch" | "assignedWorker">,
  change: number,
): void => {
  if (batch === null || assignedWorker === null) return;
  for (const [counts, name] of [
    [ofBatch, batch],
    [ofWorker, assignedWorker],
  ] as const) {
    const count = (counts.get(name) ?? 0) + change;
    if (count > 0) counts.set(name, count);
    else counts.delete(name);
  }
};
