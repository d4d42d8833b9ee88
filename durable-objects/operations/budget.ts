// Budgets: what the tenant has spent is known here exactly, so a reached budget holds from the next turn on. `reject`
// keeps every waiting job in the queue until the period ends; `killswitch` stops everything once, until it is cleared.

import { toIso } from "../../contract/field.ts";
import { type BudgetReached, describeReached, reachedBudget } from "../../domain/budget.ts";
import { SERVICE_ACTOR } from "../../domain/event.ts";
import { periodAt } from "../../domain/period.ts";
import { usdFromNano } from "../../domain/price.ts";
import type { Refusal } from "../../domain/refusal.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import type { BudgetNotice } from "../store/settings.ts";
import { activate } from "./killswitch.ts";
import type { Turn } from "./turn.ts";

/** Halts what runs and assigns nothing, while new jobs may still queue. */
const BUDGET_KILLSWITCH_LEVEL = 1;

export const budgetReached = (turn: Turn): BudgetReached | null => {
  const { budget } = turn.memory.config;
  if (budget.dayUsd == null && budget.monthUsd == null) return null;
  const day = periodAt("day", turn.nowAt);
  const month = periodAt("month", turn.nowAt);
  const spending = {
    dayNanoUsd: turn.store.spending.between(day.fromAt, day.toAt),
    monthNanoUsd: turn.store.spending.between(month.fromAt, month.toAt),
  };
  return reachedBudget(budget, spending, turn.nowAt);
};

/** The reached budget that keeps jobs from being given out; null under `on_reached: killswitch`, which halts once. */
export const budgetInForce = (turn: Turn): BudgetReached | null =>
  turn.memory.config.budget.onReached === "reject" ? budgetReached(turn) : null;

export const refuseOverBudget = (turn: Turn): Result<null, Refusal> => {
  const reached = budgetInForce(turn);
  if (reached === null) return ok(null);
  return err({
    code: "budget_reached",
    detail: describeReached(reached),
    retryAfterSeconds: Math.ceil((reached.resetsAt - turn.nowAt) / 1000),
  });
};

/**
 * After spending, a change of config, or the end of a period: a budget newly reached is written down once and acted on
 * as configured; one that is reached no longer lets the queue go on.
 */
export const enforceBudget = (turn: Turn): void => {
  const reached = budgetReached(turn);
  if (reached === null) {
    if (turn.memory.budgetNotice !== null) lift(turn);
    return;
  }
  if (isNoted(turn.memory.budgetNotice, reached)) return;
  note(turn, reached);
  const { killswitch, config } = turn.memory;
  if (config.budget.onReached !== "killswitch" || killswitch.level >= BUDGET_KILLSWITCH_LEVEL) return;
  activate(turn, { level: BUDGET_KILLSWITCH_LEVEL, reason: describeReached(reached), by: SERVICE_ACTOR });
};

const isNoted = (notice: BudgetNotice | null, reached: BudgetReached): boolean =>
  notice !== null &&
  notice.period === reached.period &&
  notice.limitNanoUsd === reached.limitNanoUsd &&
  notice.resetsAt === reached.resetsAt;

const note = (turn: Turn, reached: BudgetReached): void => {
  const { period, limitNanoUsd, spentNanoUsd, resetsAt } = reached;
  keep(turn, { period, limitNanoUsd, resetsAt });
  turn.due(resetsAt);
  const detail = {
    limit_usd: usdFromNano(limitNanoUsd),
    spent_usd: usdFromNano(spentNanoUsd),
    resets_at: toIso(resetsAt),
    on_reached: turn.memory.config.budget.onReached,
  };
  turn.audit("budget.reached", period, detail, SERVICE_ACTOR);
};

const lift = (turn: Turn): void => {
  const { period } = turn.memory.budgetNotice ?? {};
  keep(turn, null);
  turn.isAllOpened = true;
  turn.audit("budget.lifted", period ?? "", null, SERVICE_ACTOR);
};

const keep = (turn: Turn, notice: BudgetNotice | null): void => {
  turn.memory.budgetNotice = notice;
  turn.store.settings.putBudgetNotice(notice);
  turn.effects.changedTopics.add("cost");
};
