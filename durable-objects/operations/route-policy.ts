// What the router gets from the tenant: its rules, prices and closed providers at this instant, and a job's requirements.

import type { Job } from "../../domain/job/job.ts";
import type { RoutePolicy, RouteRequest } from "../../domain/routing/routing-filter.ts";
import { lastSignOf } from "../steps/last-sign.ts";
import { blendedPrice } from "../steps/pricing.ts";
import type { Turn } from "../turn/turn.ts";
import { closedByBudget } from "./budget.ts";
import { isEchoAside } from "./echo-aside.ts";

export const routePolicy = (turn: Turn): RoutePolicy => {
  const { config } = turn.memory;
  const prices = new Map<string | null, Map<string, number | null>>();
  return {
    nowAt: turn.nowAt,
    offlineAfterMs: config.presence.offlineAfterMs,
    strategy: config.routing.strategy,
    chain: config.routing.chain,
    weights: config.routing.weights,
    closedProviders: closedProviders(turn),
    isEchoAside: isEchoAside(turn),
    priceOf: (provider, model) => {
      const ofModel = prices.get(model) ?? new Map<string, number | null>();
      prices.set(model, ofModel);
      const known = ofModel.get(provider);
      if (known !== undefined) return known;
      const price = blendedPrice(turn, provider, model);
      ofModel.set(provider, price);
      return price;
    },
    lastSignOf: (member) => {
      const signAt = lastSignOf(turn, member);
      // It fell silent and then pinged again, which wakes nothing: waiting jobs may be for it.
      if (signAt > member.lastSeenAt) {
        turn.freedWorkers.add(member.worker.instance);
        turn.memory.fleet.noteSeen(member.worker.instance, signAt);
      }
      return signAt;
    },
  };
};

/** Providers that take no new job now, with the reason. */
export const closedProviders = (turn: Turn): Map<string, string> => {
  const { backoffs, config, fleet } = turn.memory;
  const closed = new Map<string, string>();
  for (const [provider, given] of config.providers) {
    const limit = given.rateLimit?.maxConcurrent ?? null;
    if (limit !== null && fleet.providerLoad(provider) >= limit) {
      closed.set(provider, `provider ${provider} is at its max_concurrent (${limit})`);
    }
  }
  for (const [provider, reason] of closedByBudget(turn)) closed.set(provider, reason);
  for (const [provider, untilAt] of backoffs) {
    if (untilAt > turn.nowAt)
      closed.set(provider, `provider ${provider} backs off until ${new Date(untilAt).toISOString()}`);
  }
  return closed;
};

export const routeRequest = (turn: Pick<Turn, "memory" | "nowAt">, job: Job): RouteRequest => ({
  provider: job.provider,
  model: job.model,
  tags: job.tags,
  excludedProviders: job.excludedProviders,
  avoidedWorkers: job.avoidedWorkers,
  api: job.api,
  tier: job.tier,
  urgency: job.priority,
  ...sessionOf(turn, job),
});

const sessionOf = ({ memory, nowAt }: Pick<Turn, "memory" | "nowAt">, { frontDoor }: Job) =>
  frontDoor?.session == null ? {} : { session: { worker: memory.affinity.workerOf(frontDoor.session, nowAt) } };
