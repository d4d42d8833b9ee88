// A schedule's record as an earlier release stored it, with missing fields filled in.

import type { Schedule } from "./schedule.ts";

/** Fields that every record has. A new field goes into `LATER_FIELDS`, or does not compile. */
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

/** Fields added after the first release, with the values of a schedule that never used them. */
const LATER_FIELDS = { files: [], edge: true, fairnessKey: null } as const satisfies Pick<
  Schedule,
  Exclude<keyof Schedule, FirstField>
>;

export const readSchedule = (text: string): Schedule => ({ ...LATER_FIELDS, ...(JSON.parse(text) as Schedule) });
