// Who gets a job, and why: the filters, a score for the workers that pass, one choice. Dispatch, explain, a pending
// job's waiting_reason, a worker's `skipped` and the stored decision all come from here.

import type { Bits } from "./bits.ts";
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
  readonly workers: readonly WorkerVerdict[];
}

export interface Choice {
  readonly member: Member;
  readonly score: number;
  readonly breakdown: Parts;
  /** How many workers each filter turned away, each counted under the first one that did. */
  readonly refused: Readonly<Record<string, number>>;
}

interface Contender {
  member: Member;
  score: number;
  /** What the strategy looks at before the score; greater is better. */
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
  // A worker that let leases expire gets the next one only where nobody else may have it.
  if (a.worker.expiredLeases !== b.worker.expiredLeases) return a.worker.expiredLeases < b.worker.expiredLeases;
  if (one.rank !== other.rank) return one.rank > other.rank;
  if (one.score !== other.score) return one.score > other.score;
  if (a.lastTurn !== b.lastTurn) return a.lastTurn < b.lastTurn;
  return a.slot < b.slot;
};

/** Before rounding, by slot. */
type Score = (slot: number) => number;

const contenderOf = (member: Member, asked: RouteRequest, policy: RoutePolicy, scoreOf: Score): Contender => ({
  member,
  score: rounded(scoreOf(member.slot)),
  rank: rankOf(member, asked, policy),
});

/** The worker that gets the job, with the decision to store; null where nobody may have it. */
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
  const best = bestOf(left, fleet, asked, policy, scorerFor(fleet, asked, policy, weightsOf(asked, policy.weights)));
  return { member: best.member, score: best.score, breakdown: scoreParts(best.member, asked, policy), refused };
};

/** One pass over all that may have the job; `left` is not empty. Two records serve the whole pass. */
const bestOf = (left: Bits, fleet: Fleet, asked: RouteRequest, policy: RoutePolicy, scoreOf: Score): Contender => {
  const first = fleet.at(left.first());
  const best = contenderOf(first, asked, policy, scoreOf);
  const next = { ...best };
  const isByScore = policy.strategy === "score";
  const { lastTurn } = fleet.columns;
  let bestScore = scoreOf(first.slot);
  for (const slot of left.members()) {
    const score = scoreOf(slot);
    // Most need no closer look: who comes later in the pass must score higher, or have waited longer.
    const isWorse = score < bestScore - SCORE_STEP;
    const isLater = score <= bestScore && (lastTurn[slot] as number) >= best.member.lastTurn;
    if (isByScore && (isWorse || isLater) && best.member.worker.expiredLeases === 0) continue;
    next.member = fleet.at(slot);
    next.score = rounded(score);
    next.rank = rankOf(next.member, asked, policy);
    if (!isBetter(next, best)) continue;
    bestScore = score;
    best.member = next.member;
    best.score = next.score;
    best.rank = next.rank;
  }
  return best;
};

/** The whole reasoning, every worker in it, best first; changes nothing. */
export const explain = (
  fleet: Fleet,
  asked: RouteRequest,
  policy: RoutePolicy,
  notes: readonly string[] = [],
): Routing => {
  const weights = weightsOf(asked, policy.weights);
  const scoreOf = scorerFor(fleet, asked, policy, weights);
  const eligible: Contender[] = [];
  const refused: WorkerVerdict[] = [];
  for (const member of fleet.members()) {
    const reasons = refusalsOf(member, asked, policy, fleet);
    if (reasons.length === 0) eligible.push(contenderOf(member, asked, policy, scoreOf));
    else refused.push(toVerdict(member, null, {}, reasons));
  }
  eligible.sort((one, other) => (isBetter(one, other) ? -1 : 1));
  return {
    request: asked,
    strategy: policy.strategy,
    weights,
    selected: eligible[0]?.member.worker.instance ?? null,
    notes,
    workers: [
      ...eligible.map((one) => toVerdict(one.member, one.score, scoreParts(one.member, asked, policy), [])),
      ...refused.sort(byReasons),
    ],
  };
};

/** The reasoning on a job that may not run yet: nobody may have it, for one more reason. */
export const heldBack = (routing: Routing, reason: string): Routing => ({
  ...routing,
  selected: null,
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
 * Why nobody may have a job, by those that came closest to it, at most `limit` of them: a filter that all others passed
 * turned them away. Looks at no more workers than it answers with.
 */
export const explainClosest = (
  fleet: Fleet,
  asked: RouteRequest,
  policy: RoutePolicy,
  limit: number,
): WorkerVerdict[] => {
  const left = fleet.registered.copy();
  const turnedAway: Bits[] = [];
  for (const filter of FILTERS) {
    if (filter.applies?.(asked, policy) === false) continue;
    const before = left.copy();
    filter.narrow(left, fleet, asked, policy);
    turnedAway.unshift(before.subtract(left));
  }
  const closest: WorkerVerdict[] = [];
  for (const bits of [left, ...turnedAway]) {
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
});

/** Whether somebody would have a job, if there were room. */
export const isOnlyFull = (fleet: Fleet, asked: Requirements, policy: RoutePolicy): boolean => {
  const left = fleet.registered.copy();
  for (const filter of FILTERS) {
    const isAboutRoom = filter.name === "capacity" || filter.name === "provider_limit";
    if (!isAboutRoom && filter.applies?.(asked, policy) !== false) filter.narrow(left, fleet, asked, policy);
  }
  return left.count() > 0;
};

/** Why nobody may have a job now, in one line; null where somebody may. */
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
