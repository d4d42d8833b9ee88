// Wall clocks of IANA time zones, from the runtime's zone data (Intl). Invariant: pieces() covers a span without gaps
// or overlaps, and within a piece the zone's offset is constant, so wall time = instant + offset.

import { DAY_MS } from "./duration.ts";
import { err, ok, type Result } from "./result.ts";

const MAX_NAME_LENGTH = 64;
const MAX_CACHED_FORMATTERS = 256;

/** A piece [startAt, endAt) of at most a day with a constant offset from UTC. */
interface Piece {
  readonly startAt: number;
  readonly endAt: number;
  readonly offsetMs: number;
}

// Creating a formatter costs a hundred times more than using one.
const formatters = new Map<string, Intl.DateTimeFormat>();

const formatterFor = (timezone: string): Intl.DateTimeFormat => {
  const cached = formatters.get(timezone);
  if (cached !== undefined) return cached;
  const formatter = new Intl.DateTimeFormat("en-US", {
    timeZone: timezone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  if (formatters.size >= MAX_CACHED_FORMATTERS) formatters.clear();
  formatters.set(timezone, formatter);
  return formatter;
};

/** The name as given, if the runtime knows the zone; else a message that says what to write. */
export const parseTimezone = (name: string): Result<string, string> => {
  const advice = 'is not a known time zone: use an IANA name such as "Europe/Berlin" or "UTC"';
  if (name.length > MAX_NAME_LENGTH) return err(`a time zone name of ${name.length} characters ${advice}`);
  // Fixed offsets ("+02:00") pass Intl, but are not IANA names and ignore daylight saving.
  if (!/^[A-Za-z]/.test(name)) return err(`${JSON.stringify(name)} ${advice}`);
  try {
    formatterFor(name);
    return ok(name);
  } catch {
    return err(`${JSON.stringify(name)} ${advice}`);
  }
};

/** Milliseconds to add to an instant to get the zone's wall clock. */
const offsetMsAt = (timezone: string, at: number): number => {
  const wholeSecondAt = Math.floor(at / 1000) * 1000;
  const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = formatterFor(timezone)
    .format(wholeSecondAt)
    .split(/\D+/)
    .map(Number);
  return Date.UTC(year, month - 1, day, hour, minute, second) - wholeSecondAt;
};

/** The pieces of [fromAt, untilAt), in order, split where the clocks change. */
export function* pieces(timezone: string, fromAt: number, untilAt: number): Generator<Piece> {
  let startAt = fromAt;
  let offsetMs = offsetMsAt(timezone, startAt);
  while (startAt < untilAt) {
    const dayEndAt = Math.min(startAt + DAY_MS, untilAt);
    const changes = offsetMsAt(timezone, dayEndAt) !== offsetMs;
    const endAt = changes ? firstChangeAt(timezone, startAt, dayEndAt, offsetMs) : dayEndAt;
    yield { startAt, endAt, offsetMs };
    startAt = endAt;
    if (changes) offsetMs = offsetMsAt(timezone, endAt);
  }
}

/** The instant in (startAt, endAt] at which the offset changes, by bisection. */
const firstChangeAt = (timezone: string, startAt: number, endAt: number, offsetMs: number): number => {
  let sameAt = startAt;
  let changedAt = endAt;
  while (changedAt - sameAt > 1) {
    const middleAt = Math.floor((sameAt + changedAt) / 2);
    if (offsetMsAt(timezone, middleAt) === offsetMs) sameAt = middleAt;
    else changedAt = middleAt;
  }
  return changedAt;
};
