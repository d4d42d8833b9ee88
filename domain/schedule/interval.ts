// Intervals: `<integer><s|m|h|d>`, counted from an anchor. Invariant: every due time is anchorAt + k × intervalMs, k ≥
// 1, so a late run never shifts the next (no drift).

import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../words/duration.ts";
import { err, ok, type Result } from "../words/result.ts";

const UNIT_MS = { s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS } as const;
const MIN_INTERVAL_MS = UNIT_MS.s;
const MAX_INTERVAL_MS = 366 * UNIT_MS.d;

/** "90s" → 90 000. A day is always 24 hours; for a local time of day use cron with a time zone. */
export const parseInterval = (text: string): Result<number, string> => {
  const match = /^([0-9]+)([smhd])$/.exec(text);
  if (match === null) {
    return err('interval must be a whole number and a unit, s, m, h or d, without spaces: for example "90s" or "15m"');
  }
  const intervalMs = Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS];
  if (intervalMs < MIN_INTERVAL_MS) return err('interval must be at least "1s"');
  if (intervalMs > MAX_INTERVAL_MS) return err('interval must be at most "366d"');
  return ok(intervalMs);
};

/** The first due time after an instant. */
export const nextIntervalAt = (anchorAt: number, intervalMs: number, afterAt: number): number => {
  const runsSoFar = Math.max(0, Math.floor((afterAt - anchorAt) / intervalMs));
  return anchorAt + (runsSoFar + 1) * intervalMs;
};

/** The due times in (afterAt, untilAt]: their number, and the last one. */
export const intervalRunsBetween = (
  anchorAt: number,
  intervalMs: number,
  afterAt: number,
  untilAt: number,
): { count: number; lastAt: number | null } => {
  const firstAt = nextIntervalAt(anchorAt, intervalMs, afterAt);
  if (firstAt > untilAt) return { count: 0, lastAt: null };
  const laterCount = Math.floor((untilAt - firstAt) / intervalMs);
  return { count: laterCount + 1, lastAt: firstAt + laterCount * intervalMs };
};
