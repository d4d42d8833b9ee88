// When a cron expression is due, in a time zone whose clocks may jump. A time skipped by a jump forward is due once, at
// the first moment after the gap. A time repeated by a jump back is due only the first time. An expression with every
// hour follows elapsed time instead: it is due whenever the wall clock matches, both times, and makes up for no gap.

import { DAY_MS } from "../words/duration.ts";
import { pieces } from "../words/timezone.ts";
import { type Cron, matchesBetween, nextDay, parseCron } from "./cron.ts";

/** 29 February skips century years that are not leap years: eight years and a margin bound every search. */
const SEARCH_MS = (8 * 366 + 1) * DAY_MS;
/** A wall clock is less than a day from UTC, and a gap that is made up for is a day at most. */
const FARTHEST_MS = 2 * DAY_MS;

export interface CronTiming {
  readonly cron: string;
  readonly timezone: string;
}

interface DueStretch {
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
}

/** The first due time after an instant; null if there is none within eight years. */
export const nextCronAt = (timing: CronTiming, afterAt: number): number | null =>
  cronTimesAfter(timing, afterAt, 1)[0] ?? null;

/** The next due times after an instant, at most `count`, each within eight years of the one before. */
export const cronTimesAfter = ({ cron: text, timezone }: CronTiming, afterAt: number, count: number): number[] => {
  const cron = parsed(text);
  const times: number[] = [];
  for (let lastAt = afterAt; times.length < count; ) {
    const at = firstAfter(cron, timezone, lastAt);
    if (at === null) break;
    times.push(at);
    lastAt = at;
  }
  return times;
};

/** Walks around days that fire, because a walk over all of them costs milliseconds for a yearly schedule. */
const firstAfter = (cron: Cron, timezone: string, afterAt: number): number | null => {
  const untilAt = afterAt + SEARCH_MS;
  const next = (fromWall: number) => nextDay(cron, fromWall, untilAt + FARTHEST_MS);
  for (let day = next(afterAt - FARTHEST_MS); day !== null; day = next(day + DAY_MS)) {
    const [nearAt, farAt] = [Math.max(afterAt, day - FARTHEST_MS), Math.min(untilAt, day + DAY_MS + FARTHEST_MS)];
    if (farAt <= nearAt) continue;
    for (const { firstAt } of dueStretches(cron, timezone, nearAt, farAt)) return firstAt;
  }
  return null;
};

/** The due times in (afterAt, untilAt]: their number, and the last one. Costs one step per day, not per due time. */
export const cronRunsBetween = (
  { cron, timezone }: CronTiming,
  afterAt: number,
  untilAt: number,
): { count: number; lastAt: number | null } => {
  let count = 0;
  let lastAt: number | null = null;
  for (const stretch of dueStretches(parsed(cron), timezone, afterAt, untilAt)) {
    count += stretch.count;
    lastAt = stretch.lastAt;
  }
  return { count, lastAt };
};

const parsed = (text: string): Cron => {
  const cron = parseCron(text);
  if (!cron.ok) throw new Error(`a stored cron expression is invalid: ${cron.error}`);
  return cron.value;
};

/**
 * The due times in (afterAt, untilAt], summed up per piece with a constant offset; pieces without due times are left
 * out.
 */
function* dueStretches(cron: Cron, timezone: string, afterAt: number, untilAt: number): Generator<DueStretch> {
  let wallReached: number | null = null;
  // Starts a day early, to know whether the first moments repeat a wall time.
  for (const { startAt, endAt, offsetMs } of pieces(timezone, afterAt - DAY_MS, untilAt + 1)) {
    const wallStart = startAt + offsetMs;
    const wallEnd = endAt + offsetMs;
    let wallFrom = wallStart;
    let skipsDueTime = false;
    if (!cron.everyHour && wallReached !== null) {
      skipsDueTime = startAt > afterAt && matchesBetween(cron, wallReached, wallStart).count > 0;
      wallFrom = Math.max(wallStart, wallReached);
    }
    wallReached = Math.max(wallEnd, wallReached ?? wallEnd);
    const { count, firstWall, lastWall } = matchesBetween(cron, Math.max(wallFrom, afterAt + 1 + offsetMs), wallEnd);
    const isMakeUpExtra = skipsDueTime && firstWall !== wallStart;
    if (count === 0 && !isMakeUpExtra) continue;
    yield {
      count: count + (isMakeUpExtra ? 1 : 0),
      firstAt: isMakeUpExtra || firstWall === null ? startAt : firstWall - offsetMs,
      lastAt: lastWall === null ? startAt : lastWall - offsetMs,
    };
  }
}
