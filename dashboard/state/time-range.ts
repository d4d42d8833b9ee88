// Time ranges of the jobs page: in a saved view "last hour" stays relative; it becomes absolute when it is sent.

import { MINUTE_MS } from "../../contract/words/values.ts";
import { dateTime } from "../format.ts";
import type { Filter } from "./job-filter.ts";

export const RANGES = {
  "15m": { says: "last 15 minutes", ms: 15 * MINUTE_MS },
  "1h": { says: "last hour", ms: 60 * MINUTE_MS },
  "24h": { says: "last 24 hours", ms: 1440 * MINUTE_MS },
  "7d": { says: "last 7 days", ms: 10_080 * MINUTE_MS },
} as const;

export type RangeName = keyof typeof RANGES;

export const isRange = (name: string | null): name is RangeName => name !== null && Object.hasOwn(RANGES, name);

/** The filter with the start of the range, rounded to the minute so that the query stays the same for a while. */
export const withRange = (filter: Filter, range: string | null, nowAt: number): Filter => {
  if (!isRange(range)) return filter;
  const since = Math.floor((nowAt - RANGES[range].ms) / MINUTE_MS) * MINUTE_MS;
  return { ...filter, since: new Date(since).toISOString() };
};

export const rangeInWords = ({ since, until }: Filter): string => `created ${spanInWords(since, until)}`;

export const spanInWords = (since: string | undefined, until: string | undefined): string => {
  const from = since === undefined ? null : dateTime(Date.parse(since));
  const to = until === undefined ? null : dateTime(Date.parse(until));
  if (from !== null && to !== null) return `from ${from} to ${to}`;
  if (from !== null) return `since ${from}`;
  return to === null ? "at any time" : `before ${to}`;
};
