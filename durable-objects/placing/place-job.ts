// Places one job: chooses its worker, stores both in one write, and tells the worker.

import { presentLease } from "../../contract/fleet/worker.ts";
import type { Worker } from "../../domain/fleet/worker.ts";
import { laneOf } from "../../domain/job/flows.ts";
import type { Decision, Job, JobPayload } from "../../domain/job/job.ts";
import type { FrontDoorFacts } from "../../domain/job/job-facts.ts";
import { assignJob } from "../../domain/job/lease.ts";
import { queuePlaceOf } from "../../domain/job/queue-place.ts";
import { dayStartAt } from "../../domain/money/spending.ts";
import { type Candidate, type Choice, choose } from "../../domain/routing/choice.ts";
import type { RoutePolicy } from "../../domain/routing/filter.ts";
import { canOthers } from "../../domain/routing/filters.ts";
import { chainOf } from "../../domain/routing/strategy.ts";
import { SERVICE_ACTOR } from "../../domain/words/event.ts";
import { chargeFor } from "../steps/flow.ts";
import { failIfFileGone, goneFile, leasedFiles } from "../steps/job-files.ts";
import type { Turn } from "../turn/turn.ts";
import { routePolicy, routeRequest } from "./route-policy.ts";
import { ITS_TURN, pendingReason } from "./waiting-reason.ts";

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
  const { config, fleet, edge } = turn.memory;
  const dayAt = dayStartAt(turn.nowAt);
  if (!isEdge || !config.edgeAfterMs.has(provider) || edge.overflowDays[provider] === dayAt) return;
  if (!canOthers(fleet, routeRequest(turn, job), routePolicy(turn))) return;
  edge.overflowDays = { ...edge.overflowDays, [provider]: dayAt };
  turn.store.settings.putOverflowDays(edge.overflowDays);
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
  const worker = turn.memory.fleet.get(assignedWorker)?.worker;
  return worker?.isEdge === true ? (turn.store.workers.modelsOf(worker.instance).models?.[0] ?? null) : null;
};

/** Gives a waiting job to a worker. `place`: the order key of the job whose turn it takes. */
export const assignTo = (turn: Turn, job: Job, choice: Choice, place: number): void => {
  const payload = turn.store.payloads.find(job.id);
  recordAssigned(turn, job, assignment(turn, job, choice, payload, place), payload);
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
export type WaitingReasons = Map<string, string>;

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
  // A schedule's files may have gone since it was made.
  if (goneFile(turn, job) !== undefined) {
    turn.record(null, created);
    failIfFileGone(turn, job);
    return null;
  }
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
  if (job.orderKey === null) return pendingReason(turn, job, policy);
  const lane = `${laneOf(job)} ${job.groupKey}`;
  const known = reasons.get(lane);
  if (known !== undefined) return known;
  const reason = pendingReason(turn, job, policy);
  reasons.set(lane, reason);
  return reason;
};
