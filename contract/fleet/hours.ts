// Hours of a worker, for the worker process, which may be given some of its own.

export { closedBecause, openingAt, openingNow, parseHours } from "../../domain/fleet/hours.ts";
export { parseTimezone } from "../../domain/words/timezone.ts";
