// Who gets a job, and why. Named filters, all evaluated; a score for those that pass; one choice. Dispatch, explain,
// a pending job's waiting_reason, a worker's `skipped` and the stored decision all come from here.

import type { Bits } from "./bits.ts";
import type { Strategy, Weights } from "./config.ts";
import { type Fleet, isCutOff, type Member } from "./fleet.ts";
import type { Priority, Requirements, Tier } from "./requirements.ts";
import { rounded, SCORE_STEP, scoreParts, scorerFor, weightsFor } from "./scoring.ts";
import type { Parts, WorkerVerdict } from "./verdict.ts";
import { isOffline, pauseReasonOf } from "./worker.ts";

export interface RouteRequest extends Requirements {
  readonly tier: Tier | null;
  readonly urgency: Priority;
}

/** What the tenant's state says about routing at one instant. */
export interface RoutePolicy {
  readonly nowAt: number;
  readonly offlineAfterMs: number;
  readonly strategy: Strategy;
  readonly chain: readonly string[];
  readonly weights: Weights;
  /** Providers that take no new job now, with the reason: a back-off, or `max_concurrent` reached. */
  readonly closedProviders: ReadonlyMap<string, string>;
  readonly priceOf: (provider: string, model: string | null) => number | null;
  /** The last sign of life of a worker that memory thinks silent: its socket may have answered pings meanwhile. */
  readonly lastSignOf: (member: Member) => number;
}

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

interface Filter {
  readonly name: string;
  /** Why this worker may not have this job; null where it may. */
  readonly refuses: (member: Member, asked: Requirements, policy: RoutePolicy) => string | null;
  /** Whether it refuses anybody at all, from what is asked and the policy alone. */
  readonly applies?: (asked: Requirements, policy: RoutePolicy) => boolean;
  /** The same question to the whole fleet: takes out of `left` those it refuses. */
  readonly narrow: (left: Bits, fleet: Fleet, asked: Requirements, policy: RoutePolicy) => void;
}

const listed = (values: readonly string[]): string => values.map((value) => `"${value}"`).join(", ");

/** In the order in which a refusal is counted: what a worker can never do first, what only time keeps it from last. */
const FILTERS: readonly Filter[] = [
  {
    name: "provider",
    refuses: ({ worker }, asked) => {
      if (asked.provider !== null && worker.provider !== asked.provider) {
        return `provider is "${worker.provider}", the job wants "${asked.provider}"`;
      }
      return asked.excludedProviders.includes(worker.provider)
        ? `provider "${worker.provider}" has failed this job already`
        : null;
    },
    applies: (asked) => asked.provider !== null || asked.excludedProviders.length > 0,
    narrow: (left, fleet, asked) => {
      if (asked.provider !== null) left.intersect(fleet.ofProvider(asked.provider));
      for (const provider of asked.excludedProviders) left.subtract(fleet.ofProvider(provider));
    },
  },
  {
    name: "chain",
    refuses: ({ worker }, asked, policy) =>
      isOutsideChain(worker.provider, asked, policy) ? `provider "${worker.provider}" is not in routing.chain` : null,
    applies: (asked, policy) => policy.strategy === "fallback" && asked.provider === null,
    narrow: (left, fleet, _asked, policy) => {
      const outside = left.copy();
      for (const provider of policy.chain) outside.subtract(fleet.ofProvider(provider));
      left.subtract(outside);
    },
  },
  {
    name: "tags",
    refuses: ({ worker }, asked) => {
      const missing = asked.tags.filter((tag) => !worker.tags.includes(tag));
      return missing.length === 0 ? null : `missing tag ${missing.join(", ")}`;
    },
    applies: (asked) => asked.tags.length > 0,
    narrow: (left, fleet, asked) => {
      for (const tag of asked.tags) left.intersect(fleet.withTag(tag));
    },
  },
  {
    name: "model",
    refuses: ({ worker }, asked) =>
      asked.model === null || worker.models === null || worker.models.includes(asked.model)
        ? null
        : `does not serve model "${asked.model}"`,
    applies: (asked) => asked.model !== null,
    narrow: (left, fleet, asked) => {
      if (asked.model !== null) left.intersect(fleet.servingModel(asked.model));
    },
  },
  {
    name: "offline",
    refuses: (member, _asked, policy) =>
      isCutOff(member) ? "offline: its socket dropped" : isSilent(member, policy) ? "offline" : null,
    narrow: (left, fleet, _asked, policy) => {
      left.subtract(fleet.cutOff);
      const maybeSilent = fleet.maybeSilent(policy.nowAt - policy.offlineAfterMs);
      left.keepIf((slot) => !isSilent(fleet.at(slot), policy), maybeSilent);
    },
  },
  {
    name: "paused",
    refuses: (member, _asked, policy) => {
      const reason = pauseReasonOf(member.worker, policy.nowAt);
      return reason === null ? null : `paused: ${reason}`;
    },
    narrow: (left, fleet, _asked, policy) => {
      // A pause ends at its instant, whether or not the sweep has come to it yet.
      left.keepIf((slot) => pauseReasonOf(fleet.at(slot).worker, policy.nowAt) === null, fleet.paused);
    },
  },
  {
    name: "capacity",
    refuses: ({ worker, load }) =>
      load < worker.concurrency ? null : `at capacity (${load} of ${worker.concurrency})`,
    narrow: (left, fleet) => {
      left.intersect(fleet.withRoom);
    },
  },
  {
    name: "provider_limit",
    refuses: ({ worker }, _asked, policy) => policy.closedProviders.get(worker.provider) ?? null,
    applies: (_asked, policy) => policy.closedProviders.size > 0,
    narrow: (left, fleet, _asked, policy) => {
      for (const provider of policy.closedProviders.keys()) left.subtract(fleet.ofProvider(provider));
    },
  },
];

const isOutsideChain = (provider: string, asked: Requirements, policy: RoutePolicy): boolean =>
  policy.strategy === "fallback" && asked.provider === null && !policy.chain.includes(provider);

const isSilent = (member: Member, policy: RoutePolicy): boolean =>
  isOffline(member.lastSeenAt, policy.offlineAfterMs, policy.nowAt) &&
  isOffline(policy.lastSignOf(member), policy.offlineAfterMs, policy.nowAt);

/** Every reason why a worker may not have a job; empty where it may. */
export const refusalsOf = (member: Member, asked: Requirements, policy: RoutePolicy): string[] =>
  FILTERS.map((filter) => filter.refuses(member, asked, policy)).filter((reason) => reason !== null);

/** The first reason, as a worker's `skipped` counts it. */
export const firstRefusal = (member: Member, asked: Requirements, policy: RoutePolicy): string | null => {
  for (const filter of FILTERS) {
    const reason = filter.refuses(member, asked, policy);
    if (reason !== null) return reason;
  }
  return null;
};

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
  const best = bestOf(
    left,
    fleet,
    asked,
    policy,
    scorerFor(fleet, asked, policy, weightsFor(asked.urgency, policy.weights)),
  );
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
  const weights = weightsFor(asked.urgency, policy.weights);
  const scoreOf = scorerFor(fleet, asked, policy, weights);
  const eligible: Contender[] = [];
  const refused: WorkerVerdict[] = [];
  for (const member of fleet.members()) {
    const reasons = refusalsOf(member, asked, policy);
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
      ...refused.sort(
        (one, other) => one.reasons.length - other.reasons.length || (one.instance < other.instance ? -1 : 1),
      ),
    ],
  };
};

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

/** Why nobody may have a job now, in one line; null where somebody may. */
export const whyWaiting = (fleet: Fleet, asked: Requirements, policy: RoutePolicy): string | null => {
  const left = fleet.registered.copy();
  if (fleet.size === 0) return "no worker is registered";
  for (const filter of FILTERS) {
    if (filter.applies?.(asked, policy) === false) continue;
    const before = left.copy();
    filter.narrow(left, fleet, asked, policy);
    if (left.count() === 0) return describe(filter.name, before, fleet, asked, policy);
  }
  return null;
};

const describe = (filter: string, before: Bits, fleet: Fleet, asked: Requirements, policy: RoutePolicy): string => {
  const many = before.count();
  const one = many === 1 ? fleet.at(before.first()) : null;
  const who = one === null ? `all ${many} matching workers are` : `worker "${one.worker.instance}" is`;
  switch (filter) {
    case "provider":
      return asked.provider === null
        ? "every provider has failed this job"
        : `no worker offers provider "${asked.provider}"`;
    case "chain":
      return `no worker offers a provider of routing.chain (${listed(policy.chain)})`;
    case "tags":
      return noTagReason(before, fleet, asked);
    case "model":
      return `no matching worker serves model "${asked.model}"`;
    case "offline":
      return `${who} offline`;
    case "paused":
      return one === null
        ? `${who} paused`
        : `worker "${one.worker.instance}" is paused: ${pauseReasonOf(one.worker, policy.nowAt)}`;
    case "capacity":
      return `${who} at capacity`;
    default:
      return policy.closedProviders.get(fleet.at(before.first()).worker.provider) ?? "its provider takes no new jobs";
  }
};

const noTagReason = (before: Bits, fleet: Fleet, asked: Requirements): string => {
  const missing = asked.tags.filter((tag) => before.copy().intersect(fleet.withTag(tag)).count() === 0);
  if (missing.length === 0) return `no worker offers all of tags ${listed(asked.tags)}`;
  return `no worker offers tag ${listed(missing)}`;
};
