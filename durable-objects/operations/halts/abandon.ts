// Jobs that a client waits for and that end early, because their client is gone or may not wait any longer.

import { isLeased, isWaitedFor, type Job, type JobError } from "../../../domain/job/job.ts";
import { cancelJob } from "../../../domain/job/job-command.ts";
import {
  clientClosed,
  keyEnded,
  killswitchError,
  secretEnded,
  slowReader,
  streamLost,
} from "../../../domain/job/job-error.ts";
import { failBegunAnswer, failStream } from "../../../domain/job/lease.ts";
import { isFinal } from "../../../domain/words/job-status.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import { ok, type Result } from "../../../domain/words/result.ts";
import { forgetAsk } from "../../steps/idempotency.ts";
import { recordLost } from "../../steps/lost-jobs.ts";
import { allowReading } from "../../steps/reading.ts";
import type { Turn } from "../../turn/turn.ts";

/** `lost`: the client got the error that its stream broke off. */
type WhyAbandoned = "left" | "slow" | "lost";

/** The client left, reads too slowly, or got an error in its stream: ends the job. Returns whether there is one. */
export const abandon = (turn: Turn, { id, why }: { id: string; why: WhyAbandoned }): Result<boolean, Refusal> => {
  const job = turn.store.jobs.find(id);
  if (job === null || !isWaitedFor(job)) return ok(false);
  if (isFinal(job.status)) return ok(true);
  const allowed = allowReading(turn, job);
  if (!allowed.ok) return allowed;
  if (why === "lost") {
    loseStream(turn, { jobId: id, lease: job.lease });
    return ok(true);
  }
  turn.memory.counters.streamsAbandoned += 1;
  const { idempotencyKey } = job.frontDoor ?? {};
  if (idempotencyKey !== undefined) forgetAsk(turn, job.keyId, idempotencyKey);
  endJob(turn, job, why === "slow" ? slowReader : clientClosed);
  return ok(true);
};

/** A client got the error that this attempt's stream is lost: no other answer can follow it. */
export const loseStream = (turn: Turn, { jobId, lease }: { jobId: string; lease: number }): void => {
  const job = turn.store.jobs.find(jobId);
  if (job === null || !isWaitedFor(job) || job.lease !== lease || isFinal(job.status)) return;
  turn.sendHalt(job, streamLost.code);
  turn.record(job, failStream(job, turn.nowAt));
};

/** Whether the worker was given this job under this lease, and no other got it since. */
export const isGivenTo = (
  turn: Turn,
  instance: string,
  { jobId, lease }: { jobId: string; lease: number },
): boolean => {
  const job = turn.store.jobs.find(jobId);
  return job !== null && job.lease === lease && job.assignedWorker === instance;
};

const endJob = (turn: Turn, job: Job, error: JobError): void => {
  const decided = cancelJob(job, turn.nowAt, error.code, error);
  if (!decided.ok) return;
  turn.sendHalt(job, error.code);
  turn.record(job, decided.value);
};

/** Its client has received part of an attempt that has ended, although the worker never reported its first output. */
export const endBegunAnswer = (turn: Turn, id: string): void => {
  const job = turn.store.jobs.find(id);
  if (job === null || !isWaitedFor(job) || isFinal(job.status)) return;
  turn.sendHalt(job, "worker_lost");
  turn.record(job, failBegunAnswer(job, turn.nowAt));
};

/** The killswitch at any level ends front-door jobs, because a client is waiting. Returns how many were leased. */
export const haltFrontDoor = (turn: Turn, level: number, reason: string | null): number => {
  let leased = 0;
  for (const job of turn.store.jobs.openOfFrontDoor()) {
    if (job.assignedWorker !== null) leased += 1;
    endJob(turn, job, killswitchError(level, reason));
  }
  return leased;
};

/** A key, or a secret of it, has ended: ends the front-door jobs that came with none of its `live` secrets. */
export const endAsksOf = (
  turn: Turn,
  keyId: string,
  live: readonly string[],
  why = live.length === 0 ? keyEnded : secretEnded,
): void => {
  for (const job of turn.store.jobs.openOfFrontDoor()) {
    const { openedWith, idempotencyKey } = job.frontDoor ?? {};
    if (job.keyId !== keyId || (live.length > 0 && (openedWith === undefined || live.includes(openedWith)))) continue;
    if (idempotencyKey !== undefined) forgetAsk(turn, keyId, idempotencyKey);
    endJob(turn, job, why);
  }
};

/** How long a worker's socket may be gone before its front-door jobs go elsewhere. */
export const SOCKET_GRACE_MS = 5_000;

/** The worker's socket has been gone too long for a waiting client. Its other jobs wait for the reaper. */
export const loseWaitedFor = (turn: Turn, instance: string): void => {
  for (const job of turn.store.jobs.leasedBy(instance)) {
    if (isWaitedFor(job)) recordLost(turn, job);
  }
};

/** `whole`: completed. An error: how the reader's stream ends. */
export type AttemptEnd = "open" | "whole" | Pick<JobError, "code" | "message" | "status">;

/** How an attempt ended, for a relay that has not received its end. */
export const attemptEnd = (turn: Turn, { jobId, lease }: { jobId: string; lease: number }): AttemptEnd => {
  const job = turn.store.jobs.find(jobId);
  if (job === null) return { code: "stream_lost", message: "the job has ended: read it for its result" };
  if (job.lease !== lease) return { code: "worker_lost", message: "the job goes on with another worker" };
  if (isLeased(job)) return "open";
  if (job.status === "completed") return "whole";
  return job.error ?? { code: "worker_lost", message: "the worker no longer has the job" };
};
