// Schedules: kept by their owner, run by the sweep. Each due time makes at most one job, in the turn that moves
// `next_run_at` past it.

import { createJob } from "../../domain/job.ts";
import { permit } from "../../domain/killswitch.ts";
import { notFound, type Refusal } from "../../domain/refusal.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import {
  createSchedule,
  editSchedule,
  type NewSchedule,
  planRun,
  planRunNow,
  type RunPlan,
  type Schedule,
  type SchedulePatch,
  storedTiming,
} from "../../domain/schedule.ts";
import { previewRuns } from "../../domain/timing.ts";
import { toIso, toIsoOrNull } from "../../src/contract/field.ts";
import { presentSchedule, type ScheduleResource, type ScheduleRunResource } from "../../src/contract/schedule.ts";
import { budgetReached } from "./budget.ts";
import { admit, routePolicy } from "./routing.ts";
import type { Turn } from "./turn.ts";

export const create = (turn: Turn, request: NewSchedule): Result<ScheduleResource, Refusal> => {
  if (turn.store.schedules.find(request.name) !== null) return err({ code: "schedule_exists", name: request.name });
  const created = createSchedule(request, turn.nowAt);
  if (!created.ok) return created;
  put(turn, created.value);
  turn.audit("schedule.created", request.name, timingDetail(created.value));
  return ok(presentSchedule(created.value));
};

const put = (turn: Turn, schedule: Schedule): void => {
  turn.store.schedules.put(schedule);
  turn.due(schedule.nextRunAt);
  turn.effects.changedTopics.add("schedule");
};

const timingDetail = ({ cron, interval, timezone, status }: Schedule) => ({ cron, interval, timezone, status });

export const list = (
  turn: Turn,
  page: { limit: number; offset: number },
): Result<{ schedules: ScheduleResource[]; total: number }, Refusal> =>
  ok({
    schedules: turn.store.schedules.page(page.limit, page.offset).map((one) => presentSchedule(one)),
    total: turn.store.schedules.count(),
  });

export const get = (
  turn: Turn,
  request: { name: string; preview: number | null },
): Result<ScheduleResource, Refusal> => {
  const schedule = turn.store.schedules.find(request.name);
  if (schedule === null) return err(notFound("schedule", request.name));
  const fromAt = schedule.nextRunAt === null ? turn.nowAt : schedule.nextRunAt - 1;
  const preview = request.preview === null ? null : previewRuns(storedTiming(schedule), fromAt, request.preview);
  return ok(presentSchedule(schedule, preview));
};

/** The next runs of a schedule that is not stored; refused like its creation would be. */
export const preview = (
  turn: Turn,
  request: { schedule: NewSchedule; count: number },
): Result<readonly string[], Refusal> => {
  const created = createSchedule(request.schedule, turn.nowAt);
  if (!created.ok) return created;
  return ok(previewRuns(storedTiming(created.value), turn.nowAt, request.count).map(toIso));
};

export const edit = (
  turn: Turn,
  request: { name: string; patch: SchedulePatch },
): Result<ScheduleResource, Refusal> => {
  const found = turn.store.schedules.find(request.name);
  if (found === null) return err(notFound("schedule", request.name));
  const checked = editSchedule(found, request.patch, turn.nowAt);
  if (!checked.ok) return checked;
  // What fell due before the edit still runs; the edit then applies to what that left.
  const current = runIfDue(turn, found);
  const edited = editSchedule(current, request.patch, turn.nowAt);
  if (!edited.ok) throw new Error(`schedule ${request.name} passed a check and then did not`);
  put(turn, edited.value);
  turn.audit("schedule.changed", request.name, {
    before: timingDetail(found),
    after: timingDetail(edited.value),
    fields: Object.keys(request.patch),
  });
  return ok(presentSchedule(edited.value));
};

export const remove = (turn: Turn, request: { name: string }): Result<null, Refusal> => {
  if (turn.store.schedules.find(request.name) === null) return err(notFound("schedule", request.name));
  turn.store.schedules.remove(request.name);
  turn.effects.changedTopics.add("schedule");
  turn.audit("schedule.deleted", request.name);
  return ok(null);
};

export const runNow = (turn: Turn, request: { name: string }): Result<ScheduleRunResource, Refusal> => {
  const schedule = turn.store.schedules.find(request.name);
  if (schedule === null) return err(notFound("schedule", request.name));
  const allowed = permit(turn.memory.killswitch, "create");
  if (!allowed.ok) return allowed;
  const plan = planRunNow(schedule, turn.nowAt, turn.memory.killswitch.level);
  return ok(carryOut(turn, plan));
};

/** Runs one schedule if it is due; answers the schedule as that leaves it. */
export const runIfDue = (turn: Turn, schedule: Schedule): Schedule => {
  const circumstances = {
    openJob: turn.store.jobs.hasOpenOf(schedule.name),
    killswitchLevel: turn.memory.killswitch.level,
  };
  const plan = planRun(schedule, turn.nowAt, circumstances);
  if (plan === null) return schedule;
  carryOut(turn, plan);
  return plan.schedule;
};

const carryOut = (turn: Turn, planned: RunPlan): ScheduleRunResource => {
  const plan = withinBudget(turn, planned);
  const created = plan.outcome === "created" ? createJob(plan.request, turn.newId(), turn.nowAt) : null;
  if (created !== null) admit(turn, created, routePolicy(turn));
  put(turn, plan.schedule);
  const jobId = created?.job.id ?? null;
  const { name } = plan.schedule;
  turn.recordRun({
    schedule: name,
    scheduledFor: plan.scheduledFor,
    ranAt: turn.nowAt,
    outcome: plan.outcome,
    reason: plan.reason,
    jobId,
    missed: plan.missed,
  });
  return {
    scheduled_for: toIso(plan.scheduledFor),
    ran_at: toIso(turn.nowAt),
    outcome: plan.outcome,
    reason: plan.reason,
    job_id: jobId,
    job_status: jobId === null ? null : (turn.store.jobs.find(jobId)?.status ?? null),
    missed: plan.missed,
  };
};

const withinBudget = (turn: Turn, plan: RunPlan): RunPlan => {
  const reached = plan.outcome === "created" ? budgetReached(turn) : null;
  if (reached === null) return plan;
  const reason = `the budget of the ${reached.period} is reached until ${toIsoOrNull(reached.resetsAt)}`;
  return { scheduledFor: plan.scheduledFor, missed: plan.missed, schedule: plan.schedule, outcome: "skipped", reason };
};
