// A schedule's record as an earlier release stored it, read with what it lacks.

import type { Schedule } from "./schedule.ts";

/** Fields that every record has. A field that is added to a schedule later goes to `LATER_FIELDS`, or does not compile. */
type FirstField =
  | "name"
  | "cron"
  | "interval"
  | "timezone"
  | "prompt"
  | "input"
  | "provider"
  | "model"
  | "priority"
  | "tier"
  | "tags"
  | "overlap"
  | "status"
  | "nextRunAt"
  | "lastRunAt"
  | "anchorAt"
  | "createdAt";

/** Fields that came after the first release, as a schedule has them that never used them. */
const LATER_FIELDS = {} as const satisfies Pick<Schedule, Exclude<keyof Schedule, FirstField>>;

export const readSchedule = (text: string): Schedule => ({ ...LATER_FIELDS, ...(JSON.parse(text) as Schedule) });
