// How good a worker is for a job: seven named parts in [0,1], weighted by the tenant and by urgency. The score is the
// weighted mean, 0 to 100. One function computes the parts, for the choice as for its explanation.

import { DEFAULT_WEIGHTS, SCORE_PARTS, type Weights } from "./config.ts";
import type { Member } from "./fleet.ts";
import { type Priority, TIERS, type Tier } from "./requirements.ts";
import type { Parts } from "./verdict.ts";

/** Critical wants the freest and most reliable worker; low packs workers that are busy already, and saves money. */
const URGENCY_FACTORS: Record<Priority, Partial<Weights>> = {
  low: { cost: 3, success: 0.5, freshness: 0.5 },
  normal: {},
  high: { capacity: 1.2, success: 1.5, freshness: 1.2, cost: 0.5 },
  critical: { capacity: 1.5, success: 2, freshness: 1.5, cost: 0 },
};

/** Weights for one urgency, scaled so that they add up to 100. */
export const weightsFor = (urgency: Priority, configured: Weights = DEFAULT_WEIGHTS): Weights => {
  const known = scaledWeights.get(configured) ?? new Map<Priority, Weights>();
  scaledWeights.set(configured, known);
  const weights = known.get(urgency) ?? scaled(urgency, configured);
  known.set(urgency, weights);
  return weights;
};

/** Configured weights are immutable, so what follows from them holds for as long as they do. */
const scaledWeights = new WeakMap<Weights, Map<Priority, Weights>>();

const scaled = (urgency: Priority, configured: Weights): Weights => {
  const factors = URGENCY_FACTORS[urgency];
  const raw = SCORE_PARTS.map((part) => [part, configured[part] * (factors[part] ?? 1)] as const);
  const total = raw.reduce((sum, [, weight]) => sum + weight, 0);
  const scale = total > 0 ? 100 / total : 0;
  return Object.fromEntries(raw.map(([part, weight]) => [part, weight * scale])) as unknown as Weights;
};

export interface ScoringRequest {
  readonly model: string | null;
  readonly tags: readonly string[];
  readonly tier: Tier | null;
  readonly urgency: Priority;
}

export interface ScoringFacts {
  readonly nowAt: number;
  readonly offlineAfterMs: number;
  /** Blended price in nano-dollars per million tokens; null where unknown. */
  readonly priceOf: (provider: string, model: string | null) => number | null;
}

/** A dollar per million tokens is middling: it costs half of this part. */
const MIDDLING_PRICE_NANO = 1_000_000_000;
const UNKNOWN = 0.5;

const noParts = (): Parts => ({
  capacity: 0,
  tag_fit: 0,
  model_loaded: 0,
  success: 0,
  freshness: 0,
  cost: 0,
  tier: 0,
});

/** `into` lets a scan of a whole fleet do without an object for each worker. */
export const scoreParts = (
  member: Member,
  asked: ScoringRequest,
  facts: ScoringFacts,
  into: Parts = noParts(),
): Parts => {
  const { worker, load } = member;
  const used = worker.concurrency === 0 ? 1 : Math.min(1, load / worker.concurrency);
  const price = facts.priceOf(worker.provider, asked.model);
  into.capacity = asked.urgency === "low" ? used : 1 - used;
  into.tag_fit = (1 + asked.tags.length) / (1 + Math.max(worker.tags.length, asked.tags.length));
  into.model_loaded = asked.model === null ? 1 : worker.models === null ? UNKNOWN : 1;
  into.success = member.successRate;
  into.freshness = member.isConnected || member.isClaiming ? 1 : freshnessOf(member.lastSeenAt, facts);
  into.cost = price === null ? UNKNOWN : MIDDLING_PRICE_NANO / (MIDDLING_PRICE_NANO + price);
  into.tier = tierFit(asked.tier, worker.tier);
  return into;
};

const freshnessOf = (lastSeenAt: number, facts: ScoringFacts): number => {
  const age = Math.max(0, facts.nowAt - lastSeenAt);
  // Between two heartbeats a worker is as fresh as ever; only a missed one tells it from its peers.
  return Math.max(0, 1 - Math.floor((4 * age) / facts.offlineAfterMs) / 4);
};

const tierFit = (asked: Tier | null, offered: Tier | null): number => {
  if (asked === null || asked === offered) return 1;
  if (offered === null) return UNKNOWN;
  return 1 - Math.abs(TIERS.indexOf(asked) - TIERS.indexOf(offered)) / (TIERS.length - 1);
};

export const scoreOf = (parts: Parts, weights: Weights): number => {
  const score =
    parts.capacity * weights.capacity +
    parts.tag_fit * weights.tag_fit +
    parts.model_loaded * weights.model_loaded +
    parts.success * weights.success +
    parts.freshness * weights.freshness +
    parts.cost * weights.cost +
    parts.tier * weights.tier;
  return Math.round(score * 1000) / 1000;
};

/** Reused by each scan; nothing outside of one sees it. */
const scratch = noParts();

/** The score alone. */
export const scoreMember = (member: Member, asked: ScoringRequest, facts: ScoringFacts, weights: Weights): number =>
  scoreOf(scoreParts(member, asked, facts, scratch), weights);
