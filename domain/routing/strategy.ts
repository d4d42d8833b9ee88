// The routing strategies, one record each. What a strategy does is read from its record alone: adding one is
// adding a row, and nothing compares a strategy's name.

import type { Strategy } from "../config.ts";
import { type Member, usedShareOf } from "../fleet/fleet.ts";

/** What a rank may depend on. */
interface RankFacts {
  readonly asked: { readonly provider: string | null; readonly model: string | null };
  readonly chain: readonly string[];
  readonly priceOf: (provider: string, model: string | null) => number | null;
}

type Rank = (member: Member, facts: RankFacts) => number;

interface StrategyRule {
  /** Compared before the score, greater is better; null: the score alone decides. */
  readonly rank: Rank | null;
  /** Jobs that name no provider go down `routing.chain`: nobody outside it gets any, and a failure goes on to the next. */
  readonly followsChain: boolean;
}

const STRATEGY_RULES = {
  score: { rank: null, followsChain: false },
  fallback: {
    rank: ({ worker }, { asked, chain }) => (asked.provider === null ? -chain.indexOf(worker.provider) : 0),
    followsChain: true,
  },
  least_loaded: {
    rank: (member) => -usedShareOf(member),
    followsChain: false,
  },
  cheapest: {
    rank: ({ worker }, { asked, priceOf }) => -(priceOf(worker.provider, asked.model) ?? Number.MAX_VALUE),
    followsChain: false,
  },
  round_robin: { rank: ({ lastTurn }) => -lastTurn, followsChain: false },
} as const satisfies Record<Strategy, StrategyRule>;

export const ruleOf = (strategy: Strategy): StrategyRule => STRATEGY_RULES[strategy];

/** The providers in the order in which jobs go down them; null under a strategy that follows no chain. */
export const chainOf = ({
  strategy,
  chain,
}: {
  readonly strategy: Strategy;
  readonly chain: readonly string[];
}): readonly string[] | null => (ruleOf(strategy).followsChain ? chain : null);

/** Providers after this one in the chain. */
export const laterInChain = (chain: readonly string[] | null, provider: string): readonly string[] =>
  chain === null ? [] : chain.slice(chain.indexOf(provider) + 1);
