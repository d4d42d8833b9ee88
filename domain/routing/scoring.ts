// How good a worker is for a job: named parts in [0,1], weighted by the tenant and by urgency. The score is the
// weighted mean, 0 to 100. A conversation's next turn scores higher on the worker of the previous turn. The choice
// computes scores by slot, the explanation by worker; a test checks that they agree.

import type { Weights } from "../config.ts";
import { type ScoredOffer, scoredOfferOf } from "../fleet/columns.ts";
import { type Fleet, type Member, usedShareOf } from "../fleet/fleet.ts";
import { freshnessAfter, missedBeatsIn, type PresenceFacts } from "../fleet/freshness.ts";
import { withModel } from "../fleet/model-set.ts";
import { successRateOf } from "../fleet/outcomes.ts";
import { type Priority, TIERS, type Tier } from "../words/requirements.ts";
import { SCORE_PARTS, type ScorePart } from "../words/score-part.ts";
import type { Parts } from "../words/verdict.ts";

/** Critical prefers the freest and most reliable worker; low prefers busy workers, and cheap ones. */
const URGENCY_FACTORS: Record<Priority, Partial<Weights>> = {
  low: { cost: 3, success: 0.5, freshness: 0.5 },
  normal: {},
  high: { capacity: 1.2, success: 1.5, freshness: 1.2, cost: 0.5 },
  critical: { capacity: 1.5, success: 2, freshness: 1.5, cost: 0 },
};

/** Weights for one urgency, scaled to a sum of 100. */
export const weightsFor = (urgency: Priority, configured: Weights): Weights => {
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
  const raw = weightsBy((part) => configured[part] * (factors[part] ?? 1));
  const total = Object.values(raw).reduce((sum, weight) => sum + weight, 0);
  const scale = total > 0 ? 100 / total : 0;
  return weightsBy((part) => raw[part] * scale);
};

const weightsBy = (weightOf: (part: ScorePart) => number): Weights =>
  Object.fromEntries(SCORE_PARTS.map((part) => [part, weightOf(part)])) as Record<ScorePart, number>;

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
  const made = { ...weightsBy((part) => weights[part] * share), affinity: AFFINITY_WEIGHT };
  withAffinity.set(weights, made);
  return made;
};

interface ScoringRequest {
  readonly model: string | null;
  readonly tags: readonly string[];
  readonly tier: Tier | null;
  readonly urgency: Priority;
  readonly session?: { readonly worker: string | null } | undefined;
}

interface ScoringFacts extends PresenceFacts {
  /** Blended price in nano-dollars per million tokens; null if unknown. */
  readonly priceOf: (provider: string, model: string | null) => number | null;
}

/** A price of one dollar per million tokens loses half of this part. */
const MIDDLING_PRICE_NANO = 1_000_000_000;
const UNKNOWN = 0.5;

/** What changes with each assignment, heartbeat and outcome. */
interface ScoredState {
  /** Share of its places in use. */
  usedShare: number;
  successRate: number;
  freshness: number;
  /** It had the conversation's previous turn. */
  isHome: boolean;
}

/** How a part is computed, in [0, 1]: from the offer alone, once for all workers with the same one, or from the state. */
type PartRule =
  | { readonly ofOffer: (offer: ScoredOffer, asked: ScoringRequest, facts: ScoringFacts) => number }
  | { readonly ofState: (state: ScoredState, asked: ScoringRequest) => number };

type AnyPart = keyof PartWeights;

const capacityOf = (usedShare: number, asked: ScoringRequest): number =>
  asked.urgency === "low" ? usedShare : 1 - usedShare;

const tierFit = (asked: Tier | null, offered: Tier | null): number => {
  if (asked === null || asked === offered) return 1;
  if (offered === null) return UNKNOWN;
  return 1 - Math.abs(TIERS.indexOf(asked) - TIERS.indexOf(offered)) / (TIERS.length - 1);
};

/** A worker that does not say what is loaded is judged by whether it says what it has. */
const loadedFit = ({ namesModels, loaded }: ScoredOffer, { model }: ScoringRequest): number => {
  if (model === null) return 1;
  if (loaded !== null) return Number(withModel(model)(loaded));
  return namesModels ? 1 : UNKNOWN;
};

/** Every part of a score: adding one is adding a row. Its weight is its only other fact. */
const PART_RULES: Readonly<Record<AnyPart, PartRule>> = {
  capacity: { ofState: ({ usedShare }, asked) => capacityOf(usedShare, asked) },
  success: { ofState: ({ successRate }) => successRate },
  freshness: { ofState: ({ freshness }) => freshness },
  tag_fit: {
    ofOffer: ({ tagCount }, { tags }) => (1 + tags.length) / (1 + Math.max(tagCount, tags.length)),
  },
  model_loaded: { ofOffer: loadedFit },
  cost: {
    ofOffer: ({ provider }, { model }, { priceOf }) => {
      const price = priceOf(provider, model);
      return price === null ? UNKNOWN : MIDDLING_PRICE_NANO / (MIDDLING_PRICE_NANO + price);
    },
  },
  tier: { ofOffer: (offer, asked) => tierFit(asked.tier, offer.tier) },
  affinity: { ofState: ({ isHome }) => (isHome ? 1 : 0) },
};

const ALL_PARTS = Object.keys(PART_RULES) as AnyPart[];
const partsBy = <Kind extends "ofOffer" | "ofState">(kind: Kind) =>
  ALL_PARTS.flatMap((part) => {
    const rule = PART_RULES[part];
    return kind in rule ? [{ part, of: (rule as Extract<PartRule, Record<Kind, unknown>>)[kind] }] : [];
  });
const OFFER_PARTS = partsBy("ofOffer");
const STATE_PARTS = partsBy("ofState");

/**
 * Parts are written over a copy of these: an object that is made part by part has a shape that V8 forgets when it
 * collects garbage, and with it the code that was compiled for the choice.
 */
const unknownParts = (names: readonly AnyPart[]): Partial<Record<AnyPart, number>> =>
  Object.fromEntries(names.map((part) => [part, UNKNOWN]));
/** Affinity is a part only of a request in a conversation. */
const PARTS = unknownParts(ALL_PARTS.filter((part) => part !== "affinity"));
const PARTS_OF_CONVERSATION = unknownParts(ALL_PARTS);

export const scoreParts = (member: Member, asked: ScoringRequest, facts: ScoringFacts): Parts => {
  const offered = scoredOfferOf(member.worker);
  const state = {
    usedShare: usedShareOf(member),
    successRate: successRateOf(member.worker),
    freshness: member.isConnected || member.isClaiming ? 1 : freshnessAfter(missedBeatsIn(facts)(member.lastSeenAt)),
    isHome: asked.session?.worker === member.worker.instance,
  };
  const worthOf = (rule: PartRule): number =>
    "ofOffer" in rule ? rule.ofOffer(offered, asked, facts) : rule.ofState(state, asked);
  const parts = asked.session === undefined ? { ...PARTS } : { ...PARTS_OF_CONVERSATION };
  for (const part of ALL_PARTS) if (part in parts) parts[part] = worthOf(PART_RULES[part]);
  return parts as Parts;
};

const STEPS = 1000;
/** Scores that differ by less count as equal. */
export const SCORE_STEP = 1 / STEPS;
export const rounded = (score: number): number => Math.round(score * STEPS) / STEPS;

/** Score by slot, unrounded. The offer's part is computed once per distinct offer. */
export const scorerFor = (
  fleet: Fleet,
  asked: ScoringRequest,
  facts: ScoringFacts,
  weights: PartWeights,
): ((slot: number) => number) => {
  const { usedShare, successRate, seenAt, offer, offers } = fleet.columns;
  const home = asked.session?.worker == null ? -1 : (fleet.get(asked.session.worker)?.slot ?? -1);
  const weighed = STATE_PARTS.map(({ part, of }) => ({ of, weight: weights[part] ?? 0 })).filter(
    ({ weight }) => weight > 0,
  );
  const offered: (number | undefined)[] = [];
  const worthOf = (place: number): number => {
    const one = offers[place] as ScoredOffer;
    const worth = OFFER_PARTS.reduce((sum, { part, of }) => sum + of(one, asked, facts) * (weights[part] ?? 0), 0);
    offered[place] = worth;
    return worth;
  };
  const missedBeats = missedBeatsIn(facts);
  // One record for the whole pass.
  const state: ScoredState = { usedShare: 0, successRate: 0, freshness: 0, isHome: false };
  return (slot) => {
    state.usedShare = usedShare[slot] as number;
    state.successRate = successRate[slot] as number;
    state.freshness = freshnessAfter(missedBeats(seenAt[slot] as number));
    state.isHome = slot === home;
    const place = offer[slot] as number;
    let score = offered[place] ?? worthOf(place);
    for (const { of, weight } of weighed) score += of(state, asked) * weight;
    return score;
  };
};
