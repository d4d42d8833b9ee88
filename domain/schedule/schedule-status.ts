// Whether a schedule runs, and whether its runs may overlap; the rules are in `schedule.ts`.

export const SCHEDULE_STATUSES = ["active", "paused"] as const;
export type ScheduleStatus = (typeof SCHEDULE_STATUSES)[number];

/** `skip`: no run while the previous run's job is open. */
export const OVERLAPS = ["allow", "skip"] as const;
export type Overlap = (typeof OVERLAPS)[number];
