// Whether a tenant's spending has reached its budget. Spending is known exactly; attempts of unknown cost are not in it.
// Invariant: a reached budget resets by itself when its calendar period (UTC) ends.

import { periodAt } from "./period.ts";
import { nanoFromUsd, usdFromNano } from "./price.ts";

/** The config's `budget`, in US dollars; null turns a limit off. */
export interface Budget {
  readonly dayUsd?: number | null | undefined;
  readonly monthUsd?: number | null | undefined;
}

/** What the calendar day and month have cost so far, in nano-dollars. */
export interface PeriodSpending {
  readonly dayNanoUsd: number;
  readonly monthNanoUsd: number;
}

export interface BudgetReached {
  readonly period: "day" | "month";
  readonly limitNanoUsd: number;
  readonly spentNanoUsd: number;
  readonly resetsAt: number;
}

/** The limit that holds longest among those reached, or null. Spending exactly the limit reaches it. */
export const reachedBudget = (budget: Budget, spending: PeriodSpending, nowAt: number): BudgetReached | null => {
  const limits = [
    { period: "month", usd: budget.monthUsd, spentNanoUsd: spending.monthNanoUsd },
    { period: "day", usd: budget.dayUsd, spentNanoUsd: spending.dayNanoUsd },
  ] as const;
  for (const { period, usd, spentNanoUsd } of limits) {
    const limitNanoUsd = usd === null || usd === undefined ? null : nanoFromUsd(usd);
    if (limitNanoUsd === null || spentNanoUsd < limitNanoUsd) continue;
    return { period, limitNanoUsd, spentNanoUsd, resetsAt: periodAt(period, nowAt).toAt };
  }
  return null;
};

/** One sentence for the refusal, the event and the audit log. */
export const describeReached = ({ period, limitNanoUsd, spentNanoUsd, resetsAt }: BudgetReached): string =>
  `the ${period}'s budget of $${usdFromNano(limitNanoUsd)} is reached ($${usdFromNano(spentNanoUsd)} spent); ` +
  `it resets at ${new Date(resetsAt).toISOString()}`;
