// Budgets: the tenant's spending is known exactly here, so a reached budget applies from the next turn on. It closes
// the providers that cost money until its period ends; local runtimes go on. With `on_reached: killswitch` the tenant's
// own budget also engages level 1, again after each clear while it is reached.

import type { BudgetState, BudgetStates } from "../../../contract/cost.ts";
import { toIso, toIsoOrNull } from "../../../contract/words/field.ts";
import { type Budget, type BudgetReached, describeReached, reachedAtPace } from "../../../domain/money/budget.ts";
import { usdFromNano } from "../../../domain/money/price.ts";
import { earliest } from "../../../domain/words/earliest.ts";
import { SERVICE_ACTOR } from "../../../domain/words/event.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import { ok, type Result } from "../../../domain/words/result.ts";
import { allReached, hasLimit, reachedOf, spendingOf } from "../../steps/reached-budgets.ts";
import type { BudgetNotice } from "../../store/settings.ts";
import type { Turn } from "../../turn/turn.ts";
import { engageKillswitch } from "./killswitch.ts";

/** Halts running work and assigns nothing; new jobs may still be queued. */
const BUDGET_KILLSWITCH_LEVEL = 1;

/**
 * Call after spending, a config change, a clear or a period's end. A newly reached budget is recorded once and acted on;
 * once it is no longer reached, the queue resumes.
 */
export const enforceBudget = (turn: Turn): void => {
  const reached = allReached(turn);
  noteReached(turn, reached);
  const ofTenant = reached.find(({ provider }) => provider === null);
  const { killswitch, config } = turn.memory;
  if (ofTenant === undefined || config.budget.onReached !== "killswitch" || killswitch.level > 0) return;
  engageKillswitch(turn, { level: BUDGET_KILLSWITCH_LEVEL, reason: describeReached(ofTenant), by: SERVICE_ACTOR });
};

const isSame = (one: BudgetNotice, other: BudgetNotice): boolean =>
  one.provider === other.provider &&
  one.period === other.period &&
  one.limitNanoUsd === other.limitNanoUsd &&
  one.resetsAt === other.resetsAt;

const isNew = (turn: Turn, one: BudgetReached): boolean =>
  !turn.memory.budgetNotices.some((known) => isSame(known, one));

/**
 * When budgets must be looked at again; null if never. A day that is over comes again if the clock was set back, and with
 * it what was spent on it.
 */
export const nextBudgetAt = (turn: Turn): number | null => {
  const { budgetNotices, spending } = turn.memory;
  if (allReached(turn).some((one) => isNew(turn, one))) return turn.nowAt;
  return earliest([...budgetNotices.map(({ resetsAt }) => resetsAt), spending.nextDayAt(turn.nowAt)]);
};

const noteReached = (turn: Turn, reached: readonly BudgetReached[]): void => {
  const before = turn.memory.budgetNotices;
  const fresh = reached.filter((one) => isNew(turn, one));
  const lifted = before.filter((known) => !reached.some((one) => one.provider === known.provider));
  if (fresh.length === 0 && lifted.length === 0) return;
  for (const one of fresh) auditReached(turn, one);
  for (const { provider, period } of lifted) {
    turn.isAllOpened = true;
    turn.audit("budget.lifted", targetOf(provider, period), null, SERVICE_ACTOR);
  }
  const notices = reached.map(({ provider, period, limitNanoUsd, resetsAt }) => {
    turn.due(resetsAt);
    return { provider, period, limitNanoUsd, resetsAt };
  });
  turn.memory.budgetNotices = notices;
  turn.store.settings.putBudgetNotices(notices);
  turn.effects.changedTopics.add("cost");
};

const targetOf = (provider: string | null, period: string): string =>
  provider === null ? period : `${provider} ${period}`;

const auditReached = (turn: Turn, reached: BudgetReached): void => {
  const { provider, period, limitNanoUsd, spentNanoUsd, resetsAt } = reached;
  const detail = {
    limit_usd: usdFromNano(limitNanoUsd),
    spent_usd: usdFromNano(spentNanoUsd),
    resets_at: toIso(resetsAt),
    on_reached: provider === null ? turn.memory.config.budget.onReached : "reject",
  };
  turn.audit("budget.reached", targetOf(provider, period), detail, SERVICE_ACTOR);
};

const stateOf = (turn: Turn, budget: Budget, provider: string | null): BudgetState => {
  const spending = spendingOf(turn, provider);
  const isReached = reachedOf(turn, budget, provider) !== null;
  return {
    day_usd: budget.dayUsd ?? null,
    month_usd: budget.monthUsd ?? null,
    day_spent_usd: usdFromNano(spending.dayNanoUsd),
    month_spent_usd: usdFromNano(spending.monthNanoUsd),
    reached: isReached,
    reached_at_pace: isReached ? null : toIsoOrNull(reachedAtPace(budget, spending, turn.nowAt)),
  };
};

/** The tenant's budget and those of its providers, reached ones first, for the cost answers. */
export const readBudgets = (turn: Turn): Result<BudgetStates, Refusal> => {
  const { budget, providers } = turn.memory.config;
  const ofProviders = [...providers].flatMap(([provider, { budget: own }]) =>
    own !== null && hasLimit(own) ? [{ provider, ...stateOf(turn, own, provider) }] : [],
  );
  return ok({
    budget: stateOf(turn, budget, null),
    provider_budgets: ofProviders.sort(
      (one, other) => Number(other.reached) - Number(one.reached) || (one.provider < other.provider ? -1 : 1),
    ),
  });
};
