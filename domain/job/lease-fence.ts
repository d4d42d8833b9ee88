// What the rules of an attempt share: checking its lease, its start, its failure.

import type { Refusal } from "../words/refusal.ts";
import {
  changeJob,
  type Decision,
  isLeased,
  isWaitedFor,
  type Job,
  type JobError,
  jobEvent,
  NO_PLACE,
  type Settlement,
  type Usage,
} from "./job.ts";

/** The client has received part of an answer: no other attempt may continue or repeat it. */
export const hasFirstToken = (job: Job): boolean => isWaitedFor(job) && job.stream && job.firstTokenAt !== null;

/** How many workers that failed a job are remembered; the oldest is forgotten first. */
const MAX_AVOIDED_WORKERS = 16;

/** The workers that the job avoids once it leaves the worker that has it. */
export const avoidingThis = ({ avoidedWorkers, assignedWorker }: Job): string[] => {
  const others = avoidedWorkers.filter((instance) => instance !== assignedWorker);
  return [...others, ...(assignedWorker === null ? [] : [assignedWorker])].slice(-MAX_AVOIDED_WORKERS);
};

export const leaseLost = (job: Job, lease: number): Refusal => ({
  code: "lease_lost",
  id: job.id,
  lease,
  current: job.lease,
  status: job.status,
});

export const holds = (job: Job, lease: number): boolean => isLeased(job) && job.lease === lease;

/** Nothing to change: a repeated report, or a heartbeat without news. */
export const unchanged = (job: Job): Decision => ({ job, events: [] });

export const started = (job: Job, nowAt: number): Job =>
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

/** A report means that the job is being worked on, even if its start was never reported. */
export const asRunning = (job: Job, nowAt: number): Job => (job.status === "assigned" ? started(job, nowAt) : job);

/** The worker reported its first token only with its last report. */
export const hearFirst = (job: Job, firstTokenAt: number, nowAt: number): Decision => {
  const next = changeJob(asRunning(job, nowAt), { firstTokenAt }, nowAt);
  return { job: next, events: [jobEvent(next, "job.streaming", firstTokenAt)] };
};

/** What a worker says that an attempt used and cost. */
export interface Spent {
  readonly usage: Usage | null;
  /** The model that answered, if the worker says so. */
  readonly model?: string | null;
  readonly costNanoUsd: number | null;
}

/** The end of a job that did not succeed. */
export const failed = (
  job: Job,
  spent: Spent,
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
      ...NO_PLACE,
    },
    nowAt,
  );
  return { job: next, events: [jobEvent(next, "job.failed", nowAt, { ...error })] };
};
