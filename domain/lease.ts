// The lease: who holds a job, and what its holder may report. A (job, lease) pair is handed to one worker once;
// a report with any other lease changes nothing (409 lease_lost), and a report repeated is answered again.

import { rateLimitDelayMs, releaseDelayMs } from "./backoff.ts";
import {
  changeJob,
  type Decision,
  isLeased,
  type Job,
  type JobError,
  jobEvent,
  requeueJob,
  type Settlement,
  type Usage,
} from "./job.ts";
import type { Json } from "./json.ts";
import type { Refusal } from "./refusal.ts";
import { err, ok, type Result } from "./result.ts";

/** The specification's own words for a provider that will take no more. */
export const RATE_LIMIT_MESSAGE = "429 Too Many Requests / Rate limit exceeded";

export const assignJob = (
  job: Job,
  worker: { instance: string; provider: string },
  routing: Json,
  nowAt: number,
): Decision => {
  const next = changeJob(
    job,
    {
      status: "assigned",
      orderKey: null,
      readyAt: null,
      assignedWorker: worker.instance,
      workerProvider: worker.provider,
      lease: job.lease + 1,
      settledBy: null,
      assignedAt: nowAt,
      startedAt: null,
      heartbeatAt: null,
      progress: null,
    },
    nowAt,
  );
  return { job: next, events: [jobEvent(next, "job.assigned", nowAt, routing)] };
};

/** Its client has heard the beginning of an answer: no other attempt may continue or repeat it. */
export const hasSpoken = (job: Job): boolean => job.api !== null && job.firstTokenAt !== null;

const leaseLost = (job: Job, lease: number): Refusal => ({
  code: "lease_lost",
  id: job.id,
  lease,
  current: job.lease,
});

const holds = (job: Job, lease: number): boolean => isLeased(job) && job.lease === lease;

/** Nothing to change: the same report was taken before, or the beat brings nothing new. */
const unchanged = (job: Job): Decision => ({ job, events: [] });

export const startJob = (job: Job, lease: number, nowAt: number): Result<Decision, Refusal> => {
  if (!holds(job, lease)) return err(leaseLost(job, lease));
  if (job.status === "running") return ok(unchanged(job));
  const next = started(job, nowAt);
  return ok({ job: next, events: [jobEvent(next, "job.started", nowAt)] });
};

const started = (job: Job, nowAt: number): Job =>
  changeJob(
    job,
    {
      status: "running",
      startedAt: nowAt,
      heartbeatAt: nowAt,
      attempts: job.attempts + 1,
      ranProvider: job.workerProvider,
      ranModel: job.model,
    },
    nowAt,
  );

/** A job that is reported on is being worked on, whether its start was told or lost. */
const asRunning = (job: Job, nowAt: number): Job => (job.status === "assigned" ? started(job, nowAt) : job);

/**
 * Keeps a job from being reaped. The beat is stored only when it brings progress or the stored one is older
 * than `storeAfterMs`; it is no new version of the job, so history hears nothing of it.
 */
export const heartbeatJob = (
  job: Job,
  lease: number,
  progress: Json | undefined,
  storeAfterMs: number,
  nowAt: number,
): Result<Decision, Refusal> => {
  if (!holds(job, lease)) return err(leaseLost(job, lease));
  if (job.status === "assigned") return startJob(job, lease, nowAt);
  const isFresh = job.heartbeatAt !== null && nowAt - job.heartbeatAt < storeAfterMs;
  if (isFresh && progress === undefined) return ok(unchanged(job));
  return ok({ job: { ...job, heartbeatAt: nowAt, progress: progress ?? job.progress }, events: [] });
};

/** The first event with content: from here on what the client hears comes from this attempt or from none. */
export const speakFirst = (job: Job, lease: number, nowAt: number): Result<Decision, Refusal> => {
  if (!holds(job, lease)) return err(leaseLost(job, lease));
  if (job.firstTokenAt !== null) return ok(unchanged(job));
  const next = changeJob(asRunning(job, nowAt), { firstTokenAt: nowAt, heartbeatAt: nowAt }, nowAt);
  return ok({ job: next, events: [jobEvent(next, "job.streaming", nowAt)] });
};

export interface AttemptSpending {
  readonly usage: Usage | null;
  /** The model that answered, where the worker says so. */
  readonly model?: string | null;
  readonly costNanoUsd: number | null;
}

export const completeJob = (
  job: Job,
  lease: number,
  report: { result: Json } & AttemptSpending,
  nowAt: number,
): Result<Decision, Refusal> => {
  if (job.lease === lease && job.settledBy === "completed") return ok(unchanged(job));
  if (!holds(job, lease)) return err(leaseLost(job, lease));
  const next = changeJob(
    asRunning(job, nowAt),
    {
      status: "completed",
      settledBy: "completed",
      error: null,
      progress: null,
      usage: report.usage,
      costNanoUsd: report.costNanoUsd,
      ...(report.model == null ? {} : { ranModel: report.model }),
      finishedAt: nowAt,
    },
    nowAt,
  );
  return ok({ job: next, result: report.result, events: [jobEvent(next, "job.completed", nowAt)] });
};

export interface FailurePolicy {
  /** Of the provider that the job ran on; null where none is configured. */
  readonly rateLimit: { readonly retryAfterMs: number; readonly maxRetries: number } | null;
  /** Providers that a fallback may still try after this one; empty under any other strategy. */
  readonly fallbackProviders: readonly string[];
  /** In [0, 1): spreads the retries of many jobs. */
  readonly jitter: number;
}

export interface FailureReport extends AttemptSpending {
  readonly error: JobError;
  readonly retryAfterMs: number | null;
}

export interface Failure extends Decision {
  /** The provider takes no new job before this instant. */
  readonly backoffUntilAt: number | null;
}

const isRateLimited = (error: JobError): boolean =>
  error.code === "rate_limited" || (error.status === 429 && !isQuota(error));
const isQuota = (error: JobError): boolean => error.code === "quota_exhausted" || error.code === "insufficient_quota";

/**
 * What a failure leads to: a rate limit waits and tries again while the provider's `max_retries` last; under the
 * fallback strategy a retryable failure (or an exhausted quota) goes on down the chain; all else is final.
 */
export const failJob = (
  job: Job,
  lease: number,
  report: FailureReport,
  policy: FailurePolicy,
  nowAt: number,
): Result<Failure, Refusal> => {
  if (job.lease === lease && job.settledBy === "failed") return ok({ ...unchanged(job), backoffUntilAt: null });
  if (!holds(job, lease)) return err(leaseLost(job, lease));
  const running = asRunning(job, nowAt);
  if (hasSpoken(job)) return ok({ ...failed(running, report, report.error, nowAt), backoffUntilAt: null });
  if (isRateLimited(report.error)) return ok(rateLimited(running, report, policy, nowAt));
  const mayFallBack = report.error.retryable || isQuota(report.error);
  if (mayFallBack && canFallBack(running, policy)) {
    return ok({ ...fellBack(running, report, policy, nowAt), backoffUntilAt: null });
  }
  return ok({ ...failed(running, report, report.error, nowAt), backoffUntilAt: null });
};

const canFallBack = (job: Job, policy: FailurePolicy): boolean =>
  job.provider === null && policy.fallbackProviders.length > 0;

const rateLimited = (job: Job, report: FailureReport, policy: FailurePolicy, nowAt: number): Failure => {
  const limit = policy.rateLimit;
  const error: JobError = { code: "rate_limited", message: RATE_LIMIT_MESSAGE, status: 429, retryable: true };
  if (limit === null || job.rateLimitRetries >= limit.maxRetries) {
    if (canFallBack(job, policy)) return { ...fellBack(job, report, policy, nowAt), backoffUntilAt: null };
    return { ...failed(job, report, error, nowAt), backoffUntilAt: null };
  }
  const delayMs = rateLimitDelayMs(job.rateLimitRetries, limit.retryAfterMs, report.retryAfterMs, policy.jitter);
  const next = requeueJob(job, nowAt, nowAt + delayMs, {
    attempts: job.attempts - 1,
    rateLimitRetries: job.rateLimitRetries + 1,
    settledBy: "failed",
    error,
  });
  const detail = {
    retry: next.rateLimitRetries,
    of: limit.maxRetries,
    delay_ms: delayMs,
    provider: job.workerProvider,
  };
  const event = { ...jobEvent(next, "job.rate_limited", nowAt, detail), worker: job.assignedWorker };
  return { job: next, events: [event], backoffUntilAt: nowAt + delayMs };
};

const fellBack = (job: Job, report: FailureReport, policy: FailurePolicy, nowAt: number): Decision => {
  const left = job.workerProvider;
  const next = requeueJob(job, nowAt, null, {
    excludedProviders: left === null ? job.excludedProviders : [...job.excludedProviders, left],
    // `max_retries` is each provider's own: the next one starts counting anew.
    rateLimitRetries: 0,
    settledBy: "failed",
    error: report.error,
  });
  const detail = { from: left, remaining: [...policy.fallbackProviders], error: { ...report.error } };
  return { job: next, events: [{ ...jobEvent(next, "job.fell_back", nowAt, detail), worker: job.assignedWorker }] };
};

const failed = (
  job: Job,
  spent: AttemptSpending,
  error: JobError,
  nowAt: number,
  settledBy: Settlement | null = "failed",
): Decision => {
  const next = changeJob(
    job,
    {
      status: "failed",
      settledBy,
      error,
      usage: spent.usage,
      costNanoUsd: spent.costNanoUsd,
      ...(spent.model == null ? {} : { ranModel: spent.model }),
      progress: null,
      finishedAt: nowAt,
      orderKey: null,
    },
    nowAt,
  );
  return { job: next, events: [jobEvent(next, "job.failed", nowAt, { ...error })] };
};

/** Failed by the service, not by its worker: a report that comes after all is late, not repeated. */
const failedUnreported = (job: Job, error: JobError, nowAt: number): Decision =>
  failed(job, { usage: null, costNanoUsd: null }, error, nowAt, null);

/** Given back unworked, by its worker or because the worker lost it: costs no attempt. */
const givenBack = (
  job: Job,
  type: "job.released" | "job.lost" | "job.halted",
  reason: string,
  nowAt: number,
  readyAt: number | null = null,
  changes: Partial<Job> = { settledBy: null },
): Decision => {
  const attempts = job.status === "running" ? job.attempts - 1 : job.attempts;
  const next = requeueJob(job, nowAt, readyAt, { attempts, ...changes });
  return { job: next, events: [{ ...jobEvent(next, type, nowAt, { reason }), worker: job.assignedWorker }] };
};

export const releaseJob = (job: Job, lease: number, reason: string, nowAt: number): Result<Decision, Refusal> => {
  if (job.lease === lease && job.settledBy === "released") return ok(unchanged(job));
  if (!holds(job, lease)) return err(leaseLost(job, lease));
  if (hasSpoken(job)) return ok(loseSpoken(job, reason, nowAt));
  const releases = job.releases + 1;
  const delayMs = releaseDelayMs(releases);
  const readyAt = delayMs === 0 ? null : nowAt + delayMs;
  return ok(givenBack(job, "job.released", reason, nowAt, readyAt, { settledBy: "released", releases }));
};

/** The end of an attempt whose worker is gone, and that its client has heard the beginning of. */
const loseSpoken = (job: Job, reason: string, nowAt: number): Decision =>
  failedUnreported(job, { code: "worker_lost", message: `the worker was lost: ${reason}`, retryable: true }, nowAt);

/** The worker's own list of jobs no longer names this one. */
export const loseJob = (job: Job, nowAt: number): Decision =>
  hasSpoken(job)
    ? loseSpoken(job, "its worker no longer works on it", nowAt)
    : givenBack(job, "job.lost", "its worker no longer works on it", nowAt);

/** The killswitch, below full halt: back to the queue. */
export const haltJob = (job: Job, level: number, nowAt: number): Decision =>
  givenBack(job, "job.halted", `killswitch level ${level}`, nowAt);

/** A lease that was not started in time goes to the next worker. */
export const expireLease = (job: Job, nowAt: number): Decision => {
  const next = requeueJob(job, nowAt, null);
  return { job: next, events: [{ ...jobEvent(next, "job.accept_expired", nowAt), worker: job.assignedWorker }] };
};

/** A job whose worker fell silent: back to the queue while it has attempts left, else failed. */
export const reapJob = (job: Job, maxAttempts: number, nowAt: number): Decision => {
  const silentSince = job.heartbeatAt === null ? null : new Date(job.heartbeatAt).toISOString();
  if (hasSpoken(job)) return loseSpoken(job, "it fell silent", nowAt);
  if (job.attempts >= maxAttempts) {
    const error: JobError = {
      code: "attempts_exhausted",
      message: `its worker fell silent on attempt ${job.attempts} of ${maxAttempts}`,
      retryable: true,
    };
    return failedUnreported(job, error, nowAt);
  }
  const next = requeueJob(job, nowAt, null);
  const detail = { silent_since: silentSince, attempt: job.attempts, of: maxAttempts };
  return { job: next, events: [{ ...jobEvent(next, "job.reaped", nowAt, detail), worker: job.assignedWorker }] };
};

export const timeOutJob = (job: Job, timeoutMs: number, nowAt: number): Decision => {
  const error: JobError = { code: "timeout", message: `ran longer than ${timeoutMs / 1000} s`, retryable: true };
  const decision = failedUnreported(job, error, nowAt);
  return { ...decision, events: [jobEvent(decision.job, "job.timed_out", nowAt, { ...error })] };
};
