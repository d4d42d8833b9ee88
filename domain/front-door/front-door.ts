// Jobs of the front door: a client waits for the answer on an open connection, so these jobs end instead of waiting.

import { changeJob, type Decision, type Job, type JobError, type JobPayload, jobEvent, NO_PLACE } from "../job/job.ts";
import { avoidingThis, failed } from "../job/lease-fence.ts";
import { requeueJob } from "../job/queue-place.ts";
import type { Alias } from "./door-model.ts";

export const KEPT_TEXTS = ["none", "result", "all"] as const;
/** What history keeps of requests and answers. */
export type KeptTexts = (typeof KEPT_TEXTS)[number];

const KEEPS: Readonly<Record<KeptTexts, (payload: JobPayload) => JobPayload>> = {
  none: () => ({ prompt: "", input: null }),
  result: ({ prompt }) => ({ prompt, input: null }),
  all: (payload) => payload,
};

/** The payload, as far as it is kept. */
export const keptPayload = (kept: KeptTexts, payload: JobPayload): JobPayload => KEEPS[kept](payload);
export const keepsResult = (kept: KeptTexts): boolean => kept !== "none";

export interface FrontDoorConfig {
  readonly queueMs: number;
  readonly commitAfterMs: number;
  readonly keepAliveMs: number;
  /** An attempt without output for this long goes to another worker; null: no limit. */
  readonly firstTokenMs: number | null;
  readonly store: KeptTexts;
  /** How long answers of the Responses API are stored for their clients. */
  readonly responsesDays: number;
  readonly aliases: Readonly<Record<string, readonly Alias[]>>;
  readonly corsOrigins: readonly string[];
}

/** No worker could take it in its time in the queue, or those that could were full. */
export const waitedInVain = (job: Job, reason: string, isFull: boolean): JobError => ({
  code: isFull ? "queue_timeout" : "no_eligible_workers",
  message: `no worker took it within ${(job.frontDoor?.queueMs ?? 0) / 1000} s: ${reason}`,
  retryable: true,
});

/** Its time in the queue is over. */
export const giveUpWaiting = (job: Job, error: JobError, nowAt: number): Decision => {
  const next = changeJob(
    job,
    { status: "failed", error, ...NO_PLACE, queueUntilAt: null, finishedAt: nowAt, settledBy: null },
    nowAt,
  );
  return { job: next, events: [jobEvent(next, "job.failed", nowAt, { ...error })] };
};

/** Without output for too long: another worker tries, while attempts are left. */
export const moveOn = (job: Job, firstTokenMs: number, maxAttempts: number, nowAt: number): Decision => {
  const error: JobError = {
    code: "first_token_timeout",
    message: `worker "${job.assignedWorker}" said nothing for ${firstTokenMs / 1000} s`,
    retryable: true,
  };
  if (job.attempts >= maxAttempts) return failed(job, { usage: null, costNanoUsd: null }, error, nowAt, null);
  const next = requeueJob(job, nowAt, null, { error, settledBy: null, avoidedWorkers: avoidingThis(job) });
  const detail = { silent_for_ms: firstTokenMs, attempt: job.attempts, error: { ...error } };
  return { job: next, events: [jobEvent(job, "job.reaped", nowAt, detail)] };
};

const FIRST_CLIENT_ERROR = 400;
const FIRST_SERVER_ERROR = 500;
/** About the worker's key or time, although the client gets a refusal. */
const WORKERS_OWN = new Set([401, 403, 407, 408]);

/** The runtime refused the client's request, which says nothing about the worker. */
export const isClientsFault = ({ api }: Pick<Job, "api">, { status = 0 }: JobError): boolean =>
  api !== null && status >= FIRST_CLIENT_ERROR && status < FIRST_SERVER_ERROR && !WORKERS_OWN.has(status);
