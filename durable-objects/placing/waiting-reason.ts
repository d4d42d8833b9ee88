// Why a job waits, in one line for its owner.

import { maxAttemptsOf } from "../../domain/config.ts";
import type { Job } from "../../domain/job/job.ts";
import { whyWaiting } from "../../domain/routing/explanation.ts";
import type { RoutePolicy } from "../../domain/routing/filter.ts";
import { chainOf } from "../../domain/routing/strategy.ts";
import { haltReason } from "../../domain/words/halt-reason.ts";
import { removedModelNote } from "../steps/catalog.ts";
import type { Turn } from "../turn/turn.ts";
import { fairReason } from "./fair-reason.ts";
import { routePolicy, routeRequest } from "./route-policy.ts";

export const ITS_TURN = "its turn: it is about to be assigned";

/** What a pending job waits for; null for any other. */
export const waitingReason = (turn: Turn, job: Job): string | null =>
  job.status === "pending" ? pendingReason(turn, job) : null;

/** What this pending job waits for, with its place among the jobs of others. */
export const pendingReason = (turn: Turn, job: Job, policy = routePolicy(turn)): string =>
  inWords(turn, job, policy, fairReason);

/** What all pending jobs like this one wait for: the turn and the share are each job's own. */
export const groupReason = (turn: Turn, job: Job, policy: RoutePolicy): string =>
  inWords(turn, job, policy, () => null);

const inWords = (turn: Turn, job: Job, policy: RoutePolicy, ownTurn: typeof fairReason): string => {
  const { killswitch, fleet } = turn.memory;
  if (killswitch.level > 0) return haltReason(killswitch.level);
  const delay = delayReason(turn, job);
  if (delay !== null) return delay;
  const reason = whyWaiting(fleet, routeRequest(turn, job), policy) ?? ITS_TURN;
  const notes = [ownTurn(turn, job, policy), removedModelNote(turn, job)];
  return [reason, ...notes.filter((note) => note !== null)].join("; ");
};

/** Why no worker may run it yet; null if one may. */
export const delayReason = (turn: Turn, job: Job): string | null => {
  if (job.readyAt === null || job.readyAt <= turn.nowAt) return null;
  const until = new Date(job.readyAt).toISOString();
  switch (job.delayedBy) {
    case "release":
      return `given back ${job.releases} times, it is tried again at ${until}`;
    case "retry":
      return retryReason(turn, job, until);
    case "rate_limit": {
      const [provider] = [...turn.memory.backoffs].find(([, untilAt]) => untilAt === job.readyAt) ?? [];
      const who = provider === undefined ? "its provider" : `provider ${provider}`;
      return `${who} backs off until ${until}, then retry ${job.rateLimitRetries}`;
    }
    default:
      return `not to run before ${until}`;
  }
};

const retryReason = (turn: Turn, job: Job, until: string): string => {
  const { config, fleet } = turn.memory;
  const where = job.avoidedWorkers.at(-1);
  const spent = `attempt ${job.attempts} of ${maxAttemptsOf(config, job)}`;
  const failed = `${spent}${where === undefined ? "" : ` on ${where}`} failed with "${job.error?.code}"`;
  const unserved = (chainOf(config.routing) ?? []).filter((next) => fleet.offers.ofProvider(next) === undefined);
  const names = unserved.map((provider) => `"${provider}"`).join(", ");
  const note = unserved.length === 0 ? "" : `; no worker offers ${names} of routing.chain`;
  return `${failed}, it is tried again at ${until}${note}`;
};
