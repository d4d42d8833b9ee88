// A front-door job or a batch's line whose model cannot answer goes on with the next of its list that somebody can take.

import type { Decision, Job, JobError } from "../../domain/job/job.ts";
import type { Tried } from "../../domain/job/job-facts.ts";
import { hasFirstToken } from "../../domain/job/lease-fence.ts";
import { askNext, isForTheNext } from "../../domain/job/next-choice.ts";
import { isOnlyFull } from "../../domain/routing/explanation.ts";
import type { Turn } from "../turn/turn.ts";
import { chooseFor } from "./place-job.ts";
import { routePolicy, routeRequest } from "./route-policy.ts";

/** `workerProvider`: who had it, if the job names no provider itself. */
export const triedOf = (
  { model, provider, workerProvider }: Pick<Job, "model" | "provider" | "workerProvider">,
  code: string,
): Tried => ({
  model,
  provider: provider ?? workerProvider,
  code,
});

/** Why a model is passed over by a job that does not wait; null if a worker may have the job now. */
export const passedOver = (turn: Turn, job: Job, policy = routePolicy(turn)): PassedOver | null => {
  if (chooseFor(turn, job, policy) !== null) return null;
  return isOnlyFull(turn.memory.fleet, routeRequest(turn, job), policy) ? "queue_timeout" : "no_eligible_workers";
};

/** The first: those who could take it are full. */
type PassedOver = "queue_timeout" | "no_eligible_workers";

/** The job with its next model; null if it has none, or may not be asked again. `mayWait`: for a free place there. */
export const nextChoice = (
  turn: Turn,
  job: Job,
  error: JobError,
  settledBy: "failed" | null = "failed",
  mayWait = true,
): Decision | null => {
  const choices = (job.batchPlace ?? job.frontDoor)?.choices ?? [];
  if (choices.length === 0 || hasFirstToken(job) || !isForTheNext(error)) return null;
  const tried = [triedOf(job, error.code)];
  for (const [at, choice] of choices.entries()) {
    const decided = askNext(
      job,
      { choice, left: choices.slice(at + 1), tried: [...tried] },
      error,
      settledBy,
      turn.nowAt,
    );
    const code = passedOver(turn, decided.job);
    if (code === null || (mayWait && code === "queue_timeout")) return decided;
    tried.push({ model: choice.model, provider: choice.provider, code });
  }
  return null;
};
