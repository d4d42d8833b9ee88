// A job's place in the tenant's memory: among those that wait, and in the load of the worker that holds it.

import type { Worker } from "../../domain/fleet/worker.ts";
import { isLeased, type Job } from "../../domain/job/job.ts";
import { isWanted } from "../../domain/webhook.ts";
import type { Store } from "../store/open.ts";
import type { Effects } from "./effects.ts";
import { forgetIdle, noteIdle } from "./idleness.ts";
import { countLeasedLine } from "./memory/batch-memory.ts";
import { noteFlows } from "./memory/flow-turns.ts";
import type { Memory } from "./memory/memory.ts";

/** Another job is the first of its group. */
const NEXT_LOOK_MS = 1_000;

/** What it reads and writes of a turn. */
interface PlacingTurn {
  readonly memory: Memory;
  readonly store: Store;
  readonly effects: Effects;
  readonly nowAt: number;
  readonly freedWorkers: { add(instance: string): void };
  readonly openedGroups: { add(group: string): void };
  readonly openedProviders: { add(provider: string): void };
  rememberWorker(worker: Worker): void;
  due(at: number | null): void;
}

/** Lines are counted apart from other work, which may have a quiet time after it. */
const countLeased = (turn: PlacingTurn, before: Job | null, after: Job): void => {
  const [wasHeld, isHeld] = [before !== null && isLeased(before), isLeased(after)];
  if (wasHeld && isHeld && before?.assignedWorker === after.assignedWorker) return;
  const { batches, config } = turn.memory;
  for (const [job, change] of [
    [wasHeld ? before : null, -1],
    [isHeld ? after : null, 1],
  ] as const) {
    if (job === null || job.assignedWorker === null) continue;
    countLeasedLine(batches, job, change);
    if (job.batch !== null || config.batches.quietMs === 0) continue;
    batches.otherAt.set(job.assignedWorker, turn.nowAt);
    turn.due(turn.nowAt + config.batches.quietMs);
  }
};

/** A job waits, or is the first of its group now: a fallback of the coordinator may take it after its time. */
const lookForFallback = (turn: PlacingTurn, afterMs: number): void => {
  const { config, edge } = turn.memory;
  if (config.edgeAfterMs.size === 0) return;
  edge.lookAt = Math.min(edge.lookAt, turn.nowAt + afterMs);
  turn.due(edge.lookAt);
};

/** Webhooks may have to be told that the group waits for capacity; what they were told of an earlier wait is over. */
const noteWaiting = (turn: PlacingTurn, group: string, hasWaited: boolean): void => {
  const { webhooks, notices, config } = turn.memory;
  if (!isWanted(webhooks, "capacity.wanted")) return;
  if (!hasWaited) turn.store.capacityNotices.remove(group);
  notices.wantedAt = Math.min(notices.wantedAt, turn.nowAt + config.capacity.afterMs);
  turn.due(notices.wantedAt);
};

/** A worker has room again; if the provider was at its limit, all of its workers may get jobs. */
const noteFreed = (turn: PlacingTurn, instance: string, provider: string): void => {
  const { fleet, config } = turn.memory;
  turn.freedWorkers.add(instance);
  turn.effects.changedWorkers.add(instance);
  // It only was full, and said so.
  const worker = fleet.get(instance)?.worker;
  if (worker?.isEdge === true && worker.concurrency === 0) turn.due(turn.nowAt);
  if (worker?.busy === "full") turn.rememberWorker({ ...worker, busy: null });
  const limit = config.providers.get(provider)?.rateLimit?.maxConcurrent ?? null;
  if (limit !== null && fleet.providerLoad(provider) >= limit) turn.openedProviders.add(provider);
};

/** Moves a job from its old place to its new one: among those that wait, and in the load of workers and providers. */
export const reindex = (turn: PlacingTurn, before: Job | null, after: Job): void => {
  const { fleet, queue } = turn.memory;
  const hasWaited = queue.waitingIn(after.groupKey) > 0;
  if (before !== null && before.orderKey !== null) {
    queue.remove(before.groupKey, before.id);
    if (queue.waitingIn(before.groupKey) > 0) lookForFallback(turn, NEXT_LOOK_MS);
  }
  if (after.orderKey !== null) {
    queue.add(after.groupKey, { id: after.id, orderKey: after.orderKey });
    turn.openedGroups.add(after.groupKey);
    lookForFallback(turn, Math.min(...turn.memory.config.edgeAfterMs.values()));
    noteWaiting(turn, after.groupKey, hasWaited);
  }
  noteFlows(turn, before, after);
  countLeased(turn, before, after);
  const heldBy = before !== null && isLeased(before) ? before.assignedWorker : null;
  const isHanded = after.status === "assigned" && after.lease === before?.lease;
  if (heldBy !== null && !isHanded) fleet.noteHanded(heldBy, after.id, null);
  const holds = isLeased(after) ? after.assignedWorker : null;
  if (heldBy === holds) return;
  if (heldBy !== null) {
    const provider = before?.workerProvider ?? "";
    noteFreed(turn, heldBy, provider);
    fleet.addLoad(heldBy, provider, -1);
    noteIdle(turn, heldBy);
  }
  if (holds !== null) {
    fleet.addLoad(holds, after.workerProvider ?? "", 1);
    forgetIdle(turn, holds);
    turn.effects.changedWorkers.add(holds);
  }
};
