// Assigns the queue after every turn: no waiting job is left that a worker may have.

import type { Member } from "../../domain/fleet/fleet.ts";
import { modelsTaken } from "../../domain/fleet/model-set.ts";
import { pauseOf, type Worker } from "../../domain/fleet/worker.ts";
import type { Job } from "../../domain/job/job.ts";
import { type Group, isBefore, type Place } from "../../domain/job/queue.ts";
import { enqueuedAt } from "../../domain/job/queue-place.ts";
import type { RoutePolicy, Wanted } from "../../domain/routing/filter.ts";
import { firstRefusal } from "../../domain/routing/filters.ts";
import { leadingCount } from "../../domain/words/leading-count.ts";
import type { Requirements } from "../../domain/words/requirements.ts";
import { headJobOf, headOf } from "../steps/group-jobs.ts";
import { failIfFileGone } from "../steps/job-files.ts";
import type { Turn } from "../turn/turn.ts";
import { assignTo, chooseFor } from "./place-job.ts";
import { closedProviders, routePolicy } from "./route-policy.ts";

/** Assigns waiting jobs to workers that became free, and newly waiting jobs to free workers. */
export const assignWaiting = (turn: Turn): void => {
  const { queue, killswitch, batches } = turn.memory;
  if (killswitch.level > 0) return;
  // What was held may wait in the files of batches alone.
  if (turn.isAllOpened) for (const id of batches.open.keys()) turn.effects.batches.add(id);
  if (queue.count === 0) return;
  if (turn.isAllOpened) assignGroups(turn, [...queue.groups.values()]);
  else if (turn.openedGroups.size > 0) {
    const opened = [...turn.openedGroups].map((key) => queue.groups.get(key));
    assignGroups(
      turn,
      opened.filter((group) => group !== undefined),
    );
  }
  for (const instance of turn.freedWorkers) takeAll(turn, instance);
  for (const provider of turn.openedProviders) takeForProvider(turn, provider);
};

const ASKS_NOTHING: Requirements = {
  provider: null,
  model: null,
  tags: [],
  api: null,
  excludedProviders: [],
  avoidedWorkers: [],
  batch: null,
};

/**
 * A provider is below its limit again: its workers take what they may. Once nothing waits for one that has room, workers
 * with the same offer are not asked.
 */
const takeForProvider = (turn: Turn, provider: string): void => {
  const { fleet, queue } = turn.memory;
  const asked = new Map<readonly string[], Worker[]>();
  const withRoom = fleet.sets.withRoom.copy().intersect(fleet.offers.ofProvider(provider));
  for (const slot of withRoom.members()) {
    const member = fleet.at(slot);
    const { worker } = member;
    const alike = asked.get(worker.tags) ?? [];
    if (alike.some((one) => isSameOffer(one, worker))) continue;
    takeAll(turn, worker.instance);
    const policy = routePolicy(turn);
    if (policy.closedProviders.has(provider)) return;
    const hasRoom = queue.avoiding.size === 0 && firstRefusal(member, ASKS_NOTHING, policy, fleet) === null;
    if (hasRoom) asked.set(worker.tags, [...alike, worker]);
  }
};

/** Of workers of one provider with the same tags; the fleet shares equal lists. */
const isSameOffer = (one: Worker, other: Worker): boolean =>
  one.models === other.models &&
  one.runtimeModels === other.runtimeModels &&
  one.apis === other.apis &&
  one.missingModels.length + other.missingModels.length === 0;

/** After a halt whose workers stay paused nobody is, and ten thousand groups need no look. */
const isAnybodyFree = ({ memory: { fleet }, nowAt }: Turn): boolean => {
  const free = fleet.sets.withRoom.copy();
  return free.keepIf((slot) => pauseOf(fleet.at(slot).worker, nowAt) === null, fleet.sets.paused).count() > 0;
};

/** Assigns groups' first jobs in queue order; a group whose first job no worker may have is skipped. */
const assignGroups = (turn: Turn, groups: readonly Group[]): void => {
  if (!isAnybodyFree(turn)) return;
  let policy = routePolicy(turn);
  const waiting = groups.filter((group) => headOf(turn, group) !== null);
  waiting.sort((one, other) => (isAhead(turn, one, other) ? 1 : -1));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (!assignHead(turn, next, policy)) continue;
    policy = afterAssignment(turn, policy);
    if (headOf(turn, next) !== null) insertInOrder(turn, waiting, next);
  }
};

/** An assignment may have brought a provider to its limit, which closes it for the next job. */
const afterAssignment = (turn: Turn, policy: RoutePolicy): RoutePolicy => ({
  ...policy,
  closedProviders: closedProviders(turn),
});

const isAhead = (turn: Turn, one: Group, other: Group): boolean => {
  const [head, otherHead] = [headOf(turn, one), headOf(turn, other)];
  return head !== null && (otherHead === null || isBefore(head, otherHead));
};

/** `waiting` is in queue order, searched from its end: thousands of groups take linear time. */
const insertInOrder = (turn: Turn, waiting: Group[], group: Group): void => {
  const place = leadingCount(waiting, (other) => isAhead(turn, group, other));
  waiting.splice(place, 0, group);
};

const firstGroup = (turn: Turn, groups: readonly Group[]): Group | null => {
  let best: Group | null = null;
  for (const group of groups) {
    if (headOf(turn, group) !== null && (best === null || isAhead(turn, group, best))) best = group;
  }
  return best;
};

/**
 * The first job of a group decides when the group and its priority have their turn; the flow served least takes it. If
 * nobody may have that one's job, the first job itself goes: no place stays free.
 */
const assignHead = (turn: Turn, group: Group, policy: RoutePolicy): boolean => {
  const head = headOf(turn, group);
  const first = head === null ? null : turn.store.jobs.find(head.id);
  if (head === null || first === null) return false;
  const next = nextInTurn(turn, first);
  return assignOne(turn, next, policy, head) || (next !== first && assignOne(turn, first, policy, head));
};

/** The job that takes the turn of its group's first: of another flow, if that was served less. */
const nextInTurn = (turn: Turn, first: Job): Job => {
  const { flows } = turn.memory;
  const order = flows.orderOf(first);
  const flow = order === undefined || order.waiting < 2 ? null : order.next(turn.nowAt);
  if (order === undefined || flow === null || flow === first.flow) return first;
  const place = turn.store.jobs.headOfLane({ ...first, flow }, order.waitingOf(flow));
  return (place === null ? null : turn.store.jobs.find(place.id)) ?? first;
};

const assignOne = (turn: Turn, job: Job, policy: RoutePolicy, { orderKey }: Place): boolean => {
  if (failIfFileGone(turn, job)) return true;
  const choice = chooseFor(turn, job, policy);
  if (choice === null) return false;
  assignTo(turn, job, choice, orderKey);
  return true;
};

/** A fallback takes what has waited: of a group its first job decides. */
const askedBy = (turn: Turn, group: Group, { worker }: Member): Wanted => {
  if (!worker.isEdge) return group.requirements;
  const job = headJobOf(turn, group);
  return job === null ? group.requirements : { ...group.requirements, waitingSinceAt: enqueuedAt(job) };
};

/** Groups whose first job has waited long enough for a fallback of the coordinator are examined again. */
export const lookForFallbacks = (turn: Turn): void => {
  const { config, queue } = turn.memory;
  let nextAt = Number.POSITIVE_INFINITY;
  for (const group of queue.groups.values()) {
    const job = headJobOf(turn, group);
    if (job === null) continue;
    for (const afterMs of config.edgeAfterMs.values()) {
      const at = enqueuedAt(job) + afterMs;
      if (at <= turn.nowAt) turn.openedGroups.add(group.key);
      // No place is free: a place that gets free takes the job without a look.
      nextAt = Math.min(nextAt, at > turn.nowAt ? at : turn.nowAt + FALLBACK_LOOK_MS);
    }
  }
  turn.memory.edge.lookAt = nextAt;
  if (Number.isFinite(nextAt)) turn.due(nextAt);
};

/** Once its time has passed, a group that still waits may do so for hours. */
const FALLBACK_LOOK_MS = 10_000;

const takeAll = (turn: Turn, instance: string): void => {
  let policy = routePolicy(turn);
  while (takeNext(turn, instance, policy)) policy = afterAssignment(turn, policy);
};

/** The best waiting job that this worker may have goes to the worker that the router prefers for it. */
const takeNext = (turn: Turn, instance: string, policy: RoutePolicy): boolean => {
  const member = turn.memory.fleet.get(instance);
  if (member === undefined || member.load >= member.worker.concurrency) return false;
  if (policy.closedProviders.has(member.worker.provider)) return false;
  const open: Group[] = [];
  for (const group of turn.memory.queue.groupsNear({ ...member.worker, models: modelsTaken(member.worker) })) {
    if (firstRefusal(member, askedBy(turn, group, member), policy, turn.memory.fleet) === null) open.push(group);
  }
  const next = firstGroup(turn, open);
  return next !== null && assignHead(turn, next, policy);
};
