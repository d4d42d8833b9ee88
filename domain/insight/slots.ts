// Spans of time that figures are kept for: short slots for a day, long ones for a month. A period is read from one kind.

import { DAY_MS, HOUR_MS, MINUTE_MS } from "../words/duration.ts";

export const SLOTS = {
  short: { spanMs: 5 * MINUTE_MS, keptMs: 25 * HOUR_MS },
  long: { spanMs: HOUR_MS, keptMs: 31 * DAY_MS },
} as const;
export type SlotKind = keyof typeof SLOTS;
export const SLOT_KINDS = Object.keys(SLOTS) as SlotKind[];

export const ROLLING_PERIODS = {
  "1h": { ms: HOUR_MS, slots: "short", stepMs: 5 * MINUTE_MS },
  "24h": { ms: DAY_MS, slots: "short", stepMs: HOUR_MS },
  "7d": { ms: 7 * DAY_MS, slots: "long", stepMs: 6 * HOUR_MS },
  "30d": { ms: 30 * DAY_MS, slots: "long", stepMs: DAY_MS },
} as const satisfies Record<string, { ms: number; slots: SlotKind; stepMs: number }>;
export type RollingPeriod = keyof typeof ROLLING_PERIODS;
export const rollingPeriods = Object.keys(ROLLING_PERIODS) as RollingPeriod[];

export const slotAt = (kind: SlotKind, at: number): number => Math.floor(at / SLOTS[kind].spanMs) * SLOTS[kind].spanMs;

/** The starts of a period's steps, oldest first; the last one is under way. */
export const stepsOf = (period: RollingPeriod, nowAt: number): number[] => {
  const { ms, stepMs } = ROLLING_PERIODS[period];
  const last = Math.floor(nowAt / stepMs) * stepMs;
  const steps = Math.ceil(ms / stepMs);
  return Array.from({ length: steps }, (_, index) => last - (steps - 1 - index) * stepMs);
};
