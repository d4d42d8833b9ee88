// Converts the input of a schedule's form to API fields.

import type { ScheduleResource } from "../../contract/schedule.ts";
import { readerZone } from "../format.ts";
import { EMPTY_JOB, fieldsLike, type JobFields, toBody } from "../parts/job-fields.ts";

export interface ScheduleFields extends JobFields {
  readonly name: string;
  readonly kind: "cron" | "interval";
  readonly cron: string;
  readonly interval: string;
  readonly timezone: string;
  readonly overlap: "allow" | "skip";
}

export const newSchedule = (): ScheduleFields => ({
  ...EMPTY_JOB,
  name: "",
  kind: "cron",
  cron: "0 9 * * 1-5",
  interval: "15m",
  timezone: readerZone(),
  overlap: "allow",
});

export const fieldsOf = (schedule: ScheduleResource): ScheduleFields => ({
  ...fieldsLike(schedule),
  name: schedule.name,
  kind: schedule.cron === null ? "interval" : "cron",
  cron: schedule.cron ?? "0 9 * * 1-5",
  interval: schedule.interval ?? "15m",
  timezone: schedule.timezone,
  overlap: schedule.overlap,
});

const timing = (fields: ScheduleFields) =>
  fields.kind === "cron"
    ? { cron: fields.cron.trim(), timezone: fields.timezone.trim() }
    : { interval: fields.interval.trim() };

/** What a preview needs; the times of runs do not depend on the job. */
export const toPreview = (fields: ScheduleFields) => ({ name: "preview", prompt: "preview", ...timing(fields) });

export const toNewSchedule = (fields: ScheduleFields) => ({
  name: fields.name.trim(),
  ...timing(fields),
  ...toBody(fields),
  overlap: fields.overlap,
});

/** An edit also sends empty fields. */
export const toEdit = (fields: ScheduleFields) => ({
  input: null,
  provider: null,
  model: null,
  tier: null,
  ...(fields.kind === "cron" ? { interval: null } : { cron: null }),
  ...timing(fields),
  ...toBody(fields),
  overlap: fields.overlap,
});
