// Schedules on the wire.

import * as z from "zod";
import type { NewSchedule, Schedule, SchedulePatch } from "../domain/schedule/schedule.ts";
import { OVERLAPS, SCHEDULE_STATUSES } from "../domain/schedule/schedule-status.ts";
import { asked, edgeAllowed, fairnessKey, jobFiles, jobInput, jobStatus, priority, tier } from "./jobs/job.ts";
import {
  changeOf,
  count,
  cronText,
  digits,
  identifier,
  instant,
  listQuery,
  MAX_PROMPT_BYTES,
  modelName,
  page,
  providerName,
  tags,
  text,
  toIso,
  toIsoOrNull,
} from "./words/field.ts";
import type { EveryFieldIsTold } from "./words/told-field.ts";
import { MAX_PREVIEW } from "./words/values.ts";

/** `.` and `..` mean directories in a URL path, so a schedule of that name could not be addressed. */
export const scheduleName = identifier(/^[A-Za-z0-9._-]+$/, 64, "characters from A-Z a-z 0-9 . _ -").refine(
  (name) => !/^\.{1,2}$/.test(name),
  "must not be . or .., which no URL path can contain",
);
export const scheduleNameParam = z.object({ name: scheduleName });

const timing = {
  cron: cronText.nullish(),
  interval: z.string().max(32).nullish(),
  timezone: z.string().max(64).optional(),
};

const request = {
  input: jobInput.optional(),
  provider: providerName.nullish(),
  model: modelName.nullish(),
  priority: priority.optional(),
  tier: tier.nullish(),
  tags: tags.optional(),
  files: jobFiles.optional(),
  edge: edgeAllowed.optional(),
  fairness_key: fairnessKey.nullish(),
  overlap: z.enum(OVERLAPS).optional(),
  status: z.enum(SCHEDULE_STATUSES).optional(),
};

export const newScheduleRequest = z
  .strictObject({ name: scheduleName, ...timing, prompt: text(MAX_PROMPT_BYTES), ...request })
  .meta({ id: "NewSchedule", examples: [{ name: "digest", cron: "0 18 * * 1-5", prompt: "Summarise the day." }] });

/** `name` may be repeated unchanged; a schedule cannot be renamed. */
export const patchScheduleRequest = changeOf(
  { name: scheduleName.optional(), ...timing, prompt: text(MAX_PROMPT_BYTES).optional(), ...request },
  "give at least one field to change",
).meta({ id: "ScheduleEdit", examples: [{ status: "paused" }] });

const previewCount = digits(1, MAX_PREVIEW);
export const scheduleQuery = z.strictObject({ preview: previewCount.optional() });
export const previewQuery = z.strictObject({ preview: previewCount.default(5) });
const MAX_LAST_RUNS = 20;
export const scheduleListQuery = z.strictObject({
  ...listQuery,
  preview: previewCount.optional().meta({ description: "so many of the next runs of each" }),
  runs: digits(1, MAX_LAST_RUNS).optional().meta({ description: "so many of the last runs of each" }),
});
export const scheduleRunsQuery = z.strictObject(listQuery);

export const scheduleRun = z
  .object({
    scheduled_for: instant,
    ran_at: instant,
    outcome: z.enum(["created", "skipped", "failed"]),
    reason: z.string().nullable(),
    job_id: z.string().nullable(),
    job_status: jobStatus.nullable(),
    missed: count,
  })
  .meta({ id: "ScheduleRun" });

export const scheduleResource = z
  .object({
    name: z.string(),
    cron: z.string().nullable(),
    interval: z.string().nullable(),
    timezone: z.string(),
    ...asked,
    files: z.array(z.string()),
    edge: z.boolean(),
    fairness_key: z.string().nullable(),
    overlap: z.enum(OVERLAPS),
    status: z.enum(SCHEDULE_STATUSES),
    next_run_at: instant.nullable(),
    last_run_at: instant.nullable(),
    created_at: instant,
    warning: z
      .string()
      .nullable()
      .meta({ description: "why its jobs cannot run, e.g. a model that no longer exists; null if nothing is wrong" }),
    next_runs: z.array(instant).optional().meta({ description: "with ?preview=<n>" }),
    last_runs: z.array(scheduleRun).optional().meta({ description: "of a list with ?runs=<n>, newest first" }),
  })
  .meta({ id: "Schedule" });

export const scheduleList = z.object({ schedules: z.array(scheduleResource), ...page }).meta({ id: "ScheduleList" });
export const schedulePreview = z.object({ next_runs: z.array(instant) }).meta({ id: "SchedulePreview" });

export const scheduleHistory = z.object({ history: z.array(scheduleRun), ...page }).meta({ id: "ScheduleHistory" });

export type NewScheduleRequest = z.infer<typeof newScheduleRequest>;
export type PatchScheduleRequest = z.infer<typeof patchScheduleRequest>;
export type ScheduleResource = z.infer<typeof scheduleResource>;
export type ScheduleListQuery = z.infer<typeof scheduleListQuery>;
export type ScheduleList = z.infer<typeof scheduleList>;
export type SchedulePreview = z.infer<typeof schedulePreview>;
export type ScheduleRunResource = z.infer<typeof scheduleRun>;
export type ScheduleHistory = z.infer<typeof scheduleHistory>;

export const toNewSchedule = ({ fairness_key, ...body }: z.infer<typeof newScheduleRequest>): NewSchedule => ({
  ...body,
  fairnessKey: fairness_key ?? null,
});
export const toSchedulePatch = ({ name: _, fairness_key, ...patch }: z.infer<typeof patchScheduleRequest>) =>
  ({ ...patch, ...(fairness_key === undefined ? {} : { fairnessKey: fairness_key }) }) as SchedulePatch;

/** Every field except the anchor of intervals must be in the resource, or this does not compile. */
true satisfies EveryFieldIsTold<Schedule, "anchorAt", Record<never, never>, ScheduleResource>;

export const presentSchedule = (
  schedule: Schedule,
  warning: string | null,
  nextRunsAt: readonly number[] | null,
): ScheduleResource => ({
  name: schedule.name,
  cron: schedule.cron,
  interval: schedule.interval,
  timezone: schedule.timezone,
  prompt: schedule.prompt,
  input: schedule.input,
  provider: schedule.provider,
  model: schedule.model,
  priority: schedule.priority,
  tier: schedule.tier,
  tags: [...schedule.tags],
  files: [...schedule.files],
  edge: schedule.edge,
  fairness_key: schedule.fairnessKey,
  overlap: schedule.overlap,
  status: schedule.status,
  next_run_at: toIsoOrNull(schedule.nextRunAt),
  last_run_at: toIsoOrNull(schedule.lastRunAt),
  created_at: toIso(schedule.createdAt),
  warning,
  ...(nextRunsAt === null ? {} : { next_runs: nextRunsAt.map(toIso) }),
});
