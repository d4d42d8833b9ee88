// What happened to a tenant's jobs in a slot of time, what it cost, and how many were open at once. Invariant: a level's
// `last` holds until the next slot begins, so a slot without an event needs no row.

/** How many at once: the most in the slot, and as it ended. */
interface Level {
  peak: number;
  last: number;
}

export interface Activity {
  created: number;
  completed: number;
  failed: number;
  cancelled: number;
  nanoUsd: number;
  readonly underWay: Level;
  readonly waiting: Level;
}

const COUNTED = ["created", "completed", "failed", "cancelled", "nanoUsd"] as const;
const LEVELS = ["underWay", "waiting"] as const;

/** Nothing has happened since `before` ended. */
export const quietAfter = (before: Activity | null): Activity => {
  const level = ({ last }: Level = { peak: 0, last: 0 }): Level => ({ peak: last, last });
  const counts = { created: 0, completed: 0, failed: 0, cancelled: 0, nanoUsd: 0 };
  return { ...counts, underWay: level(before?.underWay), waiting: level(before?.waiting) };
};

export const noteLevel = (level: Level, count: number): void => {
  level.peak = Math.max(level.peak, count);
  level.last = count;
};

/** `from` follows `into` in time. */
export const appendActivity = (into: Activity, from: Activity): void => {
  for (const name of COUNTED) into[name] += from[name];
  for (const name of LEVELS) {
    into[name].peak = Math.max(into[name].peak, from[name].peak);
    into[name].last = from[name].last;
  }
};
