// The runs of a schedule in history.

import type { ScheduleRunResource } from "../../contract/schedule.ts";
import { type PageRequest, toIso } from "../../contract/words/field.ts";
import { readPage } from "./page.ts";
import { readHistory } from "./store.ts";
import type { TenantHistory } from "./tenant-history.ts";

interface RunRow extends Pick<ScheduleRunResource, "outcome" | "reason" | "job_id" | "job_status" | "missed"> {
  readonly scheduled_for: number;
  readonly ran_at: number;
}

const COLUMNS = "scheduled_for, ran_at, outcome, reason, job_id, jobs.status AS job_status, missed";
const THEIR_JOBS = "LEFT JOIN jobs ON jobs.tenant = runs.tenant AND jobs.id = runs.job_id";
const NEWEST_FIRST = "ran_at DESC, id DESC";

/** Runs since the schedule was created: a deleted one may have had its name. */
interface RunsOf {
  readonly schedule: string;
  readonly sinceAt: number;
}

/** The newest of each schedule, newest first; reads no more rows than it answers. */
export const listLastRuns = (
  history: TenantHistory,
  of: readonly RunsOf[],
  many: number,
): Promise<Map<string, ScheduleRunResource[]>> =>
  readHistory(async () => {
    const { results } = await history
      .statement(
        `SELECT runs.schedule, ${COLUMNS}
         FROM json_each(?2) AS named
           JOIN schedule_runs AS runs ON runs.rowid IN (
             SELECT rowid FROM schedule_runs
             WHERE tenant = ?1 AND schedule = named.value ->> 'schedule' AND ran_at >= named.value ->> 'sinceAt'
             ORDER BY ${NEWEST_FIRST} LIMIT ?3)
           ${THEIR_JOBS}
         ORDER BY runs.ran_at DESC, runs.id DESC`,
        JSON.stringify(of),
        many,
      )
      .all<RunRow & { readonly schedule: string }>();
    const found = new Map<string, ScheduleRunResource[]>();
    for (const { schedule, ...row } of results) found.set(schedule, [...(found.get(schedule) ?? []), toRun(row)]);
    return found;
  });

/** Newest first. */
export const listRuns = (
  history: TenantHistory,
  of: RunsOf,
  { limit, offset }: PageRequest,
): Promise<{ history: ScheduleRunResource[]; total: number }> =>
  readHistory(async () => {
    const isOfSchedule = "runs.tenant = ?1 AND runs.schedule = ?2 AND runs.ran_at >= ?3";
    const page = history.statement(
      `SELECT ${COLUMNS} FROM schedule_runs AS runs ${THEIR_JOBS}
       WHERE ${isOfSchedule} ORDER BY runs.ran_at DESC, runs.id DESC LIMIT ?4 OFFSET ?5`,
      of.schedule,
      of.sinceAt,
      limit,
      offset,
    );
    const counted = `SELECT COUNT(*) AS total FROM schedule_runs AS runs WHERE ${isOfSchedule}`;
    const count = history.statement(counted, of.schedule, of.sinceAt);
    const { rows, total } = await readPage<RunRow>(history, page, count);
    return { history: rows.map(toRun), total };
  });

const toRun = (row: RunRow): ScheduleRunResource => ({
  ...row,
  scheduled_for: toIso(row.scheduled_for),
  ran_at: toIso(row.ran_at),
});
