// What each level of the killswitch does. Each includes the ones before.

interface Level {
  readonly level: number;
  readonly name: string;
  readonly effect: string;
}

export const LEVELS: readonly Level[] = [
  {
    level: 1,
    name: "Stop dispatch",
    effect:
      "Running work goes back to the queue, every worker is paused, nothing is assigned. New jobs are still queued.",
  },
  { level: 2, name: "Stop schedules", effect: "Schedules also create no jobs; their runs are recorded as skipped." },
  { level: 3, name: "Refuse new jobs", effect: "Creating jobs is also refused. Queued jobs stay queued." },
  {
    level: 4,
    name: "Full halt",
    effect: "Running work is cancelled, not requeued. Catalog sync stops, and every other change is refused.",
  },
];

/** From this level on the operator types the word. */
export const CONFIRMED_FROM = 3;
export const CONFIRMATION = "HALT";

export const levelName = (level: number): string => LEVELS.find((one) => one.level === level)?.name ?? "";
