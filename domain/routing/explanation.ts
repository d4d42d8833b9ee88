// Why a job goes where it goes, or waits: the verdict on each worker, and one line for a job that nobody takes. Dispatch,
// explain, a pending job's waiting_reason and the stored decision all use it.

import type { Strategy, Weights } from "../config.ts";
import { Bits } from "../fleet/bits.ts";
import type { Fleet, Member } from "../fleet/fleet.ts";
import type { Requirements } from "../words/requirements.ts";
import type { Parts, WorkerVerdict } from "../words/verdict.ts";
import { contenderOf, isBetter } from "./choice.ts";
import type { CapacityReason, Filter, RoutePolicy, RouteRequest, Wanted } from "./filter.ts";
import { avoidedIn, filtersFor, refusalsOf } from "./filters.ts";
import { scoreParts, scorerFor, weightsOf } from "./scoring.ts";

export interface Routing {
  readonly request: RouteRequest;
  readonly strategy: Strategy;
  readonly weights: Weights;
  readonly selected: string | null;
  readonly notes: readonly string[];
  /** Best first, then the refused workers, those that passed most filters first; at most a limit of each. */
  readonly workers: readonly WorkerVerdict[];
  readonly eligibleCount: number;
  readonly totalCount: number;
}

export interface Scope {
  /** Bounds the eligible workers listed, and the refused ones that passed most filters. */
  readonly limit?: number;
  /** Only this worker. */
  readonly instance?: string;
}

/** The whole reasoning, best first; changes nothing. */
export const explain = (
  fleet: Fleet,
  asked: RouteRequest,
  policy: RoutePolicy,
  notes: readonly string[] = [],
  { limit = fleet.size, instance }: Scope = {},
): Routing => {
  const weights = weightsOf(asked, policy.weights);
  const scoreOf = scorerFor(fleet, asked, policy, weights);
  const sifted = sift(fleet, asked, policy);
  const eligible = [...sifted.left.members()].map((slot) => contenderOf(fleet.at(slot), asked, policy, scoreOf));
  eligible.sort((one, other) => (isBetter(one, other) ? -1 : 1));
  const only = instance === undefined ? null : onlyOne(fleet, instance);
  const named = only === null ? eligible.slice(0, limit) : eligible.filter(({ member }) => only.has(member.slot));
  const refused = only === null ? sifted.turnedAway : sifted.turnedAway.map((bits) => bits.intersect(only));
  return {
    request: asked,
    strategy: policy.strategy,
    weights,
    selected: eligible[0]?.member.worker.instance ?? null,
    notes,
    workers: [
      ...named.map((one) => toVerdict(one.member, one.score, scoreParts(one.member, asked, policy), [])),
      ...closestOf(refused, fleet, asked, policy, limit),
    ],
    eligibleCount: eligible.length,
    totalCount: fleet.size,
  };
};

/** The reasoning for a job that may not run yet: no worker may have it, for one more reason. */
export const heldBack = (routing: Routing, reason: string): Routing => ({
  ...routing,
  selected: null,
  eligibleCount: 0,
  notes: [...routing.notes, reason],
  workers: routing.workers.map((verdict) => ({
    ...verdict,
    eligible: false,
    score: null,
    breakdown: {},
    reasons: [...verdict.reasons, reason],
  })),
});

/**
 * Why no worker may have a job, explained by at most `limit` workers that passed most filters. Examines no more workers
 * than it returns.
 */
export const explainClosest = (
  fleet: Fleet,
  asked: RouteRequest,
  policy: RoutePolicy,
  limit: number,
): WorkerVerdict[] => {
  const { left, turnedAway } = sift(fleet, asked, policy);
  return closestOf([left, ...turnedAway], fleet, asked, policy, limit);
};

const onlyOne = (fleet: Fleet, instance: string): Bits => {
  const bits = new Bits();
  const member = fleet.get(instance);
  if (member !== undefined) bits.set(member.slot);
  return bits;
};

interface Sifted {
  /** Workers that may have the job. */
  readonly left: Bits;
  /** The workers that each filter refused, the last filter's first. */
  readonly turnedAway: readonly Bits[];
}

const sift = (fleet: Fleet, asked: Wanted, policy: RoutePolicy): Sifted => {
  const left = fleet.offers.registered.copy();
  const turnedAway: Bits[] = [];
  for (const filter of filtersFor(asked, policy)) {
    const before = left.copy();
    filter.narrow(left, fleet, asked, policy);
    turnedAway.unshift(before.subtract(left));
  }
  return { left, turnedAway };
};

const closestOf = (
  groups: readonly Bits[],
  fleet: Fleet,
  asked: Wanted,
  policy: RoutePolicy,
  limit: number,
): WorkerVerdict[] => {
  const closest: WorkerVerdict[] = [];
  for (const bits of groups) {
    for (const slot of bits.members().subarray(0, limit - closest.length)) {
      const member = fleet.at(slot);
      closest.push(toVerdict(member, null, {}, refusalsOf(member, asked, policy, fleet)));
    }
  }
  return closest.sort(byReasons);
};

const byReasons = (one: WorkerVerdict, other: WorkerVerdict): number =>
  one.reasons.length - other.reasons.length || (one.instance < other.instance ? -1 : 1);

const toVerdict = (
  member: Member,
  score: number | null,
  breakdown: Partial<Parts>,
  reasons: readonly string[],
): WorkerVerdict => ({
  instance: member.worker.instance,
  provider: member.worker.provider,
  eligible: reasons.length === 0,
  score,
  breakdown,
  reasons,
  ...(reasons.length === 0 && member.worker.expiredLeases > 0 ? { note: LETS_EXPIRE } : {}),
});

const LETS_EXPIRE = "did not start the last job it was given: it comes after the others";

/** Whether a worker would get a job if it had a free place. */
export const isOnlyFull = (fleet: Fleet, asked: Wanted, policy: RoutePolicy): boolean =>
  roomAside(fleet, asked, policy).count() > 0;

/** The workers that may have a job, whether they have room or not. */
const roomAside = (fleet: Fleet, asked: Wanted, policy: RoutePolicy): Bits => {
  const left = fleet.offers.registered.copy();
  for (const filter of filtersFor(asked, policy)) {
    if (!filter.isAboutRoom) filter.narrow(left, fleet, asked, policy);
  }
  return left;
};

/** Whether a worker other than these would get a job if it had a free place. */
export const isElsewhere = (fleet: Fleet, asked: Wanted, policy: RoutePolicy, tried: readonly string[]): boolean => {
  const others = { ...asked, avoidedWorkers: [...asked.avoidedWorkers, ...tried] };
  return roomAside(fleet, others, policy).subtract(avoidedIn(fleet, tried)).count() > 0;
};

/** The filter that refused the last workers, and which these were; null if a worker may have the job. */
const lastRefusing = (
  fleet: Fleet,
  asked: Wanted,
  policy: RoutePolicy,
): { readonly filter: Filter; readonly before: Bits } | null => {
  const left = fleet.offers.registered.copy();
  for (const filter of filtersFor(asked, policy)) {
    const before = left.copy();
    filter.narrow(left, fleet, asked, policy);
    if (left.count() === 0) return { filter, before };
  }
  return null;
};

/** Why the fleet has no capacity for a job; null if it has, or if one more worker would not help. */
export const whyNoCapacity = (fleet: Fleet, asked: Requirements, policy: RoutePolicy): CapacityReason | null => {
  const filter = lastRefusing(fleet, asked, policy)?.filter;
  if (filter === undefined) return null;
  if (filter.whyNoCapacity !== undefined) return filter.whyNoCapacity(asked);
  return filter.isAboutRoom ? "all_full" : "no_worker";
};

/** Why no worker may have a job now, in one line; null if one may. */
export const whyWaiting = (fleet: Fleet, asked: Wanted, policy: RoutePolicy): string | null => {
  if (fleet.size === 0) return "no worker is registered";
  const refusing = lastRefusing(fleet, asked, policy);
  return refusing === null ? null : refusing.filter.whyNobody({ before: refusing.before, fleet, asked, policy });
};
