// What became of a worker's jobs: each of a job of its own, unless a test names one.

import { recordOutcome } from "../../../domain/fleet/outcomes.ts";
import type { Outcome, Worker } from "../../../domain/fleet/worker.ts";
import { NOON } from "../job/sample-jobs.ts";
import { worker } from "./sample-fleet.ts";

let jobCount = 0;
const freshJob = (): string => {
  jobCount += 1;
  return `job-${jobCount}`;
};

export const failed = (at: number, code = "provider_error", jobId = freshJob(), keyId = "k1"): Outcome => ({
  jobId,
  outcome: "failed",
  code,
  keyId,
  at,
});

export const completed = (at: number, jobId = freshJob()): Outcome => ({
  jobId,
  outcome: "completed",
  code: null,
  at,
});

export const having = (given: readonly Outcome[], start: Worker = worker()): Worker =>
  given.reduce(recordOutcome, start);

export const failures = (count: number, spacingMs = 1_000, code?: string): Outcome[] =>
  Array.from({ length: count }, (_, at) => failed(NOON + at * spacingMs, code));

/** Of one job, a second apart. */
export const attempts = (jobId: string, count: number): Outcome[] =>
  Array.from({ length: count }, (_, at) => failed(NOON + at * 1_000, "provider_error", jobId));
