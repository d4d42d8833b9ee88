// How jobs end on a worker: what counts against it, how good it is by that, and for how long it rests.

import { QUOTA_CODES } from "../words/quota.ts";
import { MISSING_MODEL_CODES } from "./missing-model.ts";
import type { Outcome, Worker } from "./worker.ts";

export const RECENT_OUTCOMES = 20;

const EXPIRED_LEASES_TO_PAUSE = 5;
const FIRST_REST_MS = 60_000;
const LONGEST_REST_MS = 30 * 60_000;
/** Failures caused by the job or the provider, not by the worker. */
const BLAMELESS_CODES = new Set([
  "bad_request",
  "context_length",
  "rate_limited",
  ...QUOTA_CODES,
  // The router leaves it out for that model.
  ...MISSING_MODEL_CODES,
]);

/**
 * Records how a job ended on a worker. A job counts once, by its last attempt, because one bad job that is tried
 * repeatedly says little about the worker.
 */
export const recordOutcome = (worker: Worker, outcome: Outcome): Worker => {
  const outcomes = [outcome];
  for (const other of worker.outcomes)
    if (other.jobId !== outcome.jobId && outcomes.length < RECENT_OUTCOMES) outcomes.push(other);
  const isCompleted = outcome.outcome === "completed";
  const rests = isCompleted ? 0 : worker.rests;
  const lastCompletedAt = isCompleted ? outcome.at : worker.lastCompletedAt;
  return { ...worker, outcomes, expiredLeases: 0, rests, lastCompletedAt };
};

export const isBlameless = ({ code, isClientsFault = false }: Outcome): boolean =>
  isClientsFault || BLAMELESS_CODES.has(code ?? "");

/** Counts expired unstarted leases, and pauses a worker that takes leases but never starts them. */
export const recordExpiredLease = (worker: Worker, nowAt: number): Worker => {
  const next = { ...worker, expiredLeases: worker.expiredLeases + 1 };
  if (worker.rests === 0 && next.expiredLeases < EXPIRED_LEASES_TO_PAUSE) return next;
  const what =
    worker.rests > 0
      ? "let leases expire again after its rest"
      : `let leases expire ${next.expiredLeases} times in a row`;
  return rested(next, `${what} without starting them`, nowAt);
};

/** Paused for a time that doubles with each pause; an operator's pause is left unchanged. */
export const rested = (worker: Worker, why: string, nowAt: number): Worker => {
  if (worker.pause !== null && (worker.pause.untilAt === null || worker.pause.untilAt > nowAt)) return worker;
  const untilAt = nowAt + Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** worker.rests);
  const reason = `${why}; it rests until ${new Date(untilAt).toISOString()}, or until it is resumed`;
  return { ...worker, rests: worker.rests + 1, pause: { reason, untilAt } };
};

/** Share of recent jobs that succeeded, in [0,1], smoothed so that a worker without a record counts as good. */
export const successRateOf = (worker: Worker): number => {
  let counted = 0;
  let completed = 0;
  for (const one of worker.outcomes) {
    if (isBlameless(one)) continue;
    counted += 1;
    if (one.outcome === "completed") completed += 1;
  }
  return (completed + 2) / (counted + 2);
};
