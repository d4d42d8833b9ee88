// The spans for costs: calendar periods in UTC, yesterday, last week and last month, or two chosen days.

import type { CostQuery } from "../../contract/cost.ts";
import { DAY_MS, type Period } from "../../contract/words/values.ts";

/** As the address has them, both included. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

interface RangeFacts {
  readonly name: string;
  /** The span before it. */
  readonly before: string;
  /** A period that the API knows, or from when to when. */
  readonly asked: Period | ((nowAt: number, days: Days) => readonly [fromAt: number, toAt: number]);
}

const dayOf = (at: number): number => at - (at % DAY_MS);
/** Monday of the ISO week. */
const weekOf = (at: number): number => dayOf(at) - ((new Date(at).getUTCDay() + 6) % 7) * DAY_MS;
const monthOf = (at: number, away: number): number => {
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + away, 1);
};
const startOf = (day: string): number => Date.parse(`${day}T00:00:00Z`);

export const RANGES = {
  day: { name: "Today", before: "yesterday", asked: "day" },
  yesterday: { name: "Yesterday", before: "the day before", asked: (nowAt) => [dayOf(nowAt) - DAY_MS, dayOf(nowAt)] },
  week: { name: "This week", before: "last week", asked: "week" },
  "last-week": {
    name: "Last week",
    before: "the week before",
    asked: (nowAt) => [weekOf(nowAt) - 7 * DAY_MS, weekOf(nowAt)],
  },
  month: { name: "This month", before: "last month", asked: "month" },
  "last-month": {
    name: "Last month",
    before: "the month before",
    asked: (nowAt) => [monthOf(nowAt, -1), monthOf(nowAt, 0)],
  },
  days: {
    name: "From … to",
    before: "as long before",
    asked: (_, { from, to }) => [startOf(from), startOf(to) + DAY_MS],
  },
} as const satisfies Record<string, RangeFacts>;

export type Range = keyof typeof RANGES;
export const RANGE_NAMES = Object.keys(RANGES) as Range[];

export const dayText = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** The query; null if the two days are not a valid span. */
export const costQueryOf = (range: Range, days: Days, nowAt: number): Partial<CostQuery> | null => {
  const { asked }: RangeFacts = RANGES[range];
  if (typeof asked === "string") return { period: asked };
  const [fromAt, endAt] = asked(nowAt, days);
  const toAt = Math.min(endAt, nowAt);
  if (!(fromAt < toAt)) return null;
  return { from: new Date(fromAt).toISOString(), to: new Date(toAt).toISOString() };
};
