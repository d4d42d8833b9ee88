// Why a worker takes no jobs although its runtime works: it is outside its hours, or its machine is in use.

import { closedBecause, openingAt, openingNow } from "../../contract/fleet/hours.ts";

export type Gate = {
  /** Why it is closed; null while it is open. */
  closed: () => string | null;
  /** Whether it is closed only for a look at the machine: running jobs are finished, whatever the settings. */
  isLooking?: () => boolean;
  /** Milliseconds until the answer may be another. */
  changesInMs: () => number;
};

export const ALWAYS_OPEN: Gate = { closed: () => null, changesInMs: () => Number.POSITIVE_INFINITY };

export const hoursGate = (hours: string, timezone: string, now: () => number = Date.now): Gate => {
  const opening = openingAt(hours, timezone, now());
  return {
    closed: () => closedBecause(opening, now()),
    changesInMs: () => (openingNow(opening, now()).changesAt ?? Number.POSITIVE_INFINITY) - now(),
  };
};

/** Open while all are. */
export const allOf = (gates: readonly Gate[]): Gate => ({
  closed: () => gates.map((gate) => gate.closed()).find((why) => why !== null) ?? null,
  isLooking: () => gates.find((gate) => gate.closed() !== null)?.isLooking?.() ?? false,
  changesInMs: () => Math.min(...gates.map((gate) => gate.changesInMs()), Number.POSITIVE_INFINITY),
});
