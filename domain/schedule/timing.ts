// When a schedule is due: a cron expression in a time zone, or an interval from an anchor. Invariant: due times depend
// only on the timing, never on when anything ran, so counting again gives the same result and a late run does not shift
// the next.

import { DAY_MS } from "../words/duration.ts";
import { type CronTiming, cronRunsBetween, cronTimesAfter, nextCronAt } from "./cron-times.ts";
import { intervalRunsBetween, nextIntervalAt } from "./interval.ts";

const MAX_PREVIEW_COUNT = 100;
/** How far back missed due times are counted; within it the count is exact. */
const MAX_CATCH_UP_MS = 10 * 366 * DAY_MS;

export type Timing =
  | ({ readonly kind: "cron" } & CronTiming)
  | { readonly kind: "interval"; readonly intervalMs: number; readonly anchorAt: number };

interface DueRuns {
  /** The latest due time that has passed, which runs. */
  readonly scheduledFor: number;
  /** How many earlier due times passed and will never run. */
  readonly missed: number;
  readonly nextRunAt: number | null;
}

/** The first due time after an instant; null if there is none within eight years. */
export const nextDueAt = (timing: Timing, afterAt: number): number | null =>
  timing.kind === "cron" ? nextCronAt(timing, afterAt) : nextIntervalAt(timing.anchorAt, timing.intervalMs, afterAt);

/** The next due times after an instant, at most `count`. */
export const previewRuns = (timing: Timing, fromAt: number, count: number): number[] => {
  const most = Math.min(count, MAX_PREVIEW_COUNT);
  if (timing.kind === "cron") return cronTimesAfter(timing, fromAt, most);
  const firstAt = nextIntervalAt(timing.anchorAt, timing.intervalMs, fromAt);
  return Array.from({ length: most }, (_, index) => firstAt + index * timing.intervalMs);
};

/**
 * What to do when a schedule's `nextRunAt` has come: one run for all due times until now, the others counted as missed.
 */
export const dueRuns = (timing: Timing, nextRunAt: number, nowAt: number): DueRuns => {
  const afterAt = Math.max(nextRunAt - 1, nowAt - MAX_CATCH_UP_MS);
  const { count, lastAt } =
    timing.kind === "cron"
      ? cronRunsBetween(timing, afterAt, nowAt)
      : intervalRunsBetween(timing.anchorAt, timing.intervalMs, afterAt, nowAt);
  return {
    // Zone rules may have changed since nextRunAt was computed; the promised time still runs.
    scheduledFor: lastAt ?? nextRunAt,
    missed: Math.max(0, count - 1),
    nextRunAt: nextDueAt(timing, nowAt),
  };
};
