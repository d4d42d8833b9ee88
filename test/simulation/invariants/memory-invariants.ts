// The object's memory compared with its tables; and whether the router left a job waiting without reason.

import { isLeased } from "../../../domain/job/job.ts";
import type { RoutePolicy } from "../../../domain/routing/filter.ts";
import { firstRefusal } from "../../../domain/routing/filters.ts";
import { isFinal } from "../../../domain/words/job-status.ts";
import { routeRequest } from "../../../durable-objects/placing/route-policy.ts";
import type { Store } from "../../../durable-objects/store/open.ts";
import type { Memory } from "../../../durable-objects/turn/memory/memory.ts";
import { FAILED_SWEEP_RETRY_MS } from "../platform/shell.ts";
import type { World } from "../world.ts";
import { flowsEqual } from "./fairness.ts";
import { closedByMoney } from "./money.ts";
import { isSameJson } from "./same-json.ts";
import type { Snapshot } from "./snapshot.ts";
import type { JobRow } from "./stored-jobs.ts";

/** The memory that was last found equal to the tables. */
const found = new WeakMap<World, Memory>();

/** Memory that is wrong about what nobody wrote is found when that is written, or by the next look at everything. */
export const indexesEqualTables = (before: Snapshot, now: Snapshot, world: World): string | null => {
  const { memory } = world.shell;
  if (memory === null) return null;
  const isKnown = found.get(world) === memory && before.jobs === now.jobs && before.workers === now.workers;
  if (isKnown && !now.isWhole) return settingsEqual(memory, now);
  found.set(world, memory);
  return (
    openCountsEqual(memory, now) ??
    queueEquals(memory, now) ??
    flowsEqual(memory, now) ??
    loadsEqual(memory, now) ??
    settingsEqual(memory, now)
  );
};

/** A crash now would change nothing: each job in memory is as the database has it. */
export const wakingChangesNothing = (before: Snapshot, now: Snapshot, { shell }: World): string | null => {
  const { memory, store } = shell;
  if (memory === null || store === null) return null;
  for (const row of now.changed) {
    const { id } = row.job;
    const known = store.jobs.find(id);
    if (known === null || !isSameJson(known, row.job))
      return `job ${id} is ${known?.status} at version ${known?.version}, and would be ${row.job.status} at ${row.job.version}`;
    const isWhereItWas = before.jobs.get(id)?.beganSeq === row.beganSeq;
    if (isWhereItWas && !isFinal(row.job.status) && !now.isWhole) continue;
    if (store.payloads.find(id).prompt !== now.prompts.get(id)) return `job ${id} has another prompt`;
    const result = JSON.stringify(store.payloads.findResult(id));
    if (result !== (now.results.get(id) ?? "null")) return `job ${id} has another result`;
  }
  return now.isWhole ? dueEquals(store, now) : null;
};

const dueEquals = (store: Store, now: Snapshot): string | null => {
  const due = new Set(store.jobs.due(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER).map(({ id }) => id));
  const wrong = now.changed.find(({ job, dueAt }) => !isFinal(job.status) && due.has(job.id) !== (dueAt !== null));
  return wrong === undefined ? null : `job ${wrong.job.id} is due ${wrong.dueAt}, or is not`;
};

const openCountsEqual = (memory: Memory, now: Snapshot): string | null => {
  const counts = { pending: 0, assigned: 0, running: 0 };
  for (const { job } of now.jobs.values()) if (!isFinal(job.status)) counts[job.status as keyof typeof counts] += 1;
  for (const [status, count] of Object.entries(counts)) {
    const known = memory.open[status as keyof typeof counts];
    if (known !== count) return `memory counts ${known} ${status} jobs, and ${count} are`;
  }
  return null;
};

/** The waiting jobs of one group. */
interface WaitingLine {
  count: number;
  head: JobRow;
  oldest: string;
}

const isAhead = (one: JobRow, other: JobRow): boolean =>
  one.orderKey === other.orderKey ? one.job.id < other.job.id : (one.orderKey ?? 0) < (other.orderKey ?? 0);

const queueEquals = ({ queue }: Memory, now: Snapshot): string | null => {
  let count = 0;
  const groups = new Map<string, WaitingLine>();
  for (const row of now.jobs.values()) {
    if (row.orderKey === null) continue;
    count += 1;
    const { id, groupKey } = row.job;
    const line = groups.get(groupKey);
    if (line === undefined) groups.set(groupKey, { count: 1, head: row, oldest: id });
    else {
      line.count += 1;
      if (isAhead(row, line.head)) line.head = row;
      if (id < line.oldest) line.oldest = id;
    }
  }
  if (queue.count !== count) return `memory has ${queue.count} waiting jobs, and ${count} wait`;
  if (groups.size !== queue.groups.size) return `memory has ${queue.groups.size} groups, and ${groups.size} are`;
  for (const [key, line] of groups) {
    const group = queue.groups.get(key);
    if (group?.count !== line.count) return `memory has ${group?.count} jobs in group ${key}, not ${line.count}`;
    if (group.head === null) continue;
    if (group.head.id !== line.head.job.id)
      return `memory has ${group.head.id} at the head of group ${key}, and it is ${line.head.job.id}`;
    if (group.oldest !== null && group.oldest !== line.oldest)
      return `memory has ${group.oldest} as the oldest of group ${key}, and it is ${line.oldest}`;
  }
  return null;
};

const loadsEqual = ({ fleet }: Memory, now: Snapshot): string | null => {
  if (fleet.size !== now.workers.size) return `memory has ${fleet.size} workers, and ${now.workers.size} are`;
  const byProvider = new Map<string, number>();
  const byWorker = new Map<string, number>();
  for (const { job, worker } of now.jobs.values()) {
    if (!isLeased(job)) continue;
    if (worker !== null) byWorker.set(worker, (byWorker.get(worker) ?? 0) + 1);
    const provider = job.workerProvider;
    if (provider !== null) byProvider.set(provider, (byProvider.get(provider) ?? 0) + 1);
  }
  for (const [instance, { provider, concurrency }] of now.workers) {
    const member = fleet.get(instance);
    const load = byWorker.get(instance) ?? 0;
    if (member?.load !== load) return `memory has ${member?.load} jobs with ${instance}, and it holds ${load}`;
    if (member.worker.concurrency !== concurrency || member.worker.provider !== provider)
      return `memory has another offer of ${instance}`;
    if (fleet.sets.withRoom.has(member.slot) !== load < concurrency)
      return `memory is wrong about room with ${instance}`;
  }
  for (const [provider, load] of byProvider) {
    if (fleet.providerLoad(provider) !== load)
      return `memory has ${fleet.providerLoad(provider)} jobs at provider ${provider}, and they are ${load}`;
  }
  return null;
};

const settingsEqual = (memory: Memory, now: Snapshot): string | null => {
  if (memory.killswitch.level !== now.killswitch.level) return "memory has another level of the killswitch";
  if (memory.outbox.drainedSeq !== now.drainedSeq)
    return `memory has history at ${memory.outbox.drainedSeq}, not ${now.drainedSeq}`;
  const isKnown = [...now.backoffs].every(([provider, untilAt]) => memory.backoffs.get(provider) === untilAt);
  return isKnown && memory.backoffs.size === now.backoffs.size
    ? null
    : `memory has the back-offs ${JSON.stringify([...memory.backoffs])}`;
};

/** Counters may lose what a crash took, and never count what did not happen. */
export const countersEqualEvents = (_before: Snapshot, _now: Snapshot, { model, shell }: World): string | null => {
  const { memory, isUnbroken } = shell;
  if (memory === null) return null;
  for (const status of ["completed", "cancelled"] as const) {
    const counted = memory.counters.jobsByStatus[status];
    const told = model.eventsByType.get(`job.${status}`) ?? 0;
    if (counted > told || (isUnbroken && counted < told))
      return `${counted} ${status} jobs are counted, and ${told} were`;
  }
  return null;
};

/**
 * Checks every worker for every waiting job, without an index. What only time has opened is for the alarm to find, and
 * the due times check that: the end of a pause or back-off, a new day or month of a budget, and a ping that woke nothing.
 * Jobs that some worker failed wait for another one until that is lost: the alarm looks at them once a heartbeat.
 */
export const nobodyWaitsInVain = (_before: Snapshot, now: Snapshot, world: World): string | null => {
  const { memory } = world.shell;
  if (memory === null || now.killswitch.level > 0 || memory.queue.count === 0) return null;
  const { config, fleet } = memory;
  const heard = [...fleet.members()].filter(({ worker }) => {
    // The object may take a sign from before the clock was set back for a later one.
    const silentMs = world.shell.clock.elapsedAt - (world.model.heardAt.get(worker.instance) ?? 0);
    return silentMs <= config.presence.offlineAfterMs;
  });
  if (heard.length === 0) return null;
  const budgetedAt = Math.min(now.nowAt, (now.budgetEndsAt ?? Number.POSITIVE_INFINITY) - 1);
  const policy: RoutePolicy = {
    // A clock that was set back does not make a worker alive again.
    nowAt: Math.max(now.nowAt, world.shell.clock.setBackFromAt),
    offlineAfterMs: config.presence.offlineAfterMs,
    strategy: config.routing.strategy,
    chain: config.routing.chain,
    weights: config.routing.weights,
    edgeAfterMs: config.edgeAfterMs,
    closedProviders: closedProviders(memory, closedByMoney(world, { ...now, nowAt: budgetedAt })),
    // Silence alone frees it, which is for the alarm to find.
    isEchoAside: true,
    priceOf: () => null,
    lastSignOf: (member) => member.lastSeenAt,
    batchRules: {
      keepFree: config.batches.keepFree,
      quietUntil: () => null,
      // A reload forgets it, and the alarm that was armed for its end looks at all batches.
      backsOffUntil: (provider) =>
        memory.batches.lookedAt === 0 ? now.alarmAt : memory.batches.backoffs.get(provider)?.untilAt || null,
      // What its workers give back ends with it.
      holds: (id) => (memory.batches.open.get(id)?.status === "cancelling" ? "its batch was cancelled" : null),
    },
  };
  const asked = new Set<string>();
  for (const { job, orderKey } of now.jobs.values()) {
    // Jobs of a group have equal requirements.
    if (orderKey === null || asked.has(job.groupKey)) continue;
    asked.add(job.groupKey);
    const request = routeRequest({ memory, nowAt: now.nowAt }, job);
    for (const member of heard) {
      const { instance, pause, opening } = member.worker;
      const opensAt = [pause?.untilAt, opening?.changesAt];
      const isOpenedByTime = opensAt.some((at) => at != null && at <= policy.nowAt);
      if (isOpenedByTime || firstRefusal(member, request, policy, fleet) !== null) continue;
      if (!(job.avoidedWorkers.includes(instance) && isLookedAtSoon(memory, now, world)))
        return `job ${job.id} waits, and ${instance} may have it`;
    }
  }
  return null;
};

const LOOK_EVERY_AT_LEAST_MS = 1_000;

/** The alarm comes for the jobs that some worker failed, or is overdue. */
const isLookedAtSoon = ({ config, watch }: Memory, { alarmAt, nowAt }: Snapshot, { shell }: World): boolean => {
  const everyMs = Math.max(LOOK_EVERY_AT_LEAST_MS, config.presence.heartbeatIntervalMs);
  const latestAt = Math.max(
    watch.lookedAt + everyMs,
    nowAt,
    shell.clock.setBackFromAt,
    shell.brokenAt + FAILED_SWEEP_RETRY_MS,
  );
  return alarmAt !== null && alarmAt <= latestAt;
};

const closedProviders = ({ backoffs, config, fleet }: Memory, tooDear: ReadonlySet<string>): Map<string, string> => {
  const closed = new Map([...backoffs.keys(), ...tooDear].map((provider) => [provider, "rests"]));
  for (const [provider, { rateLimit }] of config.providers) {
    const limit = rateLimit?.maxConcurrent ?? null;
    if (limit !== null && fleet.providerLoad(provider) >= limit) closed.set(provider, "is at its limit");
  }
  return closed;
};
