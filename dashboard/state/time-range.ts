// Time ranges of the jobs page: in a saved view "last hour" and "yesterday" stay relative; they become absolute when
// they are sent.

import { MINUTE_MS } from "../../contract/words/values.ts";
import { dateTime } from "../format.ts";
import type { Filter } from "./job-filter.ts";

type Span = readonly [sinceAt: number, untilAt?: number];

/** Rounded to the minute, so that the query stays the same for a while. */
const last =
  (minutes: number) =>
  (nowAt: number): Span => [Math.floor(nowAt / MINUTE_MS - minutes) * MINUTE_MS];

/** Of the reader's day, so many days ago; a day in which the clocks change has not 24 hours. */
const midnight = (nowAt: number, daysAgo: number): number => {
  const day = new Date(nowAt);
  day.setDate(day.getDate() - daysAgo);
  return day.setHours(0, 0, 0, 0);
};

export const RANGES = {
  "15m": { says: "last 15 minutes", spanAt: last(15) },
  "1h": { says: "last hour", spanAt: last(60) },
  "24h": { says: "last 24 hours", spanAt: last(1440) },
  today: { says: "today", spanAt: (nowAt): Span => [midnight(nowAt, 0)] },
  yesterday: { says: "yesterday", spanAt: (nowAt): Span => [midnight(nowAt, 1), midnight(nowAt, 0)] },
  "7d": { says: "last 7 days", spanAt: last(10_080) },
} as const satisfies Record<string, { says: string; spanAt: (nowAt: number) => Span }>;

type RangeName = keyof typeof RANGES;

export const isRange = (name: string | null): name is RangeName => name !== null && Object.hasOwn(RANGES, name);

/** The filter with the range's bounds. */
export const withRange = (filter: Filter, range: string | null, nowAt: number): Filter => {
  if (!isRange(range)) return filter;
  const [sinceAt, untilAt]: Span = RANGES[range].spanAt(nowAt);
  const until = untilAt === undefined ? {} : { until: new Date(untilAt).toISOString() };
  return { ...filter, since: new Date(sinceAt).toISOString(), ...until };
};

export const rangeInWords = ({ since, until }: Filter): string => `created ${spanInWords(since, until)}`;

export const spanInWords = (since: string | undefined, until: string | undefined): string => {
  const from = since === undefined ? null : dateTime(Date.parse(since));
  const to = until === undefined ? null : dateTime(Date.parse(until));
  if (from !== null && to !== null) return `from ${from} to ${to}`;
  if (from !== null) return `since ${from}`;
  return to === null ? "at any time" : `before ${to}`;
};
