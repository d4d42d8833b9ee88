// Hours of a worker, for the worker process, which may be given some of its own.

export { closedBecause, type Opening } from "../../domain/fleet/opening.ts";
export { openingAt, parseHours } from "../../domain/schedule/hours.ts";
export { parseTimezone } from "../../domain/schedule/timezone.ts";
