// What must be true after every step. Each check reads the databases and the world's record, and returns what is wrong.

import { isLeased, type Job } from "../../../domain/job/job.ts";
import { isFinal } from "../../../domain/words/job-status.ts";
import { JOURNAL_ROOM } from "../../../durable-objects/store/journal.ts";
import { ROW_ROOM } from "../../../durable-objects/turn/outbox-writer.ts";
import { keyLimitsHold, openJobsAreCounted } from "../actors/key-limits.ts";
import { endpointsAreServedFairly, eventsAreDelivered, silenceIsToldOnce } from "../actors/receiver.ts";
import { viewersMissNothing } from "../actors/viewers.ts";
import { FAILED_SWEEP_RETRY_MS } from "../platform/shell.ts";
import type { World } from "../world.ts";
import { answersAreAudited } from "./audit.ts";
import { turnsAreFair } from "./fairness.ts";
import { filesHold, storedAnswersHold } from "./files.ts";
import {
  capacityHolds,
  fallbacksWait,
  onlyFitWorkersAreGiven,
  onlyWhereItsModelIs,
  providerLimitHolds,
  theLockedOutAreGivenNothing,
  theSilentAreGivenNothing,
} from "./given-leases.ts";
import { checkHistory, historyKeepsWhatLeft } from "./history-invariants.ts";
import {
  countersEqualEvents,
  indexesEqualTables,
  nobodyWaitsInVain,
  wakingChangesNothing,
} from "./memory-invariants.ts";
import { budgetsHold } from "./money.ts";
import {
  attemptsAreBounded,
  backoffsAreLongEnough,
  backoffsOnlyGrow,
  frontDoorIsNotHeld,
  groupsKeepTheirOrder,
  killswitchLevelsHold,
  missedRunsAreCounted,
  nobodyIsReapedEarly,
  noSecondBeginning,
  schedulesDoNotOverlap,
  waitsAreWaited,
} from "./promises.ts";
import type { Snapshot } from "./snapshot.ts";
import { wakingKnowsTheSame } from "./waking.ts";

export type Check = (before: Snapshot, now: Snapshot, world: World) => string | null;

const acceptedIsDurable: Check = (_before, now, { model }) => {
  for (const { job } of now.changed) {
    const prompt = model.accepted.get(job.id);
    if (prompt !== undefined && now.prompts.get(job.id) !== prompt) return `job ${job.id} is here without its prompt`;
  }
  const lost = model.newlyAccepted.find((id) => !now.jobs.has(id) && !model.seen.has(id));
  return lost === undefined ? null : `job ${lost} was answered and never seen`;
};

const nobodyAskedTwice: Check = (_before, now, { model }) => {
  for (const id of now.reread) {
    const prompt = now.prompts.get(id);
    if (prompt === undefined) continue;
    if (!now.jobs.has(id)) return `payload of job ${id} outlives it`;
    if (model.schedulePrompts.has(prompt) || model.askedAgain.has(prompt)) continue;
    const other = model.madeOf.get(prompt) ?? id;
    if (other !== id && now.prompts.get(other) === prompt) return `one request made jobs ${other} and ${id}`;
    model.madeOf.set(prompt, id);
    if (!model.asked.has(prompt)) return `job ${id} was never asked for`;
  }
  return null;
};

const refusedLeavesNothing: Check = (_before, now, { model }) => {
  const isNews = model.refused.size !== model.refusedCount;
  model.refusedCount = model.refused.size;
  for (const id of isNews ? now.prompts.keys() : now.reread) {
    if (model.refused.has(now.prompts.get(id) ?? "")) return `job ${id} was refused, and is here`;
  }
  return null;
};

const oneHolderALease: Check = (_before, now, { model }) => {
  for (const { job, worker } of now.changed) {
    if (isLeased(job) !== (worker !== null)) return `job ${job.id} is ${job.status} with worker ${worker} in its row`;
    if (!isLeased(job)) continue;
    const key = `${job.id}/${job.lease}`;
    const holder = model.holders.get(key);
    if (job.assignedWorker === null) return `job ${job.id} is ${job.status} with nobody`;
    if (holder !== undefined && holder !== job.assignedWorker)
      return `lease ${key} belongs to ${job.assignedWorker}, and was given to ${holder}`;
    model.holders.set(key, job.assignedWorker);
  }
  return null;
};

/** Under the lease of the reported result, and no other. */
const lateReportsChangeNothing: Check = (_before, now, { model }) => {
  for (const { job } of now.changed) {
    if (job.status !== "completed") continue;
    const result = JSON.parse(now.results.get(job.id) ?? "null") as { report: number } | null;
    const report = result === null ? undefined : model.reports[result.report];
    if (report === undefined) return `job ${job.id} is completed without a result`;
    if (report.jobId !== job.id || report.lease !== job.lease)
      return `job ${job.id} was completed under lease ${report.lease}, and its lease is ${job.lease}`;
  }
  return null;
};

const killswitchHolds: Check = (_before, now, { model }) => {
  if (now.killswitch.level === 0) return null;
  const leased = [...now.jobs.values()].find(({ job }) => isLeased(job));
  if (leased !== undefined) return `job ${leased.job.id} is ${leased.job.status} at level ${now.killswitch.level}`;
  const free = [...now.workers.values()].find(({ instance, isHalted }) => !isHalted && !model.resumed.has(instance));
  return free === undefined ? null : `${free.instance} is not paused at level ${now.killswitch.level}`;
};

const finalIsFinal: Check = (_before, now, { model }) => {
  for (const { job } of now.changed) {
    const last = model.seen.get(job.id)?.job;
    if (last === undefined) continue;
    if (job.version < last.version) return `job ${job.id} went back from version ${last.version} to ${job.version}`;
    if (job.lease < last.lease) return `job ${job.id} went back from lease ${last.lease} to ${job.lease}`;
    if (job.version === last.version && (job.status !== last.status || job.lease !== last.lease))
      return `job ${job.id} changed from ${last.status} to ${job.status} within version ${job.version}`;
    if (!isFinal(last.status) || job.status === last.status) continue;
    if (last.status !== "failed" || !model.retried.has(job.id))
      return `job ${job.id} was ${last.status}, and is ${job.status}`;
  }
  return null;
};

const completionsStand: Check = (_before, now, { model }) => {
  const isBroken = (job: Job | undefined, lease: number): boolean => job?.status !== "completed" || job.lease !== lease;
  const tell = (id: string, job: Job | undefined): string =>
    `the completion of job ${id} was acknowledged, and it is ${job?.status} under lease ${job?.lease}`;
  for (const { job } of now.changed) {
    const lease = model.completed.get(job.id);
    if (lease !== undefined && isBroken(job, lease)) return tell(job.id, job);
  }
  // What was acknowledged since the last check need not have changed since.
  for (const id of model.newlyCompleted) {
    const job = now.jobs.get(id)?.job ?? model.seen.get(id)?.job;
    if (isBroken(job, model.completed.get(id) ?? 0)) return tell(id, job);
  }
  model.newlyCompleted = [];
  return null;
};

const FULL_HALT = 4;
/** Beside a webhook that does not answer, another one that does not may have to wait. */
const ALWAYS_ALLOWED_UNDER_WAY = 1;
/** A due delivery waits for room; an object that died with deliveries in progress has lost count of them. */
const ROOM_WITHIN_MS = 5_000;
const HISTORY_RETRY_MAX_MS = 90_000;

/** When the oldest job of the journal goes to a table, if history has its first row, which is kept for it. */
const leavesJournalAt = ({ jobs, drainedSeq }: Snapshot): number | null => {
  let oldestSeq = drainedSeq;
  let at: number | null = null;
  for (const { job, beganSeq } of jobs.values()) {
    if (beganSeq === null || beganSeq > oldestSeq) continue;
    const leavesAt = job.createdAt + JOURNAL_ROOM.stayMs;
    at = beganSeq === oldestSeq ? Math.max(at ?? leavesAt, leavesAt) : leavesAt;
    oldestSeq = beganSeq;
  }
  return at;
};

/** The outbox may wait for its back-off, and overdue work for a failed sweep; nothing else may wait. */
const dueMeansAlarm: Check = (_before, now, { shell }) => {
  if (now.isMoved) return null;
  let dueAt = Number.POSITIVE_INFINITY;
  const note = (at: number | null): void => {
    if (at !== null && at < dueAt) dueAt = at;
  };
  for (const row of now.jobs.values()) note(row.dueAt);
  note(leavesJournalAt(now));
  for (const untilAt of now.backoffs.values()) note(untilAt);
  for (const expiresAt of Object.values(now.expiries)) note(expiresAt);
  for (const { pause, opening } of now.workers.values()) {
    note(pause?.untilAt ?? null);
    note(opening?.changesAt ?? null);
  }
  for (const { nextRunAt } of now.schedules) note(nextRunAt);
  note(now.budgetEndsAt);
  const hasRoom = shell.memory !== null && shell.memory.deliveries.underWay.size < ALWAYS_ALLOWED_UNDER_WAY;
  const seenAt = Math.max(now.nowAt, shell.clock.setBackFromAt);
  const roomAt = hasRoom ? Number.NEGATIVE_INFINITY : seenAt + ROOM_WITHIN_MS;
  if (now.killswitch.level < FULL_HALT)
    for (const { nextAttemptAt } of now.deliveries.values())
      note(nextAttemptAt === null ? null : Math.max(nextAttemptAt, roomAt));
  if (now.outboxOldestAt !== null) note(Math.max(now.outboxOldestAt, seenAt) + HISTORY_RETRY_MAX_MS);
  if (!Number.isFinite(dueAt)) return null;
  // What was delayed until now, or until just before the clock was set back, is overdue.
  const latestAt = Math.max(dueAt, seenAt, shell.brokenAt + FAILED_SWEEP_RETRY_MS);
  if (now.alarmAt === null || now.alarmAt > latestAt)
    return `something is due at ${dueAt}, and the alarm comes at ${now.alarmAt}`;
  return null;
};

/** Every job that may not run now and is not running has an instant at which it is looked at. */
const everyJobGoesOn: Check = (_before, now) => {
  for (const { job, orderKey, dueAt } of now.changed) {
    if (job.status === "pending" && orderKey === null && dueAt === null) return `job ${job.id} waits for nothing`;
    if (job.status !== "pending" && orderKey !== null) return `job ${job.id} is ${job.status}, and in the queue`;
    if (job.status === "assigned" && dueAt === null) return `job ${job.id} may stay assigned for ever`;
  }
  return null;
};

const retriesAreBounded: Check = (before, now, { model }) => {
  for (const { job } of now.changed) {
    // A line of a batch waits as often as it must.
    if (job.rateLimitRetries === 0 || job.batch !== null) continue;
    // A command may have brought it back from history.
    const was = before.jobs.get(job.id)?.job ?? model.seen.get(job.id)?.job;
    const provider = job.workerProvider ?? was?.workerProvider ?? null;
    const limits = [now, before].map(({ config }) =>
      provider === null ? null : (config.providers.get(provider)?.rateLimit?.maxRetries ?? 0),
    );
    const last = was?.rateLimitRetries ?? 0;
    const allowed = Math.max(...limits.map((limit) => limit ?? Number.POSITIVE_INFINITY));
    if (job.rateLimitRetries > last && job.rateLimitRetries > allowed)
      return `job ${job.id} was tried again ${job.rateLimitRetries} times, and ${allowed} are allowed`;
  }
  return null;
};

const spendingEqualsAttempts: Check = (_before, now, { model }) =>
  model.attemptedNanoUsd === now.spentNanoUsd
    ? null
    : `attempts cost ${model.attemptedNanoUsd}, and ${now.spentNanoUsd} was spent`;

const outboxOnlyGrows: Check = (before, now, { model }) => {
  if (now.drainedSeq < before.drainedSeq) return `history went back from row ${before.drainedSeq} to ${now.drainedSeq}`;
  const first = now.outbox[0]?.seq;
  return first !== undefined && first <= model.lastSeq ? `outbox row ${first} was used again` : null;
};

const ENTRY_CHARS = 200;
/** What one more decision adds to a row that is not full yet. */
const MOST_ADDED = 8;

const outboxRowsAreBounded: Check = (_before, now) => {
  const most = ROW_ROOM.chars / ENTRY_CHARS + MOST_ADDED;
  for (const { seq, entries } of now.outbox) {
    const count = entries.events.length + entries.attempts.length + entries.audit.length + entries.runs.length;
    if (count > most) return `outbox row ${seq} has ${count} entries, and is full with ${most}`;
  }
  return null;
};

/** By the sentence that each stands for, in the order of the checks. */
export const INVARIANTS: Readonly<Record<string, Check>> = {
  "an accepted job survives with its prompt": acceptedIsDurable,
  "one request makes at most one job": nobodyAskedTwice,
  "a refused creation leaves nothing": refusedLeavesNothing,
  "a lease is given to one worker": oneHolderALease,
  "a report under another lease changes nothing": lateReportsChangeNothing,
  "a worker's load stays within its concurrency": capacityHolds,
  "a provider's load stays within max_concurrent": providerLimitHolds,
  "under the killswitch nobody has anything": killswitchHolds,
  "only a live, matching, active worker is given a job": onlyFitWorkersAreGiven,
  "a fallback of the coordinator lets a worker of one's own go first": fallbacksWait,
  "a job runs only where its model is, as far as anybody knows": onlyWhereItsModelIs,
  "a silent worker is given nothing, whatever the clock does": theSilentAreGivenNothing,
  "a worker whose key was revoked is given nothing": theLockedOutAreGivenNothing,
  "final is final; versions and leases grow": finalIsFinal,
  "an acknowledged completion stands": completionsStand,
  "something due means an alarm no later than it": dueMeansAlarm,
  "no job is left waiting for nothing": everyJobGoesOn,
  "rate-limit retries are bounded": retriesAreBounded,
  "what was spent is what attempts cost": spendingEqualsAttempts,
  "outbox numbers only grow": outboxOnlyGrows,
  "an outbox row is bounded": outboxRowsAreBounded,
  "a group keeps its order": groupsKeepTheirOrder,
  "turns are fair": turnsAreFair,
  "a wait is waited": waitsAreWaited,
  "a back-off only grows": backoffsOnlyGrow,
  "a back-off is as long as was promised": backoffsAreLongEnough,
  "nobody is reaped early": nobodyIsReapedEarly,
  "attempts are bounded": attemptsAreBounded,
  "each level of the killswitch does what it says": killswitchLevelsHold,
  "the front door is not held by the killswitch": frontDoorIsNotHeld,
  "nothing runs again after its first word": noSecondBeginning,
  "runs of a schedule do not overlap": schedulesDoNotOverlap,
  "each due time of a schedule runs, or counts as missed": missedRunsAreCounted,
  "what an operator was answered stands in the audit": answersAreAudited,
  "a viewer misses nothing": viewersMissNothing,
  "a reached budget holds": budgetsHold,
  "a key's limits hold": keyLimitsHold,
  "a key's open jobs are counted": openJobsAreCounted,
  "webhooks hear of what happened, and of nothing else": eventsAreDelivered,
  "webhooks are served fairly": endpointsAreServedFairly,
  "webhooks are told of a worker's silence once": silenceIsToldOnce,
  "memory equals the tables": indexesEqualTables,
  "a file's bytes are those that were sent, and what is deleted stays away": filesHold,
  "a stored answer is its job's, and is counted": storedAnswersHold,
  "counters count what happened": countersEqualEvents,
  "waking changes nothing": wakingChangesNothing,
  "waking knows the same": wakingKnowsTheSame,
  "no waiting job has an eligible worker": nobodyWaitsInVain,
  "what leaves the object is in history": historyKeepsWhatLeft,
  "history agrees when the outbox is empty": checkHistory,
};
