// How much ends and how long it waits, over the last quarter of an hour. Finished jobs are counted from the totals that
// every live message bears, so that coalesced updates lose none; waiting times come from the jobs that are seen.

import { signal } from "@preact/signals";
import type { JobResource } from "../../contract/job.ts";
import type { LiveMessage } from "../../contract/live.ts";
import type { Counts } from "./board.ts";
import { serverNow } from "./clock.ts";

export const BUCKET_MS = 10_000;
export const BUCKETS = 90;
const MAX_WAITS = 200;

interface Bucket {
  completed: number;
  failed: number;
  waits: number[];
}

const buckets = new Map<number, Bucket>();
let totals: { completed: number; failed: number } | null = null;
const seenLeases = new Set<string>();
const MAX_SEEN = 5000;

/** Grows when the numbers changed. */
export const trafficVersion = signal(0);

const bucketAt = (at: number): Bucket => {
  const slot = Math.floor(at / BUCKET_MS);
  let bucket = buckets.get(slot);
  if (bucket === undefined) {
    bucket = { completed: 0, failed: 0, waits: [] };
    buckets.set(slot, bucket);
    for (const old of buckets.keys()) if (old < slot - 2 * BUCKETS) buckets.delete(old);
  }
  return bucket;
};

type Waited = Pick<JobResource, "id" | "lease" | "created_at" | "run_at" | "assigned_at" | "attempts">;

const noteWait = (job: Waited): void => {
  // Only a first lease tells how long the queue is; a later one waited for its back-off.
  if (job.assigned_at === null || job.lease !== 1 || seenLeases.has(job.id)) return;
  if (seenLeases.size > MAX_SEEN) seenLeases.clear();
  seenLeases.add(job.id);
  const assignedAt = Date.parse(job.assigned_at);
  const waitingSince = Math.max(Date.parse(job.created_at), job.run_at === null ? 0 : Date.parse(job.run_at));
  const { waits } = bucketAt(assignedAt);
  if (waits.length < MAX_WAITS) waits.push(Math.max(0, assignedAt - waitingSince));
};

const noteTotals = (counts: Counts, isSnapshot: boolean): void => {
  const next = { completed: counts.completed ?? 0, failed: counts.failed ?? 0 };
  if (!isSnapshot && totals !== null) {
    const bucket = bucketAt(serverNow());
    // The totals begin again when the coordinator wakes anew.
    bucket.completed += Math.max(0, next.completed - totals.completed);
    bucket.failed += Math.max(0, next.failed - totals.failed);
  }
  totals = next;
};

export const observe = (messages: readonly LiveMessage[]): void => {
  for (const message of messages) {
    if (message.type === "snapshot") noteTotals(message.counts, true);
    if (message.type !== "job.updated") continue;
    noteTotals(message.counts, false);
    noteWait(message.job);
  }
  trafficVersion.value += 1;
};

/** What happened before the page was opened, from the newest jobs in the history. */
export const seedTraffic = (jobs: readonly JobResource[]): void => {
  for (const job of jobs) {
    noteWait(job);
    if (job.finished_at === null) continue;
    const bucket = bucketAt(Date.parse(job.finished_at));
    if (job.status === "completed") bucket.completed += 1;
    if (job.status === "failed") bucket.failed += 1;
  }
  trafficVersion.value += 1;
};

export const resetTraffic = (): void => {
  buckets.clear();
  seenLeases.clear();
  totals = null;
};

const median = (values: readonly number[]): number | null => {
  if (values.length === 0) return null;
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? null;
};

export interface Traffic {
  readonly at: number[];
  readonly completed: number[];
  readonly failed: number[];
  readonly medianWaitSeconds: (number | null)[];
  readonly longestWaitSeconds: (number | null)[];
}

/** The last buckets as columns; `at` in seconds, as plots want it. Counts are a minute's worth. */
export const traffic = (): Traffic => {
  const last = Math.floor(serverNow() / BUCKET_MS);
  const slots = Array.from({ length: BUCKETS }, (_, index) => last - BUCKETS + 1 + index);
  const found = slots.map((slot) => buckets.get(slot));
  const seconds = (ms: number | null): number | null => (ms === null ? null : ms / 1000);
  return {
    at: slots.map((slot) => (slot * BUCKET_MS) / 1000),
    completed: found.map((bucket) => bucket?.completed ?? 0),
    failed: found.map((bucket) => bucket?.failed ?? 0),
    medianWaitSeconds: found.map((bucket) => seconds(median(bucket?.waits ?? []))),
    longestWaitSeconds: found.map((bucket) => (bucket?.waits.length ? Math.max(...bucket.waits) / 1000 : null)),
  };
};
