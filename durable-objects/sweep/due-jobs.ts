// Jobs whose time has come: they become ready, their lease or their patience ends, or they leave.

import { maxAttemptsOf, timeoutOf } from "../../domain/config.ts";
import { giveUpWaiting, moveOn, waitedInVain } from "../../domain/front-door/front-door.ts";
import type { Decision, Job } from "../../domain/job/job.ts";
import { expireLease, reapJob, timeOutJob } from "../../domain/job/lease.ts";
import { makeReady } from "../../domain/job/queue-place.ts";
import { isOnlyFull } from "../../domain/routing/explanation.ts";
import { nextChoice } from "../placing/next-choice.ts";
import { refuseGroups } from "../placing/room.ts";
import { routePolicy, routeRequest } from "../placing/route-policy.ts";
import { pendingReason } from "../placing/waiting-reason.ts";
import { noteExpiredLeases } from "../steps/outcomes.ts";
import { dueAtOf, firstTokenDueAt, staleAtOf, timeoutAtOf } from "../turn/deadline.ts";
import type { Turn } from "../turn/turn.ts";

const JOBS_A_SWEEP = 500;
const REMOVED_A_SWEEP = 2_000;
const GROUP_WAIT_MS = 5_000;

export const attendDueJobs = (turn: Turn): void => {
  const idlers = new Set<string>();
  for (const job of turn.store.jobs.due(turn.nowAt, JOBS_A_SWEEP)) attend(turn, job, idlers);
  for (const instance of idlers) noteExpiredLeases(turn, instance);
  removeFinal(turn);
};

/** By its status. `idlers`: workers that have let a lease expire unstarted. */
const attend = (turn: Turn, job: Job, idlers: Set<string>): void => {
  if (job.status === "pending") attendPending(turn, job);
  else if (job.status === "assigned") {
    if (job.assignedWorker !== null) idlers.add(job.assignedWorker);
    turn.sendHalt(job, "not started in time");
    turn.record(job, expireLease(job, turn.nowAt));
  } else attendRunning(turn, job);
};

const attendPending = (turn: Turn, job: Job): void => {
  const isReady = job.readyAt !== null && job.readyAt <= turn.nowAt;
  if (isReady && refuseGroups(turn, [job.groupKey]).ok) turn.record(job, makeReady(job));
  else if (job.queueUntilAt !== null && job.queueUntilAt <= turn.nowAt) endWaiting(turn, job);
  else if (isReady) waitForAGroup(turn, job);
};

const endWaiting = (turn: Turn, job: Job): void => {
  const policy = routePolicy(turn);
  const isFull = isOnlyFull(turn.memory.fleet, routeRequest(turn, job), policy);
  const error = waitedInVain(job, pendingReason(turn, job, policy), isFull);
  const next = nextChoice(turn, job, error, null, !isFull);
  if (next === null) turn.record(job, giveUpWaiting(job, error, turn.nowAt));
  else turn.record(job, isFull ? withoutWaiting(next, job) : next);
};

/** It has waited for a free place, and does not wait for a second one, which others may take before it. */
const withoutWaiting = (next: Decision, { queueUntilAt }: Job): Decision => ({
  ...next,
  job: { ...next.job, queueUntilAt },
});

/** Too many groups wait: it is looked at again when some of them may have run. */
const waitForAGroup = (turn: Turn, job: Job): void =>
  lookAgain(turn, job, Math.min(turn.nowAt + GROUP_WAIT_MS, job.queueUntilAt ?? Infinity));

const lookAgain = (turn: Turn, job: Job, dueAt: number | null): void => {
  turn.touch(job, dueAt);
  turn.due(dueAt);
};

/** Final jobs leave once history has their last change; until then they are not looked at again. */
const removeFinal = (turn: Turn): void => {
  const { jobs, outbox } = turn.store;
  const goneSeq = outbox.goneSeq();
  const gone = jobs.removable(turn.nowAt, goneSeq, REMOVED_A_SWEEP);
  if (gone.length > 0) jobs.removeMany(gone);
  jobs.forgetEnded(turn.nowAt);
  jobs.shelve(turn.nowAt, goneSeq);
};

const attendRunning = (turn: Turn, job: Job): void => {
  const { config } = turn.memory;
  const timeoutAt = timeoutAtOf(job, config);
  const timeoutMs = timeoutOf(config, job);
  const staleAt = staleAtOf(job, turn.memory);
  const firstTokenAt = firstTokenDueAt(job, config);
  if (firstTokenAt !== null && firstTokenAt <= turn.nowAt) {
    turn.sendHalt(job, "it said nothing");
    turn.record(job, moveOn(job, config.frontDoor.firstTokenMs ?? 0, maxAttemptsOf(config, job), turn.nowAt));
    return;
  }
  // After an outage both may have passed; the earlier one is what happened.
  const isSilentFirst = staleAt !== null && timeoutAt !== null && staleAt < timeoutAt;
  if (!isSilentFirst && timeoutAt !== null && timeoutMs !== null && timeoutAt <= turn.nowAt) {
    turn.sendHalt(job, "timed out");
    turn.record(job, timeOutJob(job, timeoutMs, turn.nowAt));
  } else if (staleAt !== null && staleAt <= turn.nowAt) {
    turn.sendHalt(job, "no heartbeat");
    turn.record(job, reapJob(job, maxAttemptsOf(config, job), turn.nowAt));
  }
  // There are heartbeats that its row does not have.
  else lookAgain(turn, job, dueAtOf(job, turn.memory));
};
