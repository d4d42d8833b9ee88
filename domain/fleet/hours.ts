// The hours of a worker: windows of the week by the wall clock of a time zone. A time that the clocks skip does not
// exist, so a window within the gap is left out, and one that begins there begins after it. While a time is repeated
// nothing opens or closes: it did so the first time.

import { DAY_MS, MINUTE_MS } from "../words/duration.ts";
import { err, ok, type Result } from "../words/result.ts";
import { pieces } from "../words/timezone.ts";

/** The hours as the operator set them, with the state that they had when it was computed. */
export interface Opening {
  readonly hours: string;
  readonly timezone: string;
  readonly isOpen: boolean;
  /** When it was computed: before that, the state may have been another. */
  readonly sinceAt: number;
  /** When it opens or closes next; null: never. */
  readonly changesAt: number | null;
  /** Why it is closed, when it is. */
  readonly words: string;
}

const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const DAY_MINUTES = 1440;
const WEEK_MINUTES = DAYS.length * DAY_MINUTES;
/** The epoch began on a Thursday. */
const EPOCH_MINUTE = 3 * DAY_MINUTES;
const MAX_WINDOWS = 20;
/** A window may be skipped by the clocks once, never two weeks in a row. */
const SEARCH_MS = 16 * DAY_MS;

const ADVICE = 'write them as "Mon-Fri 19:00-07:00; Sat,Sun 00:00-24:00"';

/** For each minute of a week, from Monday on, whether it is in a window. */
type Week = Uint8Array;

export const parseHours = (text: string): Result<Week, string> => {
  const windows = text.split(";").map((window) => window.trim());
  if (windows.length > MAX_WINDOWS) return err(`has ${windows.length} windows: give at most ${MAX_WINDOWS}`);
  const week = new Uint8Array(WEEK_MINUTES);
  for (const window of windows) {
    const added = addWindow(week, window);
    if (!added.ok) return added;
  }
  return ok(week);
};

const WINDOW = /^(?:(\S+)\s+)?(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})$/;

const addWindow = (week: Week, window: string): Result<null, string> => {
  const parts = WINDOW.exec(window);
  if (parts === null) return err(`cannot be read at ${JSON.stringify(window)}: ${ADVICE}`);
  const [, named, ...times] = parts;
  const [startHour = 0, startMinute = 0, endHour = 0, endMinute = 0] = times.map(Number);
  const start = startHour * 60 + startMinute;
  const end = endHour * 60 + endMinute;
  if (startMinute > 59 || endMinute > 59 || start >= DAY_MINUTES || end > DAY_MINUTES)
    return err(`has a time that no day has in ${JSON.stringify(window)}: from 00:00 to 24:00`);
  if (start === end) return err(`has an empty window ${JSON.stringify(window)}: a whole day is 00:00-24:00`);
  const days = named === undefined ? [...DAYS.keys()] : daysIn(named);
  if (days === null) return err(`has unknown days ${JSON.stringify(named)}: ${ADVICE}`);
  const length = end > start ? end - start : end + DAY_MINUTES - start;
  for (const day of days) {
    const from = day * DAY_MINUTES + start;
    for (let minute = from; minute < from + length; minute += 1) week[minute % WEEK_MINUTES] = 1;
  }
  return ok(null);
};

/** `Mon-Fri`, `Sat,Sun`, `Fri-Mon`; null if a name is unknown. */
const daysIn = (named: string): number[] | null => {
  const days: number[] = [];
  for (const part of named.split(",")) {
    const ends = part.split("-").map((name) => DAYS.findIndex((day) => day.toLowerCase() === name.toLowerCase()));
    const [first = -1, last = first] = ends;
    if (first < 0 || last < 0 || ends.length > 2) return null;
    for (let day = first; ; day = (day + 1) % DAYS.length) {
      days.push(day);
      if (day === last) break;
    }
  }
  return days;
};

const isIn = (week: Week, wall: number): boolean =>
  week[(((Math.floor(wall / MINUTE_MS) + EPOCH_MINUTE) % WEEK_MINUTES) + WEEK_MINUTES) % WEEK_MINUTES] === 1;

interface Stretch {
  readonly startAt: number;
  readonly isOpen: boolean;
}

/** From an instant on: where the state is what; neighbours may have the same state. */
function* stretches(week: Week, timezone: string, fromAt: number): Generator<Stretch> {
  let wallReached = Number.NEGATIVE_INFINITY;
  // Starts a day early, to know whether the first moments repeat a wall time.
  for (const { startAt, endAt, offsetMs } of pieces(timezone, fromAt - DAY_MS, fromAt + SEARCH_MS)) {
    const repeatedUntilAt = Math.min(endAt, wallReached - offsetMs);
    if (repeatedUntilAt > startAt) yield { startAt, isOpen: isIn(week, wallReached - 1) };
    let at = Math.max(startAt, repeatedUntilAt);
    while (at < endAt) {
      const isOpen = isIn(week, at + offsetMs);
      yield { startAt: at, isOpen };
      do at = (Math.floor((at + offsetMs) / MINUTE_MS) + 1) * MINUTE_MS - offsetMs;
      while (at < endAt && isIn(week, at + offsetMs) === isOpen);
    }
    wallReached = Math.max(wallReached, endAt + offsetMs);
  }
}

/** Whether it is open at an instant, and when that changes; null: never. */
const stateAt = (week: Week, timezone: string, nowAt: number): { isOpen: boolean; changesAt: number | null } => {
  let isOpen = false;
  for (const stretch of stretches(week, timezone, nowAt)) {
    if (stretch.startAt <= nowAt) isOpen = stretch.isOpen;
    else if (stretch.isOpen !== isOpen) return { isOpen, changesAt: stretch.startAt };
  }
  return { isOpen, changesAt: null };
};

/** The state at an instant, and what it says while it is closed. Throws on hours that `parseHours` refuses. */
export const openingAt = (hours: string, timezone: string, nowAt: number): Opening => {
  const parsed = parseHours(hours);
  if (!parsed.ok) throw new Error(`stored hours are invalid: ${parsed.error}`);
  const week = parsed.value;
  const { isOpen, changesAt } = stateAt(week, timezone, nowAt);
  const closesAt = isOpen ? changesAt : nowAt;
  const opensAt = isOpen && changesAt !== null ? stateAt(week, timezone, changesAt).changesAt : changesAt;
  return { hours, timezone, isOpen, sinceAt: nowAt, changesAt, words: wordsFor(timezone, closesAt ?? nowAt, opensAt) };
};

const wordsFor = (timezone: string, closesAt: number, opensAt: number | null): string => {
  if (opensAt === null) return "outside its hours";
  const [piece] = pieces(timezone, opensAt, opensAt + 1);
  const wall = new Date(opensAt + (piece?.offsetMs ?? 0));
  const time = wall.toISOString().slice(11, 16);
  const day = opensAt - closesAt > DAY_MS ? `${DAYS[(wall.getUTCDay() + DAYS.length - 1) % DAYS.length]} ` : "";
  return `outside its hours until ${day}${time} ${timezone}`;
};

/** Of an opening, the one after it: many jobs ask for the state before it is computed and stored again. */
const LATER = new WeakMap<Opening, Opening>();

const holdsAt = ({ sinceAt, changesAt }: Opening, nowAt: number): boolean =>
  sinceAt <= nowAt && (changesAt === null || nowAt < changesAt);

/**
 * The opening with its state now. Several changes may have passed since: a server may have been off overnight, or its
 * clock was set back.
 */
export const openingNow = (opening: Opening, nowAt: number): Opening => {
  if (holdsAt(opening, nowAt)) return opening;
  const known = LATER.get(opening);
  if (known !== undefined && holdsAt(known, nowAt)) return known;
  const later = openingAt(opening.hours, opening.timezone, nowAt);
  LATER.set(opening, later);
  return later;
};

/** Why it takes nothing now; null if it is open. */
export const closedBecause = (opening: Opening, nowAt: number): string | null => {
  const { isOpen, words } = openingNow(opening, nowAt);
  return isOpen ? null : words;
};
