// A streak of failures: when it is one, and whether its worker rests for it. Invariant: one client's requests that no
// runtime can serve pause nobody. A worker with a socket is asked to try its runtime itself; one that cannot be asked
// rests only if the jobs of several keys failed, or if nothing has gone well for minutes.

import { isBlameless, rested } from "./outcomes.ts";
import type { Outcome, Worker } from "./worker.ts";

const FAILURES_TO_PAUSE = 10;
const FAILURE_WINDOW_MS = 60_000;
/** For a load of the model and one token. */
const TRIAL_WITHIN_MS = 120_000;
const KEYS_TO_PAUSE = 2;
const NO_SUCCESS_MS = 5 * 60_000;

/** The failures since its last success, its last blameless failure or its last trial, newest first. */
const failuresInARow = ({ outcomes, provedAt }: Worker): readonly Outcome[] => {
  const isFailure = (one: Outcome): boolean =>
    one.outcome === "failed" && !isBlameless(one) && one.at > (provedAt ?? Number.NEGATIVE_INFINITY);
  const end = outcomes.findIndex((one) => !isFailure(one));
  return end < 0 ? outcomes : outcomes.slice(0, end);
};

/** Why a worker's failures are a reason to pause it; null if they are none. After a rest one failure is enough. */
export const streakOf = (worker: Worker, nowAt: number): string | null => {
  const failures = failuresInARow(worker);
  const [last] = failures;
  if (last === undefined) return null;
  const ended = `the last with "${last.code}"`;
  if (worker.rests > 0) return `failed again after its rest, ${ended}`;
  const recent = failures.slice(0, FAILURES_TO_PAUSE).filter(({ at }) => nowAt - at <= FAILURE_WINDOW_MS);
  if (recent.length < FAILURES_TO_PAUSE) return null;
  return `failed ${FAILURES_TO_PAUSE} jobs in a row within ${FAILURE_WINDOW_MS / 1000} s, ${ended}`;
};

/** It is asked to try its runtime before it rests. */
export const askTrial = (worker: Worker, why: string, nowAt: number): Worker => ({
  ...worker,
  trial: { why, untilAt: nowAt + TRIAL_WITHIN_MS },
});

/** It cannot be asked, or did not answer: unchanged unless its failures are not one client's alone. */
export const restUnasked = (worker: Worker, why: string, nowAt: number): Worker => {
  const keys = new Set(failuresInARow(worker).map(({ keyId = null }) => keyId));
  const wentWellAt = worker.lastCompletedAt ?? worker.registeredAt;
  const isItsOwn = keys.size >= KEYS_TO_PAUSE || nowAt - wentWellAt >= NO_SUCCESS_MS;
  return isItsOwn ? rested(worker, why, nowAt) : worker;
};

/** Its answer to a trial; `error` is null if the runtime works. */
export const judgeTrial = (worker: Worker, error: string | null, nowAt: number): Worker => {
  const { trial } = worker;
  if (trial === null) return worker;
  const judged = { ...worker, trial: null };
  if (error === null) return { ...judged, provedAt: nowAt, rests: 0 };
  return rested(judged, `${trial.why}, and its own trial of its runtime failed: ${error}`, nowAt);
};

/** The time for its answer is over. */
export const endTrial = (worker: Worker, nowAt: number): Worker => {
  const { trial } = worker;
  if (trial === null || trial.untilAt > nowAt) return worker;
  return restUnasked({ ...worker, trial: null }, trial.why, nowAt);
};
