// Applies the router: places a new job, and assigns the queue after every turn. After `assignWaiting` no waiting job has
// an eligible worker.

import { presentLease } from "../../contract/fleet/worker.ts";
import type { Member } from "../../domain/fleet/fleet.ts";
import { modelsTaken } from "../../domain/fleet/model-set.ts";
import type { Worker } from "../../domain/fleet/worker.ts";
import { laneOf } from "../../domain/job/flows.ts";
import type { Decision, Job, JobPayload } from "../../domain/job/job.ts";
import type { FrontDoorFacts } from "../../domain/job/job-facts.ts";
import { assignJob } from "../../domain/job/lease.ts";
import { type Group, isBefore, type Place } from "../../domain/job/queue.ts";
import { enqueuedAt, queuePlaceOf } from "../../domain/job/queue-place.ts";
import { dayStartAt } from "../../domain/money/spending.ts";
import { type Candidate, type Choice, choose } from "../../domain/routing/choice.ts";
import type { RoutePolicy, Wanted } from "../../domain/routing/filter.ts";
import { canOthers, firstRefusal } from "../../domain/routing/filters.ts";
import { chainOf } from "../../domain/routing/strategy.ts";
import { SERVICE_ACTOR } from "../../domain/words/event.ts";
import type { Requirements } from "../../domain/words/requirements.ts";
import { chargeFor } from "../steps/flow.ts";
import { headJobOf, headOf } from "../steps/group-jobs.ts";
import { failIfFileGone, leasedFiles } from "../steps/job-files.ts";
import type { Turn } from "../turn/turn.ts";
import { closedProviders, routePolicy, routeRequest } from "./route-policy.ts";
import { ITS_TURN, waitingReason } from "./waiting-reason.ts";

/** The worker that would get this job now; null under the killswitch or if no worker may have it. */
export const chooseFor = (turn: Turn, job: Job, policy = routePolicy(turn)): Choice | null =>
  turn.memory.killswitch.level > 0 ? null : choose(turn.memory.fleet, routeRequest(turn, job), policy);

const runnerUp = ({ member, score, breakdown }: Candidate) => ({
  worker: member.worker.instance,
  provider: member.worker.provider,
  score,
  breakdown: { ...breakdown },
});

/** `place`: the order key of the job whose turn it takes. */
const assignment = (turn: Turn, job: Job, choice: Choice, payload: JobPayload, place: number): Decision => {
  const { worker } = choice.member;
  const detail = {
    provider: worker.provider,
    score: choice.score,
    breakdown: { ...choice.breakdown },
    strategy: turn.memory.config.routing.strategy,
    chain_position: chainPosition(turn, worker.provider),
    refused: { ...choice.refused },
    runner_up: choice.runnerUp === null ? null : runnerUp(choice.runnerUp),
  };
  const assigned = assignJob(job, worker, detail, turn.nowAt, chargeFor(turn, job, payload, place));
  noteOverflow(turn, job, worker);
  return job.frontDoor?.session == null ? assigned : keptTogether(turn, assigned, job.frontDoor, worker.instance);
};

/** A fallback takes what another living worker could have taken: the first time of a day is told, never silently. */
const noteOverflow = (turn: Turn, job: Job, { isEdge, instance, provider }: Worker): void => {
  const { config, fleet, overflowDays } = turn.memory;
  const dayAt = dayStartAt(turn.nowAt);
  if (!isEdge || !config.edgeAfterMs.has(provider) || overflowDays[provider] === dayAt) return;
  if (!canOthers(fleet, routeRequest(turn, job), routePolicy(turn))) return;
  turn.memory.overflowDays = { ...overflowDays, [provider]: dayAt };
  turn.store.settings.putOverflowDays(turn.memory.overflowDays);
  turn.audit("overflow.started", provider, { worker: instance, job_id: job.id, model: job.model }, SERVICE_ACTOR);
};

/** The conversation's next turn prefers the worker of this one. */
const keptTogether = (turn: Turn, assigned: Decision, facts: FrontDoorFacts, instance: string): Decision => {
  const { affinity, counters } = turn.memory;
  const session = facts.session ?? "";
  const isSessionHit = affinity.workerOf(session, turn.nowAt) === instance;
  affinity.note(session, instance, turn.nowAt);
  counters.affinity[isSessionHit ? "hit" : "miss"] += 1;
  return { ...assigned, job: { ...assigned.job, frontDoor: { ...facts, isSessionHit } } };
};

const chainPosition = (turn: Turn, provider: string): number | null =>
  chainOf(turn.memory.config.routing)?.indexOf(provider) ?? null;

const recordAssigned = (turn: Turn, before: Job | null, decision: Decision, payload: JobPayload): void => {
  turn.record(before, decision);
  const { job } = decision;
  if (job.assignedWorker === null) return;
  // Nothing may wait any more for a model that it has loaded: a job for another may be next.
  if (turn.memory.config.routing.swapWaitMs !== null) turn.freedWorkers.add(job.assignedWorker);
  // Without a socket it learns of the job with its next claim or heartbeat.
  turn.effects.wokenWorkers.add(job.assignedWorker);
  if (turn.memory.fleet.get(job.assignedWorker)?.isConnected !== true) return;
  const leased = presentLease(job, payload, leasedFiles(turn, job));
  leased.model ??= ownModel(turn, job);
  turn.send(job.assignedWorker, { type: "job.assigned", job: leased, config_etag: turn.memory.storedConfig.etag });
};

/** The coordinator has no list of a runtime to choose from: a job that names no model gets the first. */
const ownModel = (turn: Turn, { assignedWorker }: Job): string | null => {
  const worker = turn.memory.fleet.get(assignedWorker ?? "")?.worker;
  return worker?.isEdge === true ? (turn.store.workers.modelsOf(worker.instance).models?.[0] ?? null) : null;
};

/** Stores a new job together with its assignment: one write, and one frame to the worker. */
export const admitTo = (turn: Turn, created: Decision, choice: Choice): Job => {
  const { job, events } = created;
  const payload = created.payload ?? turn.store.payloads.find(job.id);
  const assigned = assignment(turn, job, choice, payload, queuePlaceOf(job));
  recordAssigned(turn, null, { ...created, job: assigned.job, events: [...events, ...assigned.events] }, payload);
  return assigned.job;
};

/** By requirement group and lane: what a batch's jobs wait for, computed once for each. */
export type WaitingReasons = Map<string, string | null>;

/**
 * Stores a new job: with a worker if one may have it and no equal job waits, else in the queue. Returns what it waits
 * for. A `policy` is of this moment: each assignment may be the last that its provider takes.
 */
export const admit = (
  turn: Turn,
  created: Decision,
  reasons: WaitingReasons = new Map(),
  policy?: RoutePolicy,
): string | null => {
  const { job } = created;
  const isFirst = job.orderKey !== null && turn.memory.queue.waitingIn(job.groupKey) === 0;
  const choice = isFirst ? chooseFor(turn, job, policy) : null;
  if (choice !== null) {
    admitTo(turn, created, choice);
    return ITS_TURN;
  }
  const wasOpened = turn.openedGroups.has(job.groupKey);
  turn.record(null, created);
  // No worker is eligible for it or for the jobs ahead of it: nothing to assign.
  if (!wasOpened) turn.openedGroups.delete(job.groupKey);
  if (job.orderKey === null) return waitingReason(turn, job, policy);
  const lane = `${laneOf(job)} ${job.groupKey}`;
  const known = reasons.get(lane);
  if (known !== undefined) return known;
  const reason = waitingReason(turn, job, policy);
  reasons.set(lane, reason);
  return reason;
};

/** Assigns waiting jobs to workers that became free, and newly waiting jobs to free workers. */
export const assignWaiting = (turn: Turn): void => {
  const { queue, killswitch } = turn.memory;
  if (queue.count === 0 || killswitch.level > 0) return;
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

/** Assigns groups' first jobs in queue order; a group whose first job no worker may have is skipped. */
const assignGroups = (turn: Turn, groups: readonly Group[]): void => {
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
  let [low, high] = [0, waiting.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = waiting[middle];
    if (other !== undefined && isAhead(turn, group, other)) low = middle + 1;
    else high = middle;
  }
  waiting.splice(low, 0, group);
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
  const payload = turn.store.payloads.find(job.id);
  recordAssigned(turn, job, assignment(turn, job, choice, payload, orderKey), payload);
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
  turn.memory.edgeLookAt = nextAt;
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
