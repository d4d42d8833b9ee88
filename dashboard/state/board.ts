// The operator's current view of the tenant, built from the live messages. Each batch changes each signal once, so a
// frame of a hundred updates renders once. Jobs are bounded: finished ones are removed first, oldest first.

import { batch, computed, signal } from "@preact/signals";
import type { ModelTaskResource } from "../../contract/fleet/model-task.ts";
import type { WorkerResource } from "../../contract/fleet/worker.ts";
import { fleetByProvider } from "../../contract/fleet-by-provider.ts";
import type { QueueView } from "../../contract/jobs/insight.ts";
import type { KillswitchResource } from "../../contract/killswitch.ts";
import type { ActivityMinute, LiveJob, LiveMessage, LiveSchedule, ProviderFleet } from "../../contract/live.ts";

export type JobStatus = LiveJob["status"];
type Counts = Partial<Record<JobStatus, number>>;

const MAX_KEPT_JOBS = 400;
const MAX_KEPT_TASKS = 200;

export const jobs = signal<ReadonlyMap<string, LiveJob>>(new Map());
export const workers = signal<ReadonlyMap<string, WorkerResource>>(new Map());
export const workersTotal = signal(0);
export const schedules = signal<readonly LiveSchedule[] | null>(null);
export const killswitch = signal<KillswitchResource | null>(null);
/** Open jobs now, and final ones of all time. */
export const counts = signal<Counts>({});
export const todayUsd = signal<number | null>(null);
type Snapshot = Extract<LiveMessage, { type: "snapshot" }>;

export const budgetReached = signal<Snapshot["budget_reached"]>(null);
/** Models that a catalog no longer lists but workers or schedules still name, by provider. */
export const removedModels = signal<Snapshot["removed_models"]>([]);
/** How many of the final jobs have left history, which lists no longer show. */
const pruned = signal<Snapshot["pruned"]>({});
/** Jobs by status as lists count them; `counts` has the final ones of all time. */
export const listedCounts = computed<Counts>(() => {
  const gone = Object.entries(pruned.value) as [JobStatus, number][];
  const left = gone.map(([status, many]) => [status, Math.max(0, (counts.value[status] ?? 0) - many)]);
  return { ...counts.value, ...Object.fromEntries(left) };
});
/** What fills up, as a sentence each. */
export const storageWarnings = signal<Snapshot["storage_warnings"]>([]);
/** What waits, by requirements, and why: for all jobs, not only those kept here. */
export const queue = signal<QueueView | null>(null);
/** What happened to jobs in the last hour, oldest minute first. */
export const minutes = signal<readonly ActivityMinute[]>([]);
const toldFleet = signal<readonly ProviderFleet[]>([]);
/**
 * All workers summed up by provider; summed up here if all of them are known, because that is more current while
 * nothing is sent.
 */
export const fleet = computed<readonly ProviderFleet[]>(() =>
  workers.value.size >= workersTotal.value ? fleetByProvider(workers.value.values()) : toldFleet.value,
);
/** A figure of the whole fleet. */
export const fleetSum = (figureOf: (one: ProviderFleet) => number): number =>
  fleet.value.reduce((sum, one) => sum + figureOf(one), 0);
/** Grows when the catalog changes; pages that show it then read it again. */
export const catalogVersion = signal(0);
/** What the socket told of model tasks since the page was opened. */
export const modelTasks = signal<ReadonlyMap<string, ModelTaskResource>>(new Map());
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

/** A read that began before the newest one tells nothing newer. */
let snapshots = 0;

const takeStorage = (told: Pick<Snapshot, "storage_warnings" | "pruned">): void => {
  storageWarnings.value = told.storage_warnings;
  pruned.value = told.pruned;
};

const takeSnapshot = (snapshot: Snapshot): void => {
  snapshots += 1;
  jobs.value = new Map(snapshot.jobs.map((job) => [job.id, job]));
  workers.value = new Map(snapshot.workers.map((worker) => [worker.instance, worker]));
  workersTotal.value = snapshot.workers_total;
  schedules.value = snapshot.schedules;
  killswitch.value = snapshot.killswitch;
  counts.value = snapshot.counts;
  todayUsd.value = snapshot.today_usd;
  budgetReached.value = snapshot.budget_reached;
  removedModels.value = snapshot.removed_models;
  takeStorage(snapshot);
  queue.value = snapshot.queue;
  minutes.value = snapshot.minutes;
  toldFleet.value = snapshot.fleet;
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

const HOUR_MINUTES = 60;

/** The newest minutes replace earlier versions of themselves. */
const takeMinutes = (newest: readonly ActivityMinute[]): void => {
  const told = new Set(newest.map(({ at }) => at));
  minutes.value = [...minutes.value.filter(({ at }) => !told.has(at)), ...newest].slice(-HOUR_MINUTES);
};

/** The newest replaces the oldest that were told of. */
const takeTask = (task: ModelTaskResource): void => {
  const next = new Map(modelTasks.value);
  next.delete(task.id);
  modelTasks.value = new Map([...next.set(task.id, task)].slice(-MAX_KEPT_TASKS));
};

const takeRest = (message: LiveMessage): void => {
  if (message.type === "killswitch.updated") killswitch.value = message.killswitch;
  else if (message.type === "schedule.updated") schedules.value = message.schedules;
  else if (message.type === "queue.updated") queue.value = message.queue;
  else if (message.type === "activity.updated") takeMinutes(message.minutes);
  else if (message.type === "fleet.updated") toldFleet.value = message.fleet;
  else if (message.type === "storage.updated") takeStorage(message);
  else if (message.type === "model_task.updated") takeTask(message.task);
  else if (message.type === "catalog.updated") {
    catalogVersion.value += 1;
    removedModels.value = message.removed_models;
  } else if (message.type === "cost.updated") {
    todayUsd.value = message.today_usd;
    budgetReached.value = message.budget_reached;
  }
};

/** Applies messages in order; a snapshot replaces everything. */
export const apply = (messages: readonly LiveMessage[]): void =>
  batch(() => {
    const last = messages.findLastIndex((message) => message.type === "snapshot");
    if (last >= 0) takeSnapshot(messages[last] as Snapshot);
    const updates = messages.slice(last + 1);
    if (updates.some(({ type }) => type === "job.updated")) takeJobs(updates);
    if (updates.some(({ type }) => type.startsWith("worker."))) takeWorkers(updates);
    for (const message of updates) takeRest(message);
  });

/**
 * Takes over the workers of a read when its answer comes: no message tells that a worker fell silent. What a message
 * told since the read began is newer.
 */
export const learning = async <Answer extends { readonly workers: readonly WorkerResource[] }>(
  reading: Promise<Answer>,
): Promise<Answer> => {
  const [before, taken] = [workers.peek(), snapshots];
  const answer = await reading;
  const now = workers.peek();
  const unchanged = answer.workers.filter(({ instance }) => now.get(instance) === before.get(instance));
  if (hasSnapshot.peek() && taken === snapshots) apply(unchanged.map((worker) => ({ type: "worker.updated", worker })));
  return answer;
};

export const clearBoard = (): void =>
  batch(() => {
    jobs.value = new Map();
    workers.value = new Map();
    workersTotal.value = 0;
    schedules.value = null;
    killswitch.value = null;
    counts.value = {};
    todayUsd.value = null;
    budgetReached.value = null;
    removedModels.value = [];
    takeStorage({ storage_warnings: [], pruned: {} });
    queue.value = null;
    minutes.value = [];
    modelTasks.value = new Map();
    toldFleet.value = [];
    hasSnapshot.value = false;
  });
