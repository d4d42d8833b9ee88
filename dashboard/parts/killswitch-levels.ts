// What each level of the killswitch does, in an operator's words. Each does what the one before does, too.

export interface Level {
  readonly level: number;
  readonly name: string;
  readonly effect: string;
}

export const LEVELS: readonly Level[] = [
  {
    level: 1,
    name: "Stop dispatch",
    effect: "Running work goes back to the queue, every worker is paused, nothing is assigned. New jobs still queue.",
  },
  { level: 2, name: "Stop schedules", effect: "Schedules create nothing either; their runs are recorded as skipped." },
  { level: 3, name: "Refuse new jobs", effect: "Creating jobs is refused, too. What is queued stays queued." },
  {
    level: 4,
    name: "Full halt",
    effect: "Running work is cancelled, not requeued. Catalog sync stops, and every other change is refused.",
  },
];

/** From here on the operator types the word. */
export const CONFIRMED_FROM = 3;
export const CONFIRMATION = "HALT";

export const levelName = (level: number): string => LEVELS.find((one) => one.level === level)?.name ?? "";
