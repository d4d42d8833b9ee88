// Who gets a job, and why: the filters, a score for the workers that pass, one choice. Dispatch, explain, a pending
// job's waiting_reason, a worker's `skipped` and the stored decision all use it.

import { Bits } from "./bits.ts";
import type { Strategy, Weights } from "./config.ts";
import type { Fleet, Member } from "./fleet.ts";
import type { Requirements } from "./requirements.ts";
import { FILTERS, type RoutePolicy, type RouteRequest, refusalsOf } from "./routing-filter.ts";
import { rounded, SCORE_STEP, scoreParts, scorerFor, weightsOf } from "./scoring.ts";
import type { Parts, WorkerVerdict } from "./verdict.ts";

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

/** A worker that may have the job, and its score. */
export interface Candidate {
  readonly member: Member;
  readonly score: number;
  readonly breakdown: Parts;
}

export interface Choice extends Candidate {
  /** Who would get it otherwise; null if no other worker may have it. */
  readonly runnerUp: Candidate | null;
  /** How many workers each filter refused, each counted under the first one that did. */
  readonly refused: Readonly<Record<string, number>>;
}

interface Contender {
  member: Member;
  score: number;
  /** The strategy's criterion, compared before the score; greater is better. */
  rank: number;
}

const rankOf = (member: Member, asked: RouteRequest, policy: RoutePolicy): number => {
  const { worker, load } = member;
  switch (policy.strategy) {
    case "score":
      return 0;
    case "fallback":
      return asked.provider === null ? -policy.chain.indexOf(worker.provider) : 0;
    case "least_loaded":
      return worker.concurrency === 0 ? -1 : -load / worker.concurrency;
    case "cheapest":
      return -(policy.priceOf(worker.provider, asked.model) ?? Number.MAX_VALUE);
    case "round_robin":
      return -member.lastTurn;
  }
};

const isBetter = (one: Contender, other: Contender): boolean => {
  const [a, b] = [one.member, other.member];
  // A worker that let leases expire is chosen only if no other may have it.
  if (a.worker.expiredLeases !== b.worker.expiredLeases) return a.worker.expiredLeases < b.worker.expiredLeases;
  if (one.rank !== other.rank) return one.rank > other.rank;
  if (one.score !== other.score) return one.score > other.score;
  if (a.lastTurn !== b.lastTurn) return a.lastTurn < b.lastTurn;
  return a.slot < b.slot;
};

/** By slot, before rounding. */
type Score = (slot: number) => number;

const contenderOf = (member: Member, asked: RouteRequest, policy: RoutePolicy, scoreOf: Score): Contender => ({
  member,
  score: rounded(scoreOf(member.slot)),
  rank: rankOf(member, asked, policy),
});

/** From so many workers on, those that equal ones precede are left out first; for fewer this costs more than it saves. */
const MANY_WORKERS = 256;

/** The worker that gets the job, with the decision to store; null if no worker may have it. */
export const choose = (fleet: Fleet, asked: RouteRequest, policy: RoutePolicy): Choice | null => {
  const left = fleet.registered.copy();
  const refused: Record<string, number> = {};
  let before = fleet.size;
  for (const filter of FILTERS) {
    if (filter.applies?.(asked, policy) === false) continue;
    filter.narrow(left, fleet, asked, policy);
    const after = left.count();
    if (after < before) refused[filter.name] = before - after;
    if (after === 0) return null;
    before = after;
  }
  const compared = before < MANY_WORKERS ? left : foremostOf(left, fleet, asked, policy);
  const [best, second] = bestTwoOf(compared, fleet, asked, policy);
  const candidateOf = ({ member, score }: Contender): Candidate => ({
    member,
    score,
    breakdown: scoreParts(member, asked, policy),
  });
  return { ...candidateOf(best), runnerUp: second === null ? null : candidateOf(second), refused };
};

/** The workers among which the best two are; the conversation's worker scores higher than its equals. */
const foremostOf = (left: Bits, fleet: Fleet, asked: RouteRequest, policy: RoutePolicy): Bits => {
  const foremost = fleet.equals.foremost(left, fleet.columns, policy);
  const home = asked.session?.worker == null ? undefined : fleet.get(asked.session.worker);
  if (home !== undefined && left.has(home.slot)) foremost.set(home.slot);
  return foremost;
};

/**
 * One pass over all workers that may have the job; `left` is not empty. Three records are reused for the whole pass.
 */
const bestTwoOf = (
  left: Bits,
  fleet: Fleet,
  asked: RouteRequest,
  policy: RoutePolicy,
): [best: Contender, second: Contender | null] => {
  const scoreOf = scorerFor(fleet, asked, policy, weightsOf(asked, policy.weights));
  const first = left.first();
  let best = contenderOf(fleet.at(first), asked, policy, scoreOf);
  let second: Contender | null = null;
  let next = { ...best };
  const isByScore = policy.strategy === "score";
  const { lastTurn } = fleet.columns;
  for (let slot = left.first(first + 1); slot !== -1; slot = left.first(slot + 1)) {
    const score = scoreOf(slot);
    // Fast path: a later worker in the pass must have a higher score than the second, or have waited longer.
    if (second !== null && isByScore && second.member.worker.expiredLeases === 0) {
      const isWorse = score < second.score - SCORE_STEP;
      const isLater = score < second.score + SCORE_STEP / 2 && (lastTurn[slot] as number) >= second.member.lastTurn;
      if (isWorse || isLater) continue;
    }
    next.member = fleet.at(slot);
    next.score = rounded(score);
    next.rank = rankOf(next.member, asked, policy);
    const spare: Contender = second ?? { ...next };
    if (isBetter(next, best)) [best, second, next] = [next, best, spare];
    else if (second === null || isBetter(next, second)) [second, next] = [next, spare];
  }
  return [best, second];
};

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

const sift = (fleet: Fleet, asked: Requirements, policy: RoutePolicy): Sifted => {
  const left = fleet.registered.copy();
  const turnedAway: Bits[] = [];
  for (const filter of FILTERS) {
    if (filter.applies?.(asked, policy) === false) continue;
    const before = left.copy();
    filter.narrow(left, fleet, asked, policy);
    turnedAway.unshift(before.subtract(left));
  }
  return { left, turnedAway };
};

const closestOf = (
  groups: readonly Bits[],
  fleet: Fleet,
  asked: Requirements,
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
export const isOnlyFull = (fleet: Fleet, asked: Requirements, policy: RoutePolicy): boolean => {
  const left = fleet.registered.copy();
  for (const filter of FILTERS) {
    const isAboutRoom = filter.name === "capacity" || filter.name === "provider_limit";
    if (!isAboutRoom && filter.applies?.(asked, policy) !== false) filter.narrow(left, fleet, asked, policy);
  }
  return left.count() > 0;
};

/** Why no worker may have a job now, in one line; null if one may. */
export const whyWaiting = (fleet: Fleet, asked: Requirements, policy: RoutePolicy): string | null => {
  const left = fleet.registered.copy();
  if (fleet.size === 0) return "no worker is registered";
  for (const filter of FILTERS) {
    if (filter.applies?.(asked, policy) === false) continue;
    const before = left.copy();
    filter.narrow(left, fleet, asked, policy);
    if (left.count() === 0) return filter.whyNobody({ before, fleet, asked, policy });
  }
  return null;
};
