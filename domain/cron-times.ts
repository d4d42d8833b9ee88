// When a cron expression is due, in a time zone whose clocks may jump.
// A time that a jump forward skips is due once, at the first moment after the gap. A time that a jump back
// repeats is due the first time only. An expression that names every hour follows elapsed time instead:
// due at each moment whose wall clock matches, both times round, with nothing to make up for a gap.

import { type Cron, matchesBetween, parseCron } from "./cron.ts";
import { DAY_MS, pieces } from "./timezone.ts";

/** 29 February skips a century that is no leap year: eight years and a margin bound every search. */
const SEARCH_MS = (8 * 366 + 1) * DAY_MS;

export interface CronTiming {
  readonly cron: string;
  readonly timezone: string;
}

interface DueStretch {
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
}

/** The first due time after an instant; null if there is none in eight years. */
export const nextCronAt = ({ cron, timezone }: CronTiming, afterAt: number): number | null => {
  for (const stretch of dueStretches(parsed(cron), timezone, afterAt, afterAt + SEARCH_MS)) return stretch.firstAt;
  return null;
};

/** The due times in (afterAt, untilAt]: how many, and the last of them. Costs one step per day, not per due time. */
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

function parsed(text: string): Cron {
  const cron = parseCron(text);
  if (!cron.ok) throw new Error(`a cron expression was stored that is not one: ${cron.error}`);
  return cron.value;
}

/** The due times in (afterAt, untilAt], summed up by stretches of steady clocks; stretches without any are left out. */
function* dueStretches(cron: Cron, timezone: string, afterAt: number, untilAt: number): Generator<DueStretch> {
  let wallReached: number | null = null;
  // A day earlier than asked, to know whether the first moments repeat a wall time.
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
