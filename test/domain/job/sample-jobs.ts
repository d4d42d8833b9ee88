// Jobs in every state of the contract, brought there by the rules.

import { type FailurePolicy, type FailureReport, failJob } from "../../../domain/job/failure.ts";
import type { Decision, Job, JobError } from "../../../domain/job/job.ts";
import { assignJob, completeJob, startJob } from "../../../domain/job/lease.ts";
import { createJob, type NewJob } from "../../../domain/job/new-job.ts";
import { makeReady } from "../../../domain/job/queue-place.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import type { Result } from "../../../domain/words/result.ts";
import { newJob } from "../../support/new-job.ts";

export const NOON = Date.parse("2026-11-21T12:00:00Z");
export const MINUTE_MS = 60_000;

export const REQUEST: NewJob = newJob({ prompt: "say hello", tags: ["gpu", "eu"] });

export const WORKER = { instance: "w1", provider: "openai" };
export const NOTHING_SPENT = { usage: null, costNanoUsd: null };
export const RESULT = { result: { text: "hello" }, ...NOTHING_SPENT };

/** The decision; an unexpected refusal fails the test with its facts. */
export const decided = <T>(outcome: Result<T, Refusal>): T => {
  if (!outcome.ok) throw new Error(`refused: ${JSON.stringify(outcome.error)}`);
  return outcome.value;
};

export const refusalCode = (outcome: Result<Decision, Refusal>): string | null =>
  outcome.ok ? null : outcome.error.code;

export const pendingJob = (asked: Partial<NewJob> = {}): Job => createJob({ ...REQUEST, ...asked }, "job-1", NOON).job;

export const delayedJob = (asked: Partial<NewJob> = {}): Job => pendingJob({ runAt: NOON + 10 * MINUTE_MS, ...asked });

export const assign = (job: Job, worker = WORKER, nowAt = NOON): Job => assignJob(job, worker, null, nowAt).job;
export const assignedJob = (asked: Partial<NewJob> = {}): Job => assign(pendingJob(asked));

/** Assigned and started. */
export const run = (job: Job, worker = WORKER): Job => {
  const given = assign(job, worker, NOON);
  return decided(startJob(given, given.lease, NOON)).job;
};
export const runningJob = (asked: Partial<NewJob> = {}): Job => run(pendingJob(asked));

export const completedJob = (): Job => decided(completeJob(runningJob(), 1, RESULT, NOON)).job;
export const failedJob = (): Job => decided(failJob(runningJob(), 1, failure(), NO_POLICY, NOON)).job;

export const ready = (job: Job): Job => (job.readyAt === null ? job : makeReady(job).job);

export const NO_POLICY: FailurePolicy = {
  maxAttempts: 5,
  retry: { backoffMs: 1_000, maxBackoffMs: 300_000 },
  rateLimit: null,
  lineWaitMs: null,
  fallbackProviders: [],
  unservedProviders: [],
  isElsewhere: false,
  jitter: 0,
};
export const RATE_LIMIT = { retryAfterMs: 5_000, maxRetries: 3 };

export const failure = (error: Partial<JobError> = {}, retryAfterMs: number | null = null): FailureReport => ({
  error: { code: "bad_request", message: "no such parameter", retryable: false, ...error },
  retryAfterMs,
  ...NOTHING_SPENT,
});

export const RETRYABLE = { code: "provider_error", message: "502", status: 502, retryable: true };
export const RATE_LIMITED = { code: "provider_error", message: "slow down", status: 429, retryable: true };
export const QUOTA = { code: "insufficient_quota", message: "no credit left", status: 429, retryable: false };

/** Its provider refuses it for its rate. */
export const limited = (job: Job, retryAfterMs: number | null = null, policy: Partial<FailurePolicy> = {}) =>
  decided(
    failJob(
      job,
      job.lease,
      failure(RATE_LIMITED, retryAfterMs),
      { ...NO_POLICY, rateLimit: RATE_LIMIT, ...policy },
      NOON,
    ),
  );
