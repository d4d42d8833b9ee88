// Who gets a job: the filters, a score for the workers that pass, one choice. `explanation.ts` says why, from the same
// filters, scores and order.

import type { Bits } from "../fleet/bits.ts";
import type { Fleet, Member } from "../fleet/fleet.ts";
import type { Parts } from "../words/verdict.ts";
import type { RoutePolicy, RouteRequest } from "./filter.ts";
import { filtersFor } from "./filters.ts";
import { rounded, SCORE_STEP, scoreParts, scorerFor, weightsOf } from "./scoring.ts";
import { ruleOf } from "./strategy.ts";

/** A worker that may have the job, and its score. */
export interface Candidate {
  readonly member: Member;
  readonly score: number;
  readonly breakdown: Parts;
}

export interface Choice extends Candidate {
  /** Who would get it otherwise; null if no other worker may have it. */
  readonly runnerUp: Candidate | null;
  /** How many workers each filter refused, each worker counted under the first filter that did. */
  readonly refused: Readonly<Record<string, number>>;
}

interface Contender {
  member: Member;
  score: number;
  /** The strategy's criterion, compared before the score; greater is better. */
  rank: number;
}

type Rank = (member: Member) => number;

const rankerFor = (asked: RouteRequest, { strategy, chain, priceOf }: RoutePolicy): Rank | null => {
  const { rank } = ruleOf(strategy);
  const facts = { asked, chain, priceOf };
  return rank === null ? null : (member) => rank(member, facts);
};

export const isBetter = (one: Contender, other: Contender): boolean => {
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

export const contenderOf = (member: Member, asked: RouteRequest, policy: RoutePolicy, scoreOf: Score): Contender => ({
  member,
  score: rounded(scoreOf(member.slot)),
  rank: rankerFor(asked, policy)?.(member) ?? 0,
});

/** From this many workers on, those behind two equal ones are not compared; with fewer, leaving them out costs more. */
const MANY_WORKERS = 256;

/** The worker that gets the job, with the decision to store; null if no worker may have it. */
export const choose = (fleet: Fleet, asked: RouteRequest, policy: RoutePolicy): Choice | null => {
  const left = fleet.offers.registered.copy();
  const refused: Record<string, number> = {};
  let before = fleet.size;
  for (const filter of filtersFor(asked, policy)) {
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
  const { member, score, breakdown } = candidateOf(best);
  return { member, score, breakdown, runnerUp: second === null ? null : candidateOf(second), refused };
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
  const rankOf = rankerFor(asked, policy);
  const { lastTurn } = fleet.columns;
  for (let slot = left.first(first + 1); slot !== -1; slot = left.first(slot + 1)) {
    const score = scoreOf(slot);
    // Fast path: a later worker in the pass must have a higher score than the second, or have waited longer.
    if (second !== null && rankOf === null && second.member.worker.expiredLeases === 0) {
      const isWorse = score < second.score - SCORE_STEP;
      const isLater = score < second.score + SCORE_STEP / 2 && (lastTurn[slot] as number) >= second.member.lastTurn;
      if (isWorse || isLater) continue;
    }
    next.member = fleet.at(slot);
    next.score = rounded(score);
    next.rank = rankOf?.(next.member) ?? 0;
    const spare: Contender = second ?? { ...next };
    if (isBetter(next, best)) [best, second, next] = [next, best, spare];
    else if (second === null || isBetter(next, second)) [second, next] = [next, spare];
  }
  return [best, second];
};
