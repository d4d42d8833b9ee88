// Schedules: created by the caller, run by the sweep. Each due time creates at most one job, in the turn that moves
// `next_run_at` past it.

import { presentSchedule, type ScheduleResource, type ScheduleRunResource } from "../../contract/schedule.ts";
import { toIso } from "../../contract/words/field.ts";
import type { Decision } from "../../domain/job/job.ts";
import { createJob, type NewJob, requirementsOfNew } from "../../domain/job/new-job.ts";
import { permit } from "../../domain/killswitch.ts";
import { describeReached } from "../../domain/money/budget.ts";
import {
  createSchedule,
  type NewSchedule,
  patchSchedule,
  planRun,
  planRunNow,
  type RunPlan,
  type Schedule,
  type SchedulePatch,
  storedTiming,
} from "../../domain/schedule/schedule.ts";
import { previewRuns } from "../../domain/schedule/timing.ts";
import { SERVICE_ACTOR } from "../../domain/words/event.ts";
import { notFound, type Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import { admit } from "../placing/place-job.ts";
import { MAX_GROUPS, refuseBacklog, refuseFull, refuseNewGroups, STORES_ENOUGH } from "../placing/room.ts";
import { removedModelNote } from "../steps/catalog.ts";
import { inFlow } from "../steps/flow.ts";
import { type Idempotency, type Replayable, withIdempotency } from "../steps/idempotency.ts";
import { refuseGoneFiles } from "../steps/job-files.ts";
import { countRequest, mayUseEdge, refuseModel, refuseOverLimits } from "../steps/key-limits.ts";
import { type Portion, portionOf } from "../steps/portion.ts";
import { budgetAgainst } from "../steps/reached-budgets.ts";
import type { ScheduleRun } from "../store/outbox.ts";
import type { Turn } from "../turn/turn.ts";

/** The schedule for the API, with a warning if its jobs name a removed model. */
export const present = (turn: Turn, schedule: Schedule, preview: readonly number[] | null = null): ScheduleResource =>
  presentSchedule(schedule, removedModelNote(turn, schedule), preview);

const find = (turn: Turn, name: string): Result<Schedule, Refusal> => {
  const schedule = turn.store.schedules.find(name);
  return schedule === null ? err(notFound("schedule", name)) : ok(schedule);
};

export const create = (turn: Turn, request: NewSchedule): Result<ScheduleResource, Refusal> => {
  if (turn.store.schedules.find(request.name) !== null) return err({ code: "schedule_exists", name: request.name });
  const created = newSchedule(turn, request);
  if (!created.ok) return created;
  const room = refuseTooMany(turn);
  if (!room.ok) return room;
  put(turn, created.value);
  turn.audit("schedule.created", request.name, timingDetail(created.value));
  return ok(present(turn, created.value));
};

export const MAX_SCHEDULES = 5_000;
/** Of all schedules, with their prompts and inputs. */
export const MAX_SCHEDULE_CHARS = 16 * 1024 * 1024;

const refuseTooMany = ({ store }: Turn, limit = MAX_SCHEDULES): Result<null, Refusal> =>
  store.schedules.hasRoom(limit, MAX_SCHEDULE_CHARS)
    ? ok(null)
    : err({ code: "too_many_schedules", limit: MAX_SCHEDULES, limitChars: MAX_SCHEDULE_CHARS });

const textLength = ({ prompt, input }: Schedule): number => prompt.length + JSON.stringify(input).length;

const newSchedule = (turn: Turn, request: NewSchedule): Result<Schedule, Refusal> => {
  const created = createSchedule(asMayRun(turn, request), turn.nowAt);
  if (!created.ok) return created;
  const allowed = refuseAsked(turn, created.value.model, request.files);
  return allowed.ok ? created : allowed;
};

/** The jobs go where those of the caller's key may. */
const asMayRun = <T extends { readonly edge?: boolean | undefined }>(turn: Turn, asked: T): T =>
  mayUseEdge(turn) ? asked : { ...asked, edge: false };

/** Who only pauses or resumes it changes none of its jobs. */
const changesJobs = (asked: SchedulePatch): boolean => Object.keys(asked).some((field) => field !== "status");

/** What every one of its jobs would be refused for. */
const refuseAsked = (turn: Turn, model: string | null, files: readonly string[] = []): Result<null, Refusal> => {
  const allowed = refuseModel(turn, [model]);
  return allowed.ok ? refuseGoneFiles(turn, [{ files }]) : allowed;
};

const put = (turn: Turn, schedule: Schedule): void => {
  turn.store.schedules.put(schedule);
  turn.due(schedule.nextRunAt);
  turn.effects.changedTopics.add("schedule");
};

const timingDetail = ({ cron, interval, timezone, status }: Schedule) => ({ cron, interval, timezone, status });

/** How many coming runs are found at a time: some fifty milliseconds, for which the process's other tenants wait. */
const RUNS_A_PORTION = 500;

/** The first of a page, newest first, or of those with these names. */
export const list = (
  turn: Turn,
  asked: { limit: number; offset: number; preview: number | null; names?: readonly string[] },
): Result<Portion<ScheduleResource> & { total: number }, Refusal> => {
  const { schedules } = turn.store;
  const names = asked.names ?? schedules.newestNames(asked.limit, asked.offset);
  const show = (name: string) => {
    const one = schedules.find(name);
    return one === null ? null : present(turn, one, nextRunsOf(turn, one, asked.preview));
  };
  const portion = portionOf(names, show, Math.ceil(RUNS_A_PORTION / (asked.preview ?? 1)));
  return ok({ ...portion, total: schedules.count() });
};

export const get = (
  turn: Turn,
  request: { name: string; preview: number | null },
): Result<ScheduleResource, Refusal> => {
  const found = find(turn, request.name);
  return found.ok ? ok(present(turn, found.value, nextRunsOf(turn, found.value, request.preview))) : found;
};

const nextRunsOf = (turn: Turn, schedule: Schedule, many: number | null): readonly number[] | null => {
  const fromAt = schedule.nextRunAt === null ? turn.nowAt : schedule.nextRunAt - 1;
  return many === null ? null : previewRuns(storedTiming(schedule), fromAt, many);
};

/** The next runs of a schedule that is not stored; gives the same refusals as its creation. */
export const preview = (
  turn: Turn,
  request: { schedule: NewSchedule; count: number },
): Result<readonly string[], Refusal> => {
  const created = newSchedule(turn, request.schedule);
  if (!created.ok) return created;
  return ok(previewRuns(storedTiming(created.value), turn.nowAt, request.count).map(toIso));
};

export const patch = (
  turn: Turn,
  { name, patch: asked }: { name: string; patch: SchedulePatch },
): Result<ScheduleResource, Refusal> => {
  const found = find(turn, name);
  if (!found.ok) return found;
  const before = found.value;
  const changes = changesJobs(asked) ? asMayRun(turn, asked) : asked;
  const checked = patchSchedule(before, changes, turn.nowAt);
  if (!checked.ok) return checked;
  const allowed = changesJobs(asked) ? refuseAsked(turn, checked.value.model, asked.files) : ok(null);
  if (!allowed.ok) return allowed;
  if (textLength(checked.value) > textLength(before)) {
    const room = refuseTooMany(turn, Number.POSITIVE_INFINITY);
    if (!room.ok) return room;
  }
  // A run that was due before the patch still happens; the patch applies to the result.
  const patched = patchSchedule(runIfDue(turn, before), changes, turn.nowAt);
  if (!patched.ok) throw new Error(`schedule ${name} passed a check and then did not`);
  put(turn, patched.value);
  turn.audit("schedule.changed", name, {
    before: timingDetail(before),
    after: timingDetail(patched.value),
    fields: Object.keys(changes),
  });
  return ok(present(turn, patched.value));
};

export const remove = (turn: Turn, { name }: { name: string }): Result<null, Refusal> => {
  const found = find(turn, name);
  if (!found.ok) return found;
  turn.store.schedules.remove(name);
  turn.effects.changedTopics.add("schedule");
  turn.audit("schedule.deleted", name);
  return ok(null);
};

export const runNow = (
  turn: Turn,
  { name, idempotency, ...said }: { name: string; idempotency: Idempotency | null; edge?: false },
): Result<Replayable<ScheduleRunResource>, Refusal> =>
  withIdempotency(turn, "run", idempotency, () => carryOutNow(turn, name, said));

const carryOutNow = (
  turn: Turn,
  name: string,
  said: { readonly edge?: false },
): Result<ScheduleRunResource, Refusal> => {
  const found = find(turn, name);
  if (!found.ok) return found;
  const schedule = found.value;
  const permitted = permit(turn.memory.killswitch, "create");
  if (!permitted.ok) return permitted;
  const limited = refuseOverLimits(turn, [schedule.model], [schedule]);
  if (!limited.ok) return limited;
  const plan = planRunNow(schedule, turn.nowAt, turn.memory.killswitch.level);
  const { run } = applyPlan(turn, schedule, plan, (asked) => jobOfCaller(turn, asMayRun(turn, { ...asked, ...said })));
  countRequest(turn, run.job_id !== null, [schedule]);
  turn.audit("schedule.run", name, { outcome: run.outcome, job_id: run.job_id });
  return ok(run);
};

/**
 * Runs a schedule if it is due; returns the resulting schedule. A schedule that cannot be read is paused with a failed
 * run in its history, so that it does not stop the others.
 */
const runIfDue = (turn: Turn, schedule: Schedule): Schedule => {
  const circumstances = {
    openJob: turn.store.jobs.hasOpenOf(schedule.name),
    killswitchLevel: turn.memory.killswitch.level,
  };
  let plan: RunPlan | null;
  try {
    plan = planRun(schedule, turn.nowAt, circumstances);
  } catch (error) {
    return setAside(turn, schedule, (error as Error).message);
  }
  return plan === null ? schedule : applyPlan(turn, schedule, plan).schedule;
};

const RUNS_A_SWEEP = 50;
const CHARS_A_SWEEP = 256 * 1024;
/** Between two sweeps that have so much to do other tenants have the thread. */
const REST_MS = 100;

export const nextScheduleAt = ({ store, memory }: Turn): number | null => {
  const at = store.schedules.nextRunAt();
  return at === null ? null : Math.max(at, memory.schedulesRestUntilAt);
};

/** Runs those that are due, as many as a sweep may; the others run late. */
export const runDue = (turn: Turn): void => {
  let chars = 0;
  for (let runs = 0; runs < RUNS_A_SWEEP && chars < CHARS_A_SWEEP; runs += 1) {
    const next = turn.store.schedules.firstDue(turn.nowAt);
    if (next === null) return;
    runIfDue(turn, next.schedule);
    chars += next.chars;
  }
  turn.memory.schedulesRestUntilAt = turn.nowAt + REST_MS;
};

const setAside = (turn: Turn, schedule: Schedule, reason: string): Schedule => {
  const paused: Schedule = { ...schedule, status: "paused", nextRunAt: null };
  put(turn, paused);
  const scheduledFor = schedule.nextRunAt ?? turn.nowAt;
  writeRun(turn, schedule.name, { scheduledFor, outcome: "failed", reason, missed: 0 }, null);
  turn.audit("schedule.paused", schedule.name, { reason }, SERVICE_ACTOR);
  return paused;
};

type Run = Pick<ScheduleRun, "scheduledFor" | "outcome" | "reason" | "missed">;

const jobOfNobody = (turn: Turn, asked: NewJob): Decision =>
  createJob(inFlow(turn, asked, null), turn.newId(), turn.nowAt);

/** The caller's limits count it and its cost. */
const jobOfCaller = (turn: Turn, asked: NewJob): Decision => {
  const { job, ...created } = jobOfNobody(turn, asked);
  return { ...created, job: { ...job, keyId: turn.caller.keyId } };
};

const applyPlan = (
  turn: Turn,
  before: Schedule,
  plan: RunPlan,
  makeJob = (asked: NewJob): Decision => jobOfNobody(turn, asked),
): { readonly schedule: Schedule; readonly run: ScheduleRunResource } => {
  const obstacle = plan.outcome === "created" ? whyNotCreated(turn, plan.request) : null;
  const isCreating = plan.outcome === "created" && obstacle === null;
  const created = isCreating ? makeJob(plan.request) : null;
  if (created !== null) admit(turn, created);
  const schedule = isCreating ? plan.schedule : { ...plan.schedule, lastRunAt: before.lastRunAt };
  put(turn, schedule);
  return { schedule, run: writeRun(turn, schedule.name, { ...plan, ...obstacle }, created?.job.id ?? null) };
};

const writeRun = (turn: Turn, name: string, run: Run, jobId: string | null): ScheduleRunResource => {
  const { scheduledFor, outcome, reason, missed } = run;
  turn.recordRun({ schedule: name, scheduledFor, ranAt: turn.nowAt, outcome, reason, jobId, missed });
  return {
    scheduled_for: toIso(scheduledFor),
    ran_at: toIso(turn.nowAt),
    outcome,
    reason,
    job_id: jobId,
    job_status: jobId === null ? null : (turn.store.jobs.find(jobId)?.status ?? null),
    missed,
  };
};

/** The outcome and reason of a run that may not create its job; null if it may. */
const whyNotCreated = (turn: Turn, asked: NewJob): Pick<Run, "outcome" | "reason"> | null => {
  const reached = budgetAgainst(turn, requirementsOfNew(asked));
  if (reached !== null) return { outcome: "skipped", reason: describeReached(reached) };
  if (!refuseFull(turn).ok) return { outcome: "failed", reason: STORES_ENOUGH };
  if (!refuseBacklog(turn).ok)
    return { outcome: "failed", reason: "too much waits to be written to the history store" };
  return refuseNewGroups(turn, [asked]).ok
    ? null
    : { outcome: "failed", reason: `jobs with ${MAX_GROUPS} different requirements wait` };
};
