// What an owner does to a job: change it, cancel it, try it again.

import { isFinal } from "../words/job-status.ts";
import type { Refusal } from "../words/refusal.ts";
import type { Priority, Tier } from "../words/requirements.ts";
import { err, ok, type Result } from "../words/result.ts";
import { changeJob, type Decision, isLeased, type Job, type JobError, jobEvent, NO_PLACE } from "./job.ts";
import { hasFirstToken } from "./lease-fence.ts";
import { groupKeyOf } from "./queue.ts";
import { queuePlaceOf, requeueJob } from "./queue-place.ts";

export interface JobPatch {
  readonly tags?: readonly string[];
  readonly priority?: Priority;
  readonly tier?: Tier | null;
}

export const patchJob = (job: Job, patch: JobPatch, nowAt: number): Result<Decision, Refusal> => {
  if (job.status === "completed") return err({ code: "job_completed", id: job.id });
  const tags = patch.tags === undefined ? job.tags : [...new Set(patch.tags)];
  const priority = patch.priority ?? job.priority;
  const changes: Partial<Job> = {
    tags,
    priority,
    tier: patch.tier === undefined ? job.tier : patch.tier,
    groupKey: groupKeyOf({ ...job, tags }),
    orderKey: job.orderKey === null ? null : queuePlaceOf({ ...job, priority }),
    // It was charged among other jobs.
    share: null,
  };
  const next = changeJob(job, changes, nowAt);
  const detail = { tags: next.tags, priority: next.priority, tier: next.tier };
  return ok({ job: next, events: [jobEvent(next, "job.updated", nowAt, detail)] });
};

/** `error` says who ended it, if not its owner. */
export const cancelJob = (
  job: Job,
  nowAt: number,
  reason: string | null = null,
  error: JobError | null = null,
): Result<Decision, Refusal> => {
  if (isFinal(job.status)) return err({ code: "job_state", id: job.id, status: job.status, command: "cancel" });
  const next = changeJob(
    job,
    {
      status: "cancelled",
      ...NO_PLACE,
      progress: null,
      finishedAt: nowAt,
      settledBy: null,
      ...(error === null ? {} : { error }),
    },
    nowAt,
  );
  return ok({ job: next, events: [jobEvent(next, "job.cancelled", nowAt, reason === null ? null : { reason })] });
};

/** A job with an `api` that has failed was answered: its client is gone, or its batch has the answer. */
const mayRetry = (job: Job, isStuck: boolean): boolean =>
  isLeased(job) ? isStuck && !hasFirstToken(job) : job.status === "failed" && job.api === null;

/** Failed or stuck: back to pending with a fresh count of attempts. `isStuck`: the lease is stale or its worker offline. */
export const retryJob = (job: Job, isStuck: boolean, nowAt: number): Result<Decision, Refusal> => {
  if (!mayRetry(job, isStuck)) return err({ code: "job_state", id: job.id, status: job.status, command: "retry" });
  const next = requeueJob(job, nowAt, null, {
    attempts: 0,
    rateLimitRetries: 0,
    excludedProviders: [],
    avoidedWorkers: [],
    error: null,
    usage: null,
    costNanoUsd: null,
    ranProvider: null,
    ranModel: null,
    releases: 0,
    finishedAt: null,
    settledBy: null,
  });
  const event = jobEvent(job, "job.retried", nowAt, { from: job.status });
  return ok({ job: next, result: null, events: [event] });
};
