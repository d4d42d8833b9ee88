// The spans for costs: calendar periods in UTC, yesterday, last week and last month, or two chosen days.

import type { CostQuery } from "../../contract/cost.ts";
import { DAY_MS, PERIODS, type Period } from "../../contract/words/values.ts";

export const RANGES = ["day", "yesterday", "week", "last-week", "month", "last-month", "days"] as const;
export type Range = (typeof RANGES)[number];

export const RANGE_NAMES: Record<Range, string> = {
  day: "Today",
  yesterday: "Yesterday",
  week: "This week",
  "last-week": "Last week",
  month: "This month",
  "last-month": "Last month",
  days: "From … to",
};

const dayOf = (at: number): number => at - (at % DAY_MS);
/** Monday of the ISO week. */
const weekOf = (at: number): number => dayOf(at) - ((new Date(at).getUTCDay() + 6) % 7) * DAY_MS;
const monthOf = (at: number, away: number): number => {
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + away, 1);
};

export const dayText = (at: number): string => new Date(at).toISOString().slice(0, 10);

const spanOf = (range: Range, nowAt: number): [fromAt: number, toAt: number] | null => {
  if (range === "yesterday") return [dayOf(nowAt) - DAY_MS, dayOf(nowAt)];
  if (range === "last-week") return [weekOf(nowAt) - 7 * DAY_MS, weekOf(nowAt)];
  if (range === "last-month") return [monthOf(nowAt, -1), monthOf(nowAt, 0)];
  return null;
};

/** The query; null if the two days are not a valid span. `to` is the last day, included. */
export const costQueryOf = (
  range: Range,
  days: { from: string; to: string },
  nowAt: number,
): Partial<CostQuery> | null => {
  if (PERIODS.includes(range as Period)) return { period: range as Period };
  const span = spanOf(range, nowAt) ?? [
    Date.parse(`${days.from}T00:00:00Z`),
    Date.parse(`${days.to}T00:00:00Z`) + DAY_MS,
  ];
  const [fromAt, toAt] = [span[0], Math.min(span[1], nowAt)];
  if (!(fromAt < toAt)) return null;
  return { from: new Date(fromAt).toISOString(), to: new Date(toAt).toISOString() };
};
