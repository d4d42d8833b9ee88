// Calendar periods in UTC: the day, the ISO week (from Monday), the month. Invariant: each instant is in exactly one
// period of a kind, and in exactly one of its slots.

import { DAY_MS, HOUR_MS } from "../words/duration.ts";

export const PERIODS = ["day", "week", "month"] as const;

const WEEK_MS = 7 * DAY_MS;
/** 1970-01-05, the first Monday. */
const FIRST_MONDAY_AT = 4 * DAY_MS;

export type Period = (typeof PERIODS)[number];

/** The instants [fromAt, toAt). */
interface PeriodBounds {
  readonly fromAt: number;
  readonly toAt: number;
}

/** A span of time with the one before it, divided into slots for a chart. */
export interface Span extends PeriodBounds {
  readonly previous: PeriodBounds;
  /** The start of each slot. */
  readonly slots: readonly number[];
  readonly slotMs: number;
}

export const MAX_SPAN_DAYS = 92;
/** Longer spans have slots of days. */
const MAX_SPAN_IN_HOURS_MS = 2 * DAY_MS;

/** A span widened to whole hours; the span before has the same length. */
export const spanOf = (fromAt: number, toAt: number): Span => {
  const from = Math.floor(fromAt / HOUR_MS) * HOUR_MS;
  const to = Math.ceil(toAt / HOUR_MS) * HOUR_MS;
  const slotMs = to - from <= MAX_SPAN_IN_HOURS_MS ? HOUR_MS : DAY_MS;
  const slots = slotStarts(Math.floor(from / slotMs) * slotMs, to, slotMs);
  return { fromAt: from, toAt: to, previous: { fromAt: from - (to - from), toAt: from }, slots, slotMs };
};

/** The calendar period of an instant, as a span: a day by hours, a week or a month by days. */
export const calendarSpan = (period: Period, at: number): Span => {
  const { fromAt, toAt } = periodAt(period, at);
  const slotMs = period === "day" ? HOUR_MS : DAY_MS;
  return { fromAt, toAt, previous: periodAt(period, fromAt - 1), slots: slotStarts(fromAt, toAt, slotMs), slotMs };
};

const slotStarts = (firstAt: number, toAt: number, slotMs: number): number[] =>
  Array.from({ length: Math.ceil((toAt - firstAt) / slotMs) }, (_, index) => firstAt + index * slotMs);

/** The period of an instant. */
export const periodAt = (period: Period, at: number): PeriodBounds => {
  if (period === "day") return evenPeriod(0, DAY_MS, at);
  if (period === "week") return evenPeriod(FIRST_MONDAY_AT, WEEK_MS, at);
  const date = new Date(at);
  const month = date.getUTCFullYear() * 12 + date.getUTCMonth();
  return { fromAt: monthStartAt(month), toAt: monthStartAt(month + 1) };
};

const evenPeriod = (originAt: number, lengthMs: number, at: number): PeriodBounds => {
  const fromAt = originAt + Math.floor((at - originAt) / lengthMs) * lengthMs;
  return { fromAt, toAt: fromAt + lengthMs };
};

const monthStartAt = (month: number): number => Date.UTC(Math.floor(month / 12), ((month % 12) + 12) % 12, 1);
