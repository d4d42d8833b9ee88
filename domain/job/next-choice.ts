// The models of an alias, or of a request's own list: a model that cannot answer leaves the job to the next, at once
// and at no cost of an attempt, as long as the client has received nothing.

import { isModelMissing } from "../fleet/missing-model.ts";
import { QUOTA_CODES } from "../words/quota.ts";
import { type Decision, type Job, type JobError, jobEvent } from "./job.ts";
import type { ModelChoice, Tried } from "./job-facts.ts";
import { requeueJob } from "./queue-place.ts";

const PAYMENT_REQUIRED = 402;
const TOO_MANY_REQUESTS = 429;
const FIRST_SERVER_ERROR = 500;
/** The model cannot answer now, whatever status its runtime gave. */
const UNAVAILABLE = new Set([
  "rate_limited",
  ...QUOTA_CODES,
  "overloaded",
  "provider_refused",
  "unauthorized",
  "runtime_unreachable",
  "no_eligible_workers",
  "queue_timeout",
]);

/** Whether another model may answer what this one did not. */
export const isForTheNext = (error: JobError): boolean => {
  const { code, status = 0 } = error;
  if (status === PAYMENT_REQUIRED || status === TOO_MANY_REQUESTS || status >= FIRST_SERVER_ERROR) return true;
  return UNAVAILABLE.has(code) || isModelMissing(error);
};

/** The job with its next model; `settled`: its worker reported the failure. */
export const askNext = (
  job: Job,
  next: { readonly choice: ModelChoice; readonly left: readonly ModelChoice[]; readonly tried: readonly Tried[] },
  error: JobError,
  settledBy: "failed" | null,
  nowAt: number,
): Decision => {
  const { model, provider, tags, tier } = next.choice;
  const changed = requeueJob(job, nowAt, null, {
    model,
    provider,
    tags,
    tier,
    tried: [...job.tried, ...next.tried],
    batchPlace: job.batchPlace === null ? null : { ...job.batchPlace, choices: next.left },
    frontDoor: job.frontDoor === null ? null : { ...job.frontDoor, choices: next.left },
    attempts: Math.max(0, job.attempts - 1),
    rateLimitRetries: 0,
    excludedProviders: [],
    avoidedWorkers: [],
    settledBy,
    error,
  });
  const detail = { from: job.model, to: model, error: { ...error } };
  return { job: changed, events: [jobEvent(job, "job.fell_back", nowAt, detail)] };
};
