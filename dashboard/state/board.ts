// What the operator sees of the tenant now: the live messages, applied. Each batch makes one change to each signal, so
// that a frame of a hundred updates renders once. Jobs are bounded: finished ones leave first, oldest first.

import { batch, computed, signal } from "@preact/signals";
import type { KillswitchResource } from "../../contract/killswitch.ts";
import type { LiveJob, LiveMessage } from "../../contract/live.ts";
import type { ScheduleResource } from "../../contract/schedule.ts";
import type { WorkerResource } from "../../contract/worker.ts";

export type JobStatus = LiveJob["status"];
export type Counts = Partial<Record<JobStatus, number>>;

const MAX_KEPT_JOBS = 400;

export const jobs = signal<ReadonlyMap<string, LiveJob>>(new Map());
export const workers = signal<ReadonlyMap<string, WorkerResource>>(new Map());
export const workersTotal = signal(0);
export const schedules = signal<readonly ScheduleResource[] | null>(null);
export const killswitch = signal<KillswitchResource | null>(null);
export const counts = signal<Counts>({});
export const todayUsd = signal<number | null>(null);
/** Grows when the catalog changed: what shows it reads it anew. */
export const catalogVersion = signal(0);
export const hasSnapshot = signal(false);

export const isHalted = computed(() => killswitch.value?.active ?? false);

export const isOpen = (status: JobStatus): boolean =>
  status === "pending" || status === "assigned" || status === "running";

const bounded = (all: Map<string, LiveJob>): Map<string, LiveJob> => {
  if (all.size <= MAX_KEPT_JOBS) return all;
  const byWorth = [...all.values()].sort(
    (one, other) =>
      Number(isOpen(other.status)) - Number(isOpen(one.status)) || (one.updated_at < other.updated_at ? 1 : -1),
  );
  return new Map(byWorth.slice(0, MAX_KEPT_JOBS).map((job) => [job.id, job]));
};

type Snapshot = Extract<LiveMessage, { type: "snapshot" }>;

const takeSnapshot = (snapshot: Snapshot): void => {
  jobs.value = new Map(snapshot.jobs.map((job) => [job.id, job]));
  workers.value = new Map(snapshot.workers.map((worker) => [worker.instance, worker]));
  workersTotal.value = snapshot.workers_total;
  schedules.value = snapshot.schedules;
  killswitch.value = snapshot.killswitch;
  counts.value = snapshot.counts;
  hasSnapshot.value = true;
};

const takeWorkers = (messages: readonly LiveMessage[]): void => {
  const next = new Map(workers.value);
  let total = workersTotal.value;
  for (const message of messages) {
    if (message.type === "worker.updated") {
      if (!next.has(message.worker.instance) && total === next.size) total += 1;
      next.set(message.worker.instance, message.worker);
    } else if (message.type === "worker.forgotten" && next.delete(message.instance)) total -= 1;
  }
  workers.value = next;
  workersTotal.value = Math.max(total, next.size);
};

const takeJobs = (messages: readonly LiveMessage[]): void => {
  const next = new Map(jobs.value);
  for (const message of messages) {
    if (message.type !== "job.updated") continue;
    next.set(message.job.id, message.job);
    counts.value = message.counts;
  }
  jobs.value = bounded(next);
};

const takeRest = (message: LiveMessage): void => {
  if (message.type === "killswitch.updated") killswitch.value = message.killswitch;
  else if (message.type === "schedule.updated") schedules.value = message.schedules;
  else if (message.type === "catalog.updated") catalogVersion.value += 1;
  else if (message.type === "cost.updated") todayUsd.value = message.today_usd;
};

/** Applies messages in their order; a snapshot replaces what was there. */
export const apply = (messages: readonly LiveMessage[]): void =>
  batch(() => {
    const last = messages.findLastIndex((message) => message.type === "snapshot");
    if (last >= 0) takeSnapshot(messages[last] as Snapshot);
    const updates = messages.slice(last + 1);
    if (updates.some(({ type }) => type === "job.updated")) takeJobs(updates);
    if (updates.some(({ type }) => type.startsWith("worker."))) takeWorkers(updates);
    for (const message of updates) takeRest(message);
  });

export const clearBoard = (): void =>
  batch(() => {
    jobs.value = new Map();
    workers.value = new Map();
    schedules.value = null;
    killswitch.value = null;
    counts.value = {};
    todayUsd.value = null;
    hasSnapshot.value = false;
  });
