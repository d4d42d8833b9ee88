// Which budgets the tenant's spending has reached, and what that closes: the providers that cost money. What follows of
// it is in `operations/halts/budget.ts`.

import {
  type Budget,
  type BudgetReached,
  describeReached,
  type PeriodSpending,
  reachedBudget,
} from "../../domain/money/budget.ts";
import { mayCost } from "../../domain/money/cost.ts";
import type { RefusalOf } from "../../domain/words/refusal.ts";
import type { Requirements } from "../../domain/words/requirements.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import type { Turn } from "../turn/turn.ts";

/** Whether it limits anything. */
export const hasLimit = (budget: Budget): boolean => budget.dayUsd != null || budget.monthUsd != null;

export const spendingOf = (turn: Turn, provider: string | null): PeriodSpending => ({
  dayNanoUsd: turn.memory.spending.of("day", turn.nowAt, provider),
  monthNanoUsd: turn.memory.spending.of("month", turn.nowAt, provider),
});

/** How far the budget of the provider, or of the tenant (null), is reached; null if it is not. */
export const reachedOf = (turn: Turn, budget: Budget | null, provider: string | null): BudgetReached | null =>
  budget === null || !hasLimit(budget) ? null : reachedBudget(budget, spendingOf(turn, provider), turn.nowAt, provider);

/** The tenant's own budget, if it is reached. */
export const budgetReached = (turn: Turn): BudgetReached | null => reachedOf(turn, turn.memory.config.budget, null);

const reachedByProviders = (turn: Turn): BudgetReached[] => {
  const reached: BudgetReached[] = [];
  for (const [provider, { budget }] of turn.memory.config.providers) {
    const one = reachedOf(turn, budget, provider);
    if (one !== null) reached.push(one);
  }
  return reached;
};

/** The tenant's own first. */
export const allReached = (turn: Turn): BudgetReached[] => {
  const ofTenant = budgetReached(turn);
  return [...(ofTenant === null ? [] : [ofTenant]), ...reachedByProviders(turn)];
};

/** The providers of the fleet that a reached budget closes, with the reason. */
export const closedByBudget = (turn: Turn): Map<string, string> => {
  const closed = new Map<string, string>();
  const ofTenant = budgetReached(turn);
  if (ofTenant !== null) {
    const reason = describeReached(ofTenant);
    for (const provider of turn.memory.fleet.offers.providers())
      if (costs(turn, provider)) closed.set(provider, reason);
  }
  for (const reached of reachedByProviders(turn)) closed.set(reached.provider ?? "", describeReached(reached));
  return closed;
};

/** By its price, or because it cost something this month. */
const costs = (turn: Turn, provider: string): boolean =>
  mayCost(provider, turn.memory.config.providers.get(provider)?.pricing) ||
  turn.memory.spending.of("month", turn.nowAt, provider) > 0;

/** The reached budget that closes every worker with the required offer; null if none does. */
export const budgetAgainst = (turn: Turn, asked: Requirements): BudgetReached | null => {
  const ofTenant = budgetReached(turn);
  const ofProviders = reachedByProviders(turn);
  const closing = (provider: string): BudgetReached | null =>
    ofProviders.find((reached) => reached.provider === provider) ?? (costs(turn, provider) ? ofTenant : null);
  if (ofTenant === null && ofProviders.length === 0) return null;
  const { fleet } = turn.memory;
  const offering = fleet.offers.allOf(asked);
  const providers = [...fleet.offers.providers()].filter((provider) =>
    offering.meets(fleet.offers.ofProvider(provider)),
  );
  if (providers.length === 0) return asked.provider === null ? null : closing(asked.provider);
  const closed = providers.map(closing);
  return closed.includes(null) ? null : (closed[0] ?? null);
};

export const refuseOverBudget = (turn: Turn, asked: Requirements): Result<null, RefusalOf<"budget_reached">> => {
  const reached = budgetAgainst(turn, asked);
  if (reached === null) return ok(null);
  return err({
    code: "budget_reached",
    detail: describeReached(reached),
    retryAfterSeconds: Math.ceil((reached.resetsAt - turn.nowAt) / 1000),
  });
};
