// Whether a tenant's spending has reached its budget. Attempts of unknown cost do not count. Invariant: a reached
// budget resets when its calendar period (UTC) ends.

import { earliest } from "../words/earliest.ts";
import { periodAt } from "./period.ts";
import { NANO_EXPONENT, nanoFromUsd, usdFromNano } from "./price.ts";
import { usdText } from "./usd-text.ts";

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
  /** The provider with this budget, or null for the tenant's. */
  readonly provider: string | null;
  readonly period: "day" | "month";
  readonly limitNanoUsd: number;
  readonly spentNanoUsd: number;
  readonly resetsAt: number;
}

/** The reached limit that lasts longest, or null. Spending exactly the limit reaches it. */
export const reachedBudget = (
  budget: Budget,
  spending: PeriodSpending,
  nowAt: number,
  provider: string | null,
): BudgetReached | null => {
  for (const { period, limitNanoUsd, spentNanoUsd } of limitsOf(budget, spending)) {
    if (spentNanoUsd < limitNanoUsd) continue;
    return { provider, period, limitNanoUsd, spentNanoUsd, resetsAt: periodAt(period, nowAt).toAt };
  }
  return null;
};

/** When the first limit will be reached at the spending rate of its period so far; null if its period ends earlier. */
export const reachedAtPace = (budget: Budget, spending: PeriodSpending, nowAt: number): number | null =>
  earliest(
    limitsOf(budget, spending).map(({ period, limitNanoUsd, spentNanoUsd }) => {
      if (spentNanoUsd === 0 || spentNanoUsd >= limitNanoUsd) return null;
      const { fromAt, toAt } = periodAt(period, nowAt);
      const at = Math.ceil(fromAt + (limitNanoUsd / spentNanoUsd) * (nowAt - fromAt));
      return at < toAt ? at : null;
    }),
  );

/** Longer period first. */
const limitsOf = (budget: Budget, spending: PeriodSpending) =>
  (
    [
      { period: "month", usd: budget.monthUsd, spentNanoUsd: spending.monthNanoUsd },
      { period: "day", usd: budget.dayUsd, spentNanoUsd: spending.dayNanoUsd },
    ] as const
  ).flatMap(({ period, usd, spentNanoUsd }) => {
    const limitNanoUsd = usd === null || usd === undefined ? null : nanoFromUsd(usd);
    return limitNanoUsd === null ? [] : [{ period, limitNanoUsd, spentNanoUsd }];
  });

/** One sentence for the refusal, the event and the audit log. What is spent has the digits of the limit that it reached. */
export const describeReached = ({ provider, period, limitNanoUsd, spentNanoUsd, resetsAt }: BudgetReached): string => {
  const limit = usdText(usdFromNano(limitNanoUsd), NANO_EXPONENT);
  const spent = usdText(usdFromNano(spentNanoUsd), limit.length - limit.indexOf(".") - 1);
  const whose = provider === null ? "" : ` for ${provider}`;
  const until = new Date(resetsAt).toISOString();
  return `the ${period}'s budget of ${limit}${whose} is reached (${spent} spent); it resets at ${until}`;
};
