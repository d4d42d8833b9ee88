// A schedule: what to ask for, and when. active ⇄ paused; a paused schedule is never due. Invariants: nextRunAt is the
// first undecided due time, or null while paused; a due time is decided once, as created or skipped, and nextRunAt is
// then later. Due times during a pause do not count as missed. Changing the timing restarts it.

import type { NewJob } from "../job/new-job.ts";
import { stopsSchedules } from "../killswitch.ts";
import { haltReason } from "../words/halt-reason.ts";
import { type FieldError, invalid, type RefusalOf } from "../words/refusal.ts";
import { err, ok, type Result } from "../words/result.ts";
import { parseTimezone } from "../words/timezone.ts";
import { parseCron } from "./cron.ts";
import { parseInterval } from "./interval.ts";
import type { Overlap, ScheduleStatus } from "./schedule-status.ts";
import { dueRuns, nextDueAt, type Timing } from "./timing.ts";

/** What a schedule's jobs ask for. */
type ScheduledRequest = Pick<NewJob, "prompt" | "input" | "provider" | "model" | "priority" | "tier" | "tags"> & {
  readonly files: readonly string[];
  /** false: its jobs do not go to a provider that the coordinator calls itself. */
  readonly edge: boolean;
  readonly fairnessKey: string | null;
};

export interface Schedule extends ScheduledRequest {
  readonly name: string;
  /** Exactly one of cron and interval is set. */
  readonly cron: string | null;
  readonly interval: string | null;
  readonly timezone: string;
  readonly overlap: Overlap;
  readonly status: ScheduleStatus;
  readonly nextRunAt: number | null;
  /** When it last created a job, due or run manually. */
  readonly lastRunAt: number | null;
  /** The instant from which intervals count: creation, resumption or the last change of timing. */
  readonly anchorAt: number;
  readonly createdAt: number;
}

type Optional<T> = { readonly [Key in keyof T]?: T[Key] | undefined };
type Editable = Omit<Schedule, "name" | "nextRunAt" | "lastRunAt" | "anchorAt" | "createdAt">;

export type NewSchedule = Pick<Schedule, "name" | "prompt"> & Optional<Editable>;
export type SchedulePatch = Optional<Editable>;
type TimingFields = Pick<Schedule, "cron" | "interval" | "timezone">;

/** How one run was decided. `scheduledFor` is unique among a schedule's due runs. */
export type RunPlan = {
  readonly scheduledFor: number;
  readonly missed: number;
  /** The schedule after the decision. */
  readonly schedule: Schedule;
} & (
  | { readonly outcome: "created"; readonly reason: null; readonly request: NewJob }
  | { readonly outcome: "skipped"; readonly reason: string }
);

interface RunCircumstances {
  /** Whether the schedule's last job is not final yet. */
  readonly openJob: boolean;
  readonly killswitchLevel: number;
}

/** The timing of the fields, or every field that is wrong. */
const timingOf = (fields: TimingFields, anchorAt: number): Result<Timing, RefusalOf<"invalid_request">> => {
  const { cron, interval, timezone } = fields;
  if (cron !== null && interval !== null) return err(invalid("interval", "give either cron or interval, not both"));
  const zone = parseTimezone(timezone);
  const errors: FieldError[] = zone.ok ? [] : [{ path: "timezone", message: zone.error }];
  if (cron !== null) {
    const parsed = parseCron(cron);
    if (!parsed.ok) errors.unshift({ path: "cron", message: parsed.error });
    return errors.length > 0 ? err(invalidFields(errors)) : ok({ kind: "cron", cron, timezone });
  }
  if (interval === null) return err(invalid("cron", "give either cron or interval, such as 0 9 * * 1-5 or 15m"));
  const intervalMs = parseInterval(interval);
  if (!intervalMs.ok) errors.unshift({ path: "interval", message: intervalMs.error });
  if (!intervalMs.ok || errors.length > 0) return err(invalidFields(errors));
  return ok({ kind: "interval", intervalMs: intervalMs.value, anchorAt });
};

export const createSchedule = (input: NewSchedule, nowAt: number): Result<Schedule, RefusalOf<"invalid_request">> => {
  const schedule: Schedule = {
    name: input.name,
    cron: input.cron ?? null,
    interval: input.interval ?? null,
    timezone: input.timezone ?? "UTC",
    prompt: input.prompt,
    input: input.input ?? null,
    provider: input.provider ?? null,
    model: input.model ?? null,
    priority: input.priority ?? "normal",
    tier: input.tier ?? null,
    tags: [...new Set(input.tags ?? [])],
    files: input.files ?? [],
    edge: input.edge ?? true,
    fairnessKey: input.fairnessKey ?? null,
    overlap: input.overlap ?? "allow",
    status: input.status ?? "active",
    nextRunAt: null,
    lastRunAt: null,
    anchorAt: nowAt,
    createdAt: nowAt,
  };
  return restarted(schedule, nowAt);
};

/**
 * Takes any field except the name. cron replaces an interval and vice versa. Decide a run that is already due before
 * editing, because a changed timing does not know the old due times.
 */
export const patchSchedule = (
  schedule: Schedule,
  patch: SchedulePatch,
  nowAt: number,
): Result<Schedule, RefusalOf<"invalid_request">> => {
  const given = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined)) as SchedulePatch;
  const patched = { ...schedule, ...given } as Schedule;
  const replaced: Schedule = {
    ...patched,
    cron: given.cron === undefined && (given.interval ?? null) !== null ? null : patched.cron,
    interval: given.interval === undefined && (given.cron ?? null) !== null ? null : patched.interval,
    tags: [...new Set(patched.tags)],
  };
  return keepsTiming(schedule, replaced) ? ok(replaced) : restarted(replaced, nowAt);
};

/** The run that is due, or null. Called again with the returned schedule it gives null until the next due time. */
export const planRun = (schedule: Schedule, nowAt: number, circumstances: RunCircumstances): RunPlan | null => {
  const { status, nextRunAt } = schedule;
  if (status === "paused" || nextRunAt === null || nextRunAt > nowAt) return null;
  const due = dueRuns(storedTiming(schedule), nextRunAt, nowAt);
  const advanced: Schedule = { ...schedule, nextRunAt: due.nextRunAt };
  return decided(advanced, due, skipReason(schedule, circumstances), nowAt);
};

/** A manual run: works while paused or busy and does not change the next due time; the killswitch still applies. */
export const planRunNow = (schedule: Schedule, nowAt: number, killswitchLevel: number): RunPlan => {
  const reason = skipReason(schedule, { openJob: false, killswitchLevel });
  return decided(schedule, { scheduledFor: nowAt, missed: 0 }, reason, nowAt);
};

/** Created, unless there is a reason to skip it. */
const decided = (
  schedule: Schedule,
  { scheduledFor, missed }: Pick<RunPlan, "scheduledFor" | "missed">,
  reason: string | null,
  nowAt: number,
): RunPlan => {
  const run = { scheduledFor, missed };
  if (reason !== null) return { ...run, schedule, outcome: "skipped", reason };
  const request = jobOf(schedule);
  return { ...run, schedule: { ...schedule, lastRunAt: nowAt }, outcome: "created", reason, request };
};

/** The timing of a stored schedule, which was validated when it was stored. */
export const storedTiming = (schedule: Schedule): Timing => {
  const timing = timingOf(schedule, schedule.anchorAt);
  if (!timing.ok)
    throw new Error(`schedule ${schedule.name} was stored with an invalid timing: ${timing.error.detail}`);
  return timing.value;
};

const skipReason = (schedule: Schedule, { openJob, killswitchLevel }: RunCircumstances): string | null => {
  if (stopsSchedules({ level: killswitchLevel })) return haltReason(killswitchLevel);
  if (schedule.overlap === "skip" && openJob) return "the last run's job is still open";
  return null;
};

/** Due times counted from now on, validated; none while paused. */
const restarted = (schedule: Schedule, nowAt: number): Result<Schedule, RefusalOf<"invalid_request">> => {
  const timing = timingOf(schedule, nowAt);
  if (!timing.ok) return timing;
  // If the clock was set back, a due time must not come again.
  const afterAt = Math.max(nowAt, schedule.lastRunAt ?? nowAt);
  const nextRunAt = nextDueAt(timing.value, afterAt);
  if (nextRunAt === null)
    return err(invalid("cron", "cron never fires in the next eight years: change the day or month"));
  return ok({ ...schedule, anchorAt: nowAt, nextRunAt: schedule.status === "paused" ? null : nextRunAt });
};

const keepsTiming = (before: Schedule, after: Schedule): boolean =>
  before.cron === after.cron &&
  before.interval === after.interval &&
  before.timezone === after.timezone &&
  before.status === after.status;

const jobOf = (schedule: Schedule): NewJob => {
  const { prompt, input, provider, model, priority, tier, tags, files, edge, fairnessKey } = schedule;
  const asked = { prompt, input, provider, model, priority, tier, tags, files, edge, fairnessKey };
  return { ...asked, timeoutMs: null, maxAttempts: null, runAt: null, schedule: schedule.name };
};

const invalidFields = (errors: readonly FieldError[]): RefusalOf<"invalid_request"> => ({
  code: "invalid_request",
  detail: errors.map(({ path, message }) => `${path}: ${message}`).join("; "),
  errors,
});
