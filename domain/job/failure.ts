// What a failure leads to: another attempt, the next provider of a chain, a back-off of the provider, or the job's end.
// Each rule returns a decision. A failed attempt counts against max_attempts, unless a rate limit or the chain goes on.
//
// no such model ──▶ another worker that may have it, at no cost ──▶ failed
// rate limit ──▶ wait for the provider, max_retries times ──▶ next of the chain ──▶ failed; a line of a batch waits on
// retryable  ──▶ next of the chain ──▶ wait, then another worker, max_attempts times ──▶ failed
// where the runtime asks for a longer wait than a front-door client waits for a worker ──▶ next of the chain ──▶ another
// worker, unless it is a rate limit ──▶ failed
// any other, and every failure after the client got output ──▶ failed

import { isModelMissing } from "../fleet/missing-model.ts";
import { QUOTA_CODES } from "../words/quota.ts";
import type { Refusal } from "../words/refusal.ts";
import { err, ok, type Result } from "../words/result.ts";
import { attemptDelayMs, rateLimitDelayMs } from "./backoff.ts";
import { type Decision, isWaitedFor, type Job, type JobError, jobEvent } from "./job.ts";
import {
  asRunning,
  avoidingThis,
  failed,
  hasFirstToken,
  holds,
  leaseLost,
  type Spent,
  unchanged,
} from "./lease-fence.ts";
import { queueEndOf, requeueJob } from "./queue-place.ts";

/** A provider's rate limit, in the specification's words. */
export const RATE_LIMIT_ERROR: JobError = {
  code: "rate_limited",
  message: "429 Too Many Requests / Rate limit exceeded",
  status: 429,
  retryable: true,
};

export interface FailurePolicy {
  readonly maxAttempts: number;
  readonly retry: { readonly backoffMs: number; readonly maxBackoffMs: number };
  /** Of the provider that the job ran on; null if not configured. */
  readonly rateLimit: { readonly retryAfterMs: number; readonly maxRetries: number } | null;
  /** A line of a batch waits so long for a provider that limits its rate, as often as it must; null for other jobs. */
  readonly lineWaitMs: number | null;
  /** Providers that a fallback may still try; empty under other strategies. */
  readonly fallbackProviders: readonly string[];
  /** Those of them that no registered worker offers. */
  readonly unservedProviders: readonly string[];
  /** Another worker may have the job. Told where its model is missing, or its runtime asks a client to wait. */
  readonly isElsewhere: boolean;
  /** In [0, 1): spreads the retries of many jobs. */
  readonly jitter: number;
}

export interface ReportedFailure {
  readonly error: JobError;
  readonly retryAfterMs: number | null;
}

export interface FailureReport extends ReportedFailure, Spent {}

export interface Failure extends Decision {
  /** The provider takes no new job before this instant. */
  readonly backoffUntilAt: number | null;
}

const isRateLimited = (error: JobError): boolean =>
  error.code === "rate_limited" || (error.status === 429 && !isQuota(error));
const isQuota = (error: JobError): boolean => QUOTA_CODES.includes(error.code);

export const failJob = (
  job: Job,
  lease: number,
  report: FailureReport,
  policy: FailurePolicy,
  nowAt: number,
): Result<Failure, Refusal> => {
  if (job.lease === lease && job.settledBy === "failed") return withoutBackoff(unchanged(job));
  if (!holds(job, lease)) return err(leaseLost(job, lease));
  const running = asRunning(job, nowAt);
  if (hasFirstToken(job)) return withoutBackoff(failed(running, report, report.error, nowAt));
  if (lacksModel(job, report.error) && policy.isElsewhere) return withoutBackoff(passedOn(running, report, nowAt));
  if (isRateLimited(report.error)) return ok(rateLimited(running, report, policy, nowAt));
  const { retryable } = report.error;
  const isWorthIt = !isSaidAgain(job, report.error) && (policy.isElsewhere || !outlastsClient(job, report, nowAt));
  const mayRetry = retryable && running.attempts < policy.maxAttempts && isWorthIt;
  if ((retryable || isQuota(report.error)) && mayFallBack(running, policy, mayRetry))
    return withoutBackoff(fellBack(running, report, policy, nowAt));
  return withoutBackoff(
    mayRetry
      ? retried(running, report, policy, nowAt)
      : failed(tellingWhen(running, report), report, report.error, nowAt),
  );
};

const withoutBackoff = (decision: Decision): Result<Failure, Refusal> => ok({ ...decision, backoffUntilAt: null });

/** A front-door request that fails twice in the same words is a request that no runtime can serve. */
const isSaidAgain = ({ api, error }: Job, said: JobError): boolean =>
  api !== null && said.status !== undefined && error?.status === said.status && error.message === said.message;

/** The runtime asks for a longer wait than its client waits for a worker: that hears when to come again. */
const outlastsClient = ({ frontDoor }: Job, { retryAfterMs }: FailureReport, nowAt: number): boolean => {
  const givesUpAt = queueEndOf(frontDoor, nowAt);
  return givesUpAt !== null && nowAt + (retryAfterMs ?? 0) > givesUpAt;
};

/** The runtime answered that it does not have the model that the job names. */
export const lacksModel = ({ model }: Pick<Job, "model">, error: JobError): boolean =>
  model !== null && isModelMissing(error);

/** Its worker does not have the model, another may: costs no attempt. */
const passedOn = (job: Job, { error }: FailureReport, nowAt: number): Decision => {
  const next = requeueJob(job, nowAt, null, { attempts: job.attempts - 1, settledBy: "failed", error });
  const detail = { reason: `its runtime does not have model "${job.model}"`, error: { ...error } };
  return { job: next, events: [jobEvent(job, "job.released", nowAt, detail)] };
};

/** A job goes to a provider without workers only if it has no other chance. */
const mayFallBack = (job: Job, policy: FailurePolicy, mayRetry: boolean): boolean => {
  if (job.provider !== null || policy.fallbackProviders.length === 0) return false;
  return !mayRetry || policy.fallbackProviders.some((next) => !policy.unservedProviders.includes(next));
};

/**
 * Waits, at least as long as the runtime asked, then goes to another worker if there is one; after the end of a chain
 * it starts from the top. Where a client waits, another worker does not keep it for what this one's runtime asked.
 */
const retried = (job: Job, report: FailureReport, policy: FailurePolicy, nowAt: number): Decision => {
  const { maxAttempts, retry, jitter, unservedProviders, isElsewhere } = policy;
  const backoffMs = attemptDelayMs(job.attempts, retry.backoffMs, retry.maxBackoffMs, jitter);
  const askedMs = isElsewhere && isWaitedFor(job) ? 0 : (report.retryAfterMs ?? 0);
  const delayMs = Math.max(backoffMs, askedMs);
  const next = requeueJob(
    job,
    nowAt,
    { until: nowAt + delayMs, by: "retry" },
    {
      avoidedWorkers: avoidingThis(job),
      excludedProviders: [],
      rateLimitRetries: 0,
      settledBy: "failed",
      error: report.error,
    },
  );
  const detail = {
    attempt: job.attempts,
    of: maxAttempts,
    delay_ms: delayMs,
    error: { ...report.error },
    ...(unservedProviders.length === 0 ? {} : { unserved_providers: [...unservedProviders] }),
  };
  const event = jobEvent(job, "job.attempt_failed", nowAt, detail);
  return { job: next, events: [event] };
};

/** In the specification's words; a front-door client gets the runtime's own words. */
const rateLimitOf = (job: Job, said: JobError): JobError =>
  job.api === null ? RATE_LIMIT_ERROR : { ...said, status: said.status ?? 429, retryable: true };

const tellingWhen = (job: Job, { retryAfterMs }: FailureReport): Job =>
  job.frontDoor === null || retryAfterMs === null ? job : { ...job, frontDoor: { ...job.frontDoor, retryAfterMs } };

/** Null: nothing says that it waits. */
const rateLimitWaitMs = (job: Job, { retryAfterMs }: FailureReport, policy: FailurePolicy): number | null => {
  const { rateLimit, lineWaitMs, jitter } = policy;
  if (lineWaitMs !== null) return rateLimitDelayMs(0, lineWaitMs, retryAfterMs, jitter);
  if (rateLimit === null) return null;
  return rateLimitDelayMs(job.rateLimitRetries, rateLimit.retryAfterMs, retryAfterMs, jitter);
};

/** A provider that reported a rate limit backs off, whatever happens to the job. */
const rateLimited = (job: Job, report: FailureReport, policy: FailurePolicy, nowAt: number): Failure => {
  const { rateLimit: limit, lineWaitMs } = policy;
  const error = rateLimitOf(job, report.error);
  const delayMs = rateLimitWaitMs(job, report, policy);
  const backoffUntilAt = delayMs === null ? null : nowAt + delayMs;
  const isSpent = limit === null || job.rateLimitRetries >= limit.maxRetries || outlastsClient(job, report, nowAt);
  if (isSpent && mayFallBack(job, policy, false)) return { ...fellBack(job, report, policy, nowAt), backoffUntilAt };
  if (delayMs === null || (isSpent && lineWaitMs === null))
    return { ...failed(tellingWhen(job, report), report, error, nowAt), backoffUntilAt };
  const next = requeueJob(
    job,
    nowAt,
    { until: nowAt + delayMs, by: "rate_limit" },
    { attempts: job.attempts - 1, rateLimitRetries: job.rateLimitRetries + 1, settledBy: "failed", error },
  );
  const detail = {
    retry: next.rateLimitRetries,
    ...(limit === null || lineWaitMs !== null ? {} : { of: limit.maxRetries }),
    delay_ms: delayMs,
    provider: job.workerProvider,
  };
  const event = jobEvent(job, "job.rate_limited", nowAt, detail);
  return { job: next, events: [event], backoffUntilAt };
};

const fellBack = (job: Job, report: FailureReport, policy: FailurePolicy, nowAt: number): Decision => {
  const left = job.workerProvider;
  const next = requeueJob(job, nowAt, null, {
    excludedProviders: left === null ? job.excludedProviders : [...job.excludedProviders, left],
    // The chain is not a repetition: each of its providers is asked once.
    attempts: job.attempts - 1,
    // `max_retries` applies to each provider: the next one starts from zero.
    rateLimitRetries: 0,
    settledBy: "failed",
    error: report.error,
  });
  const detail = { from: left, remaining: [...policy.fallbackProviders], error: { ...report.error } };
  return { job: next, events: [jobEvent(job, "job.fell_back", nowAt, detail)] };
};
