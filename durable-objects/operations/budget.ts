// Budgets: what the tenant has spent is known here exactly, so a reached budget holds from the next dispatch on.

import { type BudgetReached, describeReached, reachedBudget } from "../../domain/budget.ts";
import { periodAt } from "../../domain/period.ts";
import type { Refusal } from "../../domain/refusal.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import type { Turn } from "./turn.ts";

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

export const refuseOverBudget = (turn: Turn): Result<null, Refusal> => {
  const reached = turn.memory.config.budget.onReached === "reject" ? budgetReached(turn) : null;
  if (reached === null) return ok(null);
  return err({
    code: "budget_reached",
    detail: describeReached(reached),
    retryAfterSeconds: Math.ceil((reached.resetsAt - turn.nowAt) / 1000),
  });
};
