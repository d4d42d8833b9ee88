// What jobs show of their workers: how they end there, which leases are left to expire, and the pause that may follow.

import { isCutOff } from "../../domain/fleet/fleet.ts";
import { recordExpiredLease, recordOutcome } from "../../domain/fleet/outcomes.ts";
import { askTrial, endTrial, judgeTrial, restUnasked, streakOf } from "../../domain/fleet/streak.ts";
import { type Outcome, pauseOf, recordMissing, type Worker } from "../../domain/fleet/worker.ts";
import type { Job } from "../../domain/job/job.ts";
import { SERVICE_ACTOR } from "../../domain/words/event.ts";
import type { Refusal } from "../../domain/words/refusal.ts";
import { ok, type Result } from "../../domain/words/result.ts";
import type { Turn } from "../turn/turn.ts";
import { isSilent } from "./last-sign.ts";

export const noteOutcome = (turn: Turn, job: Job, ended: Omit<Outcome, "jobId" | "keyId" | "at">): void => {
  const member = turn.memory.fleet.get(job.assignedWorker);
  if (member === undefined) return;
  const outcome = { ...ended, jobId: job.id, keyId: job.keyId, at: turn.nowAt };
  const next = recordOutcome(member.worker, outcome);
  const why = isJudged(turn, next, outcome) ? streakOf(next, turn.nowAt) : null;
  if (why !== null && member.isConnected) {
    startTrial(turn, askTrial(next, why, turn.nowAt), job.model);
    return;
  }
  const judged = why === null ? next : restUnasked(next, why, turn.nowAt);
  if (judged.pause === next.pause) turn.rememberWorker(judged);
  else recordPause(turn, judged);
};

/** It may have to rest: not while it is tried, or gets no jobs anyway. */
const isJudged = (turn: Turn, worker: Worker, { outcome }: Pick<Outcome, "outcome">): boolean =>
  outcome === "failed" && worker.trial === null && pauseOf(worker, turn.nowAt) === null;

const startTrial = (turn: Turn, worker: Worker, model: string | null): void => {
  turn.putWorker(worker);
  turn.due(worker.trial?.untilAt ?? null);
  turn.send(worker.instance, { type: "runtime.try", model });
};

/** Stores what its jobs showed of it, with the pause that this may bring. */
const putJudged = (turn: Turn, before: Worker, judged: Worker): void => {
  if (judged.pause !== before.pause) recordPause(turn, judged);
  else turn.putWorker(judged);
};

/** A worker's answer after it tried its runtime; `error` is null if the runtime works. An answer to nothing is no news. */
export const noteTried = (turn: Turn, instance: string, error: string | null): Result<null, Refusal> => {
  const worker = turn.memory.fleet.get(instance)?.worker;
  if (worker !== undefined && worker.trial !== null) putJudged(turn, worker, judgeTrial(worker, error, turn.nowAt));
  return ok(null);
};

/** Of workers whose time to answer is over. */
export const endTrials = (turn: Turn): void => {
  for (const { worker } of [...turn.memory.fleet.timed()]) {
    const judged = endTrial(worker, turn.nowAt);
    if (judged !== worker) putJudged(turn, worker, judged);
  }
};

/**
 * It let leases expire: one sweep counts once. Not counted if the worker was silent or cut off, because it could not
 * know of them.
 */
export const noteExpiredLeases = (turn: Turn, instance: string): void => {
  const member = turn.memory.fleet.get(instance);
  if (member === undefined || isCutOff(member) || isSilent(turn, member)) return;
  putJudged(turn, member.worker, recordExpiredLease(member.worker, turn.nowAt));
};

/** Its runtime answered that it does not have the job's model: neither new jobs nor the conversation stay with it. */
export const noteMissingModel = (turn: Turn, { model, frontDoor, assignedWorker }: Job): void => {
  const worker = turn.memory.fleet.get(assignedWorker)?.worker;
  if (worker === undefined || model === null) return;
  const next = recordMissing(worker, model, turn.nowAt);
  turn.putWorker(next);
  turn.due(next.missingModels.at(-1)?.untilAt ?? null);
  if (frontDoor?.session != null) turn.memory.affinity.forget(frontDoor.session, worker.instance);
};

/** Stores an automatic pause, sends it to the worker and audits it. */
const recordPause = (turn: Turn, worker: Worker): void => {
  turn.putWorker(worker);
  const reason = worker.pause?.reason ?? "";
  turn.reopenAvoiding();
  turn.send(worker.instance, { type: "worker.paused", reason });
  turn.audit("worker.paused", worker.instance, { reason }, SERVICE_ACTOR);
};
