// What the router gets from the tenant: its rules, prices and closed providers at this instant, and a job's requirements.

import type { Job } from "../../domain/job/job.ts";
import { enqueuedAt } from "../../domain/job/queue-place.ts";
import { type BatchRules, backsOff } from "../../domain/routing/batch-room.ts";
import type { RoutePolicy, RouteRequest } from "../../domain/routing/filter.ts";
import { heldByMoney } from "../steps/key-limits.ts";
import { lastSignOf } from "../steps/last-sign.ts";
import { blendedPrice } from "../steps/pricing.ts";
import { closedByBudget } from "../steps/reached-budgets.ts";
import type { Turn } from "../turn/turn.ts";
import { isEchoAside } from "./echo-aside.ts";
import { swapRules } from "./swap-rules.ts";

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
    edgeAfterMs: config.edgeAfterMs,
    isEchoAside: isEchoAside(turn),
    swapRules: swapRules(turn),
    batchRules: turn.memory.batches.open.size === 0 ? undefined : batchRules(turn),
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

const batchRules = (turn: Turn): BatchRules => {
  const { config, batches } = turn.memory;
  const { keepFree, quietMs } = config.batches;
  const held = new Map<string, string | null>();
  return {
    keepFree,
    quietUntil: ({ worker: { instance }, load }) => {
      if (quietMs === 0) return null;
      if (load > (batches.ofWorker.get(instance) ?? 0)) return Number.POSITIVE_INFINITY;
      const untilAt = (batches.otherAt.get(instance) ?? Number.NEGATIVE_INFINITY) + quietMs;
      return untilAt > turn.nowAt ? untilAt : null;
    },
    backsOffUntil: (provider) => {
      const { untilAt = 0 } = batches.backoffs.get(provider) ?? {};
      return untilAt > turn.nowAt ? untilAt : null;
    },
    holds: (id) => {
      const known = held.get(id);
      if (known !== undefined) return known;
      const { status, keyId = null } = turn.memory.batches.open.get(id) ?? {};
      const reason = status === "cancelling" ? "its batch was cancelled" : heldByMoney(turn, keyId);
      held.set(id, reason);
      return reason;
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
    if (untilAt > turn.nowAt) closed.set(provider, backsOff(provider, untilAt));
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
  batch: job.batch,
  edge: job.edge,
  waitingSinceAt: enqueuedAt(job),
  tier: job.tier,
  urgency: job.priority,
  session: sessionOf(turn, job),
});

const sessionOf = ({ memory, nowAt }: Pick<Turn, "memory" | "nowAt">, { frontDoor }: Job) =>
  frontDoor?.session == null ? undefined : { worker: memory.affinity.workerOf(frontDoor.session, nowAt) };
