// How good a worker is for a job: named parts in [0,1], weighted by the tenant and by urgency. The score is the
// weighted mean, 0 to 100. A conversation's next turn scores higher on the worker of the previous turn. The choice
// computes scores by slot, the explanation by worker; a test checks that they agree.

import { type ScoredOffer, scoredOfferOf } from "./columns.ts";
import { DEFAULT_WEIGHTS, type Weights } from "./config.ts";
import { type Fleet, type Member, usedShareOf } from "./fleet.ts";
import { freshnessAfter, missedBeatsIn, type PresenceFacts } from "./freshness.ts";
import { type Priority, TIERS, type Tier } from "./requirements.ts";
import { SCORE_PARTS } from "./score-part.ts";
import type { Parts } from "./verdict.ts";
import { successRateOf } from "./worker.ts";

/** Critical prefers the freest and most reliable worker; low prefers busy workers, and cheap ones. */
const URGENCY_FACTORS: Record<Priority, Partial<Weights>> = {
  low: { cost: 3, success: 0.5, freshness: 0.5 },
  normal: {},
  high: { capacity: 1.2, success: 1.5, freshness: 1.2, cost: 0.5 },
  critical: { capacity: 1.5, success: 2, freshness: 1.5, cost: 0 },
};

/** Weights for one urgency, scaled to a sum of 100. */
export const weightsFor = (urgency: Priority, configured: Weights = DEFAULT_WEIGHTS): Weights => {
  const known = scaledWeights.get(configured) ?? new Map<Priority, Weights>();
  scaledWeights.set(configured, known);
  const weights = known.get(urgency) ?? scaled(urgency, configured);
  known.set(urgency, weights);
  return weights;
};

/** Configured weights are immutable, so scaled weights are cached with them. */
const scaledWeights = new WeakMap<Weights, Map<Priority, Weights>>();

const scaled = (urgency: Priority, configured: Weights): Weights => {
  const factors = URGENCY_FACTORS[urgency];
  const raw = SCORE_PARTS.map((part) => [part, configured[part] * (factors[part] ?? 1)] as const);
  const total = raw.reduce((sum, [, weight]) => sum + weight, 0);
  const scale = total > 0 ? 100 / total : 0;
  return Object.fromEntries(raw.map(([part, weight]) => [part, weight * scale])) as unknown as Weights;
};

/** The share of affinity in the 100 points of a request in a conversation; the other weights shrink. */
const AFFINITY_WEIGHT = 20;

export type PartWeights = Weights & { readonly affinity?: number };

const withAffinity = new WeakMap<Weights, PartWeights>();

/** The weights of one request. */
export const weightsOf = (asked: ScoringRequest, configured: Weights): PartWeights => {
  const weights = weightsFor(asked.urgency, configured);
  if (asked.session === undefined) return weights;
  const known = withAffinity.get(weights);
  if (known !== undefined) return known;
  const share = (100 - AFFINITY_WEIGHT) / 100;
  const shrunk = Object.fromEntries(SCORE_PARTS.map((part) => [part, weights[part] * share])) as unknown as Weights;
  const made = { ...shrunk, affinity: AFFINITY_WEIGHT };
  withAffinity.set(weights, made);
  return made;
};

export interface ScoringRequest {
  readonly model: string | null;
  readonly tags: readonly string[];
  readonly tier: Tier | null;
  readonly urgency: Priority;
  readonly session?: { readonly worker: string | null } | undefined;
}

export interface ScoringFacts extends PresenceFacts {
  /** Blended price in nano-dollars per million tokens; null if unknown. */
  readonly priceOf: (provider: string, model: string | null) => number | null;
}

/** A price of one dollar per million tokens loses half of this part. */
const MIDDLING_PRICE_NANO = 1_000_000_000;
const UNKNOWN = 0.5;

type OfferParts = Pick<Parts, "tag_fit" | "model_loaded" | "cost" | "tier">;

export const scoreParts = (member: Member, asked: ScoringRequest, facts: ScoringFacts): Parts => ({
  capacity: capacityOf(usedShareOf(member), asked),
  success: successRateOf(member.worker),
  freshness: member.isConnected || member.isClaiming ? 1 : freshnessAfter(missedBeatsIn(facts)(member.lastSeenAt)),
  ...offerParts(scoredOfferOf(member.worker), asked, facts),
  ...(asked.session === undefined ? {} : { affinity: asked.session.worker === member.worker.instance ? 1 : 0 }),
});

/** The parts that depend only on the offer. */
const offerParts = (offer: ScoredOffer, asked: ScoringRequest, facts: ScoringFacts): OfferParts => {
  const price = facts.priceOf(offer.provider, asked.model);
  return {
    tag_fit: (1 + asked.tags.length) / (1 + Math.max(offer.tagCount, asked.tags.length)),
    model_loaded: asked.model === null || offer.namesModels ? 1 : UNKNOWN,
    cost: price === null ? UNKNOWN : MIDDLING_PRICE_NANO / (MIDDLING_PRICE_NANO + price),
    tier: tierFit(asked.tier, offer.tier),
  };
};

const capacityOf = (usedShare: number, asked: ScoringRequest): number =>
  asked.urgency === "low" ? usedShare : 1 - usedShare;

const tierFit = (asked: Tier | null, offered: Tier | null): number => {
  if (asked === null || asked === offered) return 1;
  if (offered === null) return UNKNOWN;
  return 1 - Math.abs(TIERS.indexOf(asked) - TIERS.indexOf(offered)) / (TIERS.length - 1);
};

const offerScore = (parts: OfferParts, weights: Weights): number =>
  parts.tag_fit * weights.tag_fit +
  parts.model_loaded * weights.model_loaded +
  parts.cost * weights.cost +
  parts.tier * weights.tier;

const stateScore = (capacity: number, success: number, freshness: number, weights: Weights): number =>
  capacity * weights.capacity + success * weights.success + freshness * weights.freshness;

const STEPS = 1000;
/** Scores that differ by less count as equal. */
export const SCORE_STEP = 1 / STEPS;
export const rounded = (score: number): number => Math.round(score * STEPS) / STEPS;

export const scoreOf = (parts: Parts, weights: PartWeights): number =>
  rounded(
    offerScore(parts, weights) +
      stateScore(parts.capacity, parts.success, parts.freshness, weights) +
      (parts.affinity ?? 0) * (weights.affinity ?? 0),
  );

/** Score by slot, unrounded. The offer's part is computed once per distinct offer. */
export const scorerFor = (
  fleet: Fleet,
  asked: ScoringRequest,
  facts: ScoringFacts,
  weights: PartWeights,
): ((slot: number) => number) => {
  const { usedShare, successRate, seenAt, offer, offers } = fleet.columns;
  const home = asked.session?.worker == null ? -1 : (fleet.get(asked.session.worker)?.slot ?? -1);
  const homeBonus = weights.affinity ?? 0;
  const offered: (number | undefined)[] = [];
  const worthOf = (place: number): number => {
    const worth = offerScore(offerParts(offers[place] as ScoredOffer, asked, facts), weights);
    offered[place] = worth;
    return worth;
  };
  const missedBeats = missedBeatsIn(facts);
  return (slot) => {
    const capacity = capacityOf(usedShare[slot] as number, asked);
    const freshness = freshnessAfter(missedBeats(seenAt[slot] as number));
    const place = offer[slot] as number;
    const bonus = slot === home ? homeBonus : 0;
    const state = stateScore(capacity, successRate[slot] as number, freshness, weights);
    return (offered[place] ?? worthOf(place)) + state + bonus;
  };
};
