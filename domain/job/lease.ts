// The lease: who holds a job, and what the holder may report. A (job, lease) pair is given to one worker once. A report
// with any other lease changes nothing (409 lease_lost); a repeated report is answered again.

import { haltReason } from "../words/halt-reason.ts";
import type { Json } from "../words/json.ts";
import type { Refusal } from "../words/refusal.ts";
import { err, ok, type Result } from "../words/result.ts";
import { releaseDelayMs } from "./backoff.ts";
import type { Charge } from "./fair-order.ts";
import { changeJob, type Decision, type Job, type JobError, jobEvent, NO_PLACE, type ResultFile } from "./job.ts";
import { streamLost } from "./job-error.ts";
import { asRunning, failed, hasFirstToken, holds, leaseLost, type Spent, started, unchanged } from "./lease-fence.ts";
import { type Delayed, requeueJob } from "./queue-place.ts";

export const assignJob = (
  job: Job,
  worker: { instance: string; provider: string },
  routing: Json,
  nowAt: number,
  share: Charge | null = null,
): Decision => {
  const next = changeJob(
    job,
    {
      status: "assigned",
      ...NO_PLACE,
      assignedWorker: worker.instance,
      workerProvider: worker.provider,
      lease: job.lease + 1,
      settledBy: null,
      share,
      assignedAt: nowAt,
    },
    nowAt,
  );
  return { job: next, events: [jobEvent(next, "job.assigned", nowAt, routing)] };
};

export const startJob = (job: Job, lease: number, nowAt: number): Result<Decision, Refusal> => {
  if (!holds(job, lease)) return err(leaseLost(job, lease));
  if (job.status === "running") return ok(unchanged(job));
  const next = started(job, nowAt);
  return ok({ job: next, events: [jobEvent(next, "job.started", nowAt)] });
};

/**
 * Keeps a job from being reaped. The heartbeat is stored only if it brings progress or the stored one is older than
 * `storeAfterMs`. It makes no new version, so history gets nothing.
 */
export const heartbeatJob = (
  job: Job,
  lease: number,
  progress: Json | undefined,
  storeAfterMs: number,
  nowAt: number,
): Result<Decision, Refusal> => {
  if (!holds(job, lease)) return err(leaseLost(job, lease));
  if (job.status === "assigned") return ok(startedBy(job, progress, nowAt));
  const isFresh = job.heartbeatAt !== null && nowAt - job.heartbeatAt < storeAfterMs;
  if (isFresh && progress === undefined) return ok(unchanged(job));
  return ok({ job: { ...job, heartbeatAt: nowAt, progress: progress ?? job.progress }, events: [] });
};

/** A report on work whose start was not reported. */
const startedBy = (job: Job, progress: Json | undefined, nowAt: number): Decision => {
  const next = { ...started(job, nowAt), progress: progress ?? null };
  return { job: next, events: [jobEvent(next, "job.started", nowAt)] };
};

/** Heard of in the future, as the clock was set back: the attempt counts from now, and history hears of its other start. */
export const heardAgain = (job: Job, nowAt: number): Decision => {
  if (job.startedAt === null || job.startedAt <= nowAt) return { job: { ...job, heartbeatAt: nowAt }, events: [] };
  const firstTokenAt = job.firstTokenAt && nowAt;
  const next = changeJob(job, { startedAt: nowAt, firstTokenAt, heartbeatAt: nowAt }, nowAt);
  return { job: next, events: [jobEvent(next, "job.started", nowAt, { reason: "the clock was set back" })] };
};

/** The first token: from now on the client's output comes from this attempt or from none. */
export const recordFirstToken = (job: Job, lease: number, nowAt: number): Result<Decision, Refusal> => {
  if (!holds(job, lease)) return err(leaseLost(job, lease));
  if (job.firstTokenAt !== null) return ok(unchanged(job));
  const next = changeJob(asRunning(job, nowAt), { firstTokenAt: nowAt, heartbeatAt: nowAt }, nowAt);
  return ok({ job: next, events: [jobEvent(next, "job.streaming", nowAt)] });
};

export const completeJob = (
  job: Job,
  lease: number,
  report: { result: Json; resultFile?: Job["resultFile"]; streamedBytes?: number | null } & Spent,
  nowAt: number,
): Result<Decision, Refusal> => {
  if (job.lease === lease && job.settledBy === "completed") return ok(unchanged(job));
  if (!holds(job, lease)) return err(leaseLost(job, lease));
  const running = asRunning(job, nowAt);
  const { model, resultFile, streamedBytes } = report;
  const next = changeJob(
    running,
    {
      status: "completed",
      settledBy: "completed",
      error: null,
      progress: null,
      usage: report.usage,
      costNanoUsd: report.costNanoUsd,
      ranModel: model ?? running.ranModel,
      resultFile: resultFile ?? running.resultFile,
      resultBytes: streamedBytes ?? resultFile?.bytes ?? running.resultBytes,
      finishedAt: nowAt,
    },
    nowAt,
  );
  return ok({ job: next, result: report.result, events: [jobEvent(next, "job.completed", nowAt)] });
};

/** Failed by the service, not by the worker: a later report is late, not repeated. */
const failedUnreported = (job: Job, error: JobError, nowAt: number): Decision =>
  failed(job, { usage: null, costNanoUsd: null }, error, nowAt, null);

/** A file that it needs was deleted or has ended: no worker gets it. */
export const failForFile = (job: Job, fileId: string, nowAt: number): Decision =>
  failedUnreported(job, { code: "file_gone", message: `file ${fileId} is gone`, retryable: false }, nowAt);

/** Its worker has stored an output. Repeating it changes nothing. */
export const addOutput = (job: Job, lease: number, file: ResultFile, nowAt: number): Result<Decision, Refusal> => {
  if (!holds(job, lease)) return err(leaseLost(job, lease));
  if (job.resultFiles.some(({ id }) => id === file.id)) return ok(unchanged(job));
  const next = changeJob(asRunning(job, nowAt), { resultFiles: [...job.resultFiles, file], heartbeatAt: nowAt }, nowAt);
  return ok({ job: next, events: [jobEvent(next, "job.updated", nowAt, { result_file: file.id, name: file.name })] });
};

/** Given back unworked, by its worker or by the killswitch: costs no attempt. */
const givenBack = (
  job: Job,
  why: { readonly type: "job.released" | "job.halted"; readonly reason: string },
  nowAt: number,
  delay: Delayed | null,
  changes: Partial<Job>,
): Decision => {
  const attempts = job.status === "running" ? job.attempts - 1 : job.attempts;
  const next = requeueJob(job, nowAt, delay, { attempts, ...changes });
  return { job: next, events: [jobEvent(job, why.type, nowAt, { reason: why.reason })] };
};

export const releaseJob = (job: Job, lease: number, reason: string, nowAt: number): Result<Decision, Refusal> => {
  if (job.lease === lease && job.settledBy === "released") return ok(unchanged(job));
  if (!holds(job, lease)) return err(leaseLost(job, lease));
  if (hasFirstToken(job)) return ok(loseBegunAnswer(job, `stopped (${reason})`, nowAt));
  const releases = job.releases + 1;
  const delayMs = releaseDelayMs(releases);
  const delay: Delayed = { until: nowAt + delayMs, by: "release" };
  const changes = { settledBy: "released", releases } as const;
  return ok(givenBack(job, { type: "job.released", reason }, nowAt, delay, changes));
};

/** Ends an attempt whose worker is gone after the client received part of the answer. */
const loseBegunAnswer = (job: Job, how: string, nowAt: number): Decision => {
  const message = `the worker ${how} while it was answering`;
  return failedUnreported(job, { code: "worker_lost", message, retryable: true }, nowAt);
};

/** How a worker is lost: the event, the words for the operator, and those for the client. */
const LOST = { type: "job.lost", says: "its worker lost it", workerDid: "was lost" } as const;
const REAPED = { type: "job.reaped", says: "its worker fell silent", workerDid: "fell silent" } as const;

/** Ends a begun answer whose job has left its worker since, with the worker's error if it reported one. */
export const failBegunAnswer = (job: Job, nowAt: number): Decision =>
  job.error === null ? loseBegunAnswer(job, LOST.workerDid, nowAt) : failedUnreported(job, job.error, nowAt);

/** Its client got the error that the stream is lost. */
export const failStream = (job: Job, nowAt: number): Decision => failedUnreported(job, streamLost, nowAt);

/** The worker's own job list no longer names this job, or the worker is gone. */
export const loseJob = (job: Job, maxAttempts: number, nowAt: number): Decision => {
  const reason = "its worker no longer works on it";
  return workerLost(job, maxAttempts, { ...LOST, detail: { reason } }, nowAt);
};

/** The killswitch below level 4: back to the queue. */
export const haltJob = (job: Job, level: number, nowAt: number): Decision =>
  givenBack(job, { type: "job.halted", reason: haltReason(level) }, nowAt, null, { settledBy: null });

/** A lease that was not started in time goes to the next worker. */
export const expireLease = (job: Job, nowAt: number): Decision => {
  const next = requeueJob(job, nowAt, null);
  return { job: next, events: [jobEvent(job, "job.accept_expired", nowAt)] };
};

/** A job whose worker fell silent. */
export const reapJob = (job: Job, maxAttempts: number, nowAt: number): Decision => {
  const silentSince = job.heartbeatAt === null ? null : new Date(job.heartbeatAt).toISOString();
  const detail = { silent_since: silentSince };
  return workerLost(job, maxAttempts, { ...REAPED, detail }, nowAt);
};

/** An attempt whose worker was lost counts: back to the queue while attempts are left, else the job fails. */
const workerLost = (
  job: Job,
  maxAttempts: number,
  how: (typeof LOST | typeof REAPED) & { readonly detail: Record<string, Json> },
  nowAt: number,
): Decision => {
  if (hasFirstToken(job)) return loseBegunAnswer(job, how.workerDid, nowAt);
  if (job.status === "running" && job.attempts >= maxAttempts) {
    const message = `${how.says} on attempt ${job.attempts} of ${maxAttempts}`;
    return failedUnreported(job, { code: "attempts_exhausted", message, retryable: true }, nowAt);
  }
  const next = requeueJob(job, nowAt, null, { settledBy: null });
  const detail = { ...how.detail, attempt: job.attempts, of: maxAttempts };
  return { job: next, events: [jobEvent(job, how.type, nowAt, detail)] };
};

export const timeOutJob = (job: Job, timeoutMs: number, nowAt: number): Decision => {
  const error: JobError = { code: "timeout", message: `ran longer than ${timeoutMs / 1000} s`, retryable: false };
  const decision = failedUnreported(job, error, nowAt);
  return { ...decision, events: [jobEvent(decision.job, "job.timed_out", nowAt, { ...error })] };
};
