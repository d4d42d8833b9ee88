// What jobs show of their workers: how they end there, which leases are left to expire, and the pause that may follow.

import { SERVICE_ACTOR } from "../../domain/event.ts";
import { isCutOff } from "../../domain/fleet.ts";
import type { Job } from "../../domain/job.ts";
import { type Outcome, recordExpiredLease, recordMissing, recordOutcome, type Worker } from "../../domain/worker.ts";
import { isSilent } from "./last-sign.ts";
import type { Turn } from "./turn.ts";

export const noteOutcome = (turn: Turn, job: Job, ended: Omit<Outcome, "jobId" | "at">): void => {
  const worker = job.assignedWorker === null ? undefined : turn.memory.fleet.get(job.assignedWorker)?.worker;
  if (worker === undefined) return;
  const next = recordOutcome(worker, { ...ended, jobId: job.id, at: turn.nowAt });
  if (next.pause !== worker.pause) recordPause(turn, next);
  else turn.rememberWorker(next);
};

/**
 * It let leases expire: one sweep counts once. Not counted if the worker was silent or cut off, because it could not
 * know of them.
 */
export const noteExpiredLeases = (turn: Turn, instance: string): void => {
  const member = turn.memory.fleet.get(instance);
  if (member === undefined || isCutOff(member) || isSilent(turn, member)) return;
  const { worker } = member;
  const next = recordExpiredLease(worker, turn.nowAt);
  if (next.pause !== worker.pause) recordPause(turn, next);
  else turn.putWorker(next);
};

/** Its runtime answered that it does not have the job's model: neither new jobs nor the conversation stay with it. */
export const noteMissingModel = (turn: Turn, { model, frontDoor, assignedWorker }: Job): void => {
  const worker = assignedWorker === null ? undefined : turn.memory.fleet.get(assignedWorker)?.worker;
  if (worker === undefined || model === null) return;
  const next = recordMissing(worker, model, turn.nowAt);
  turn.putWorker(next);
  turn.due(next.missingModels.at(-1)?.untilAt ?? null);
  if (frontDoor?.session != null) turn.memory.affinity.forget(frontDoor.session, worker.instance);
};

/** Stores an automatic pause, tells the worker and audits it. */
const recordPause = (turn: Turn, worker: Worker): void => {
  turn.putWorker(worker);
  const reason = worker.pause?.reason ?? "";
  turn.reopenAvoiding();
  turn.send(worker.instance, { type: "worker.paused", reason });
  turn.audit("worker.paused", worker.instance, { reason }, SERVICE_ACTOR);
};
