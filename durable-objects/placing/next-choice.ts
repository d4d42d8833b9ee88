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

/** Whether a worker may have this job now. */
export const isTakenNow = (turn: Turn, job: Job, policy = routePolicy(turn)): boolean =>
  chooseFor(turn, job, policy) !== null;

/** The same, or one only lacks a free place. */
export const isTakenBySomebody = (turn: Turn, job: Job, policy = routePolicy(turn)): boolean =>
  isTakenNow(turn, job, policy) || isOnlyFull(turn.memory.fleet, routeRequest(turn, job), policy);

/** Why a model that is not taken is passed over. */
export const passedOver = (turn: Turn, job: Job, policy = routePolicy(turn)): string =>
  isOnlyFull(turn.memory.fleet, routeRequest(turn, job), policy) ? "queue_timeout" : "no_eligible_workers";

/** The job with its next model; null if it has none, or may not be asked again. */
export const nextChoice = (
  turn: Turn,
  job: Job,
  error: JobError,
  settledBy: "failed" | null = "failed",
  isTaken = isTakenBySomebody,
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
    if (isTaken(turn, decided.job)) return decided;
    tried.push({ model: choice.model, provider: choice.provider, code: passedOver(turn, decided.job) });
  }
  return null;
};
