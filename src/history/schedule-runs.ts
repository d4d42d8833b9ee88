// The runs of a schedule in history.

import { type PageRequest, toIso } from "../../contract/field.ts";
import type { ScheduleRunResource } from "../../contract/schedule.ts";
import { readPage } from "./page.ts";
import { readHistory } from "./store.ts";

interface RunRow extends Pick<ScheduleRunResource, "outcome" | "reason" | "job_id" | "job_status" | "missed"> {
  readonly scheduled_for: number;
  readonly ran_at: number;
}

/** Newest first. */
export const listRuns = (
  db: D1Database,
  tenant: string,
  of: { readonly schedule: string; readonly sinceAt: number },
  { limit, offset }: PageRequest,
): Promise<{ history: ScheduleRunResource[]; total: number }> =>
  readHistory(async () => {
    const isOfSchedule = "runs.tenant = ?1 AND runs.schedule = ?2 AND runs.ran_at >= ?3";
    const bindings = [tenant, of.schedule, of.sinceAt];
    const page = db.prepare(
      `SELECT scheduled_for, ran_at, outcome, reason, job_id, jobs.status AS job_status, missed
       FROM schedule_runs AS runs LEFT JOIN jobs ON jobs.tenant = runs.tenant AND jobs.id = runs.job_id
       WHERE ${isOfSchedule} ORDER BY runs.ran_at DESC, runs.id DESC LIMIT ?4 OFFSET ?5`,
    );
    const count = db.prepare(`SELECT COUNT(*) AS total FROM schedule_runs AS runs WHERE ${isOfSchedule}`);
    const { rows, total } = await readPage<RunRow>(db, page.bind(...bindings, limit, offset), count.bind(...bindings));
    return { history: rows.map(toRun), total };
  });

const toRun = (row: RunRow): ScheduleRunResource => ({
  ...row,
  scheduled_for: toIso(row.scheduled_for),
  ran_at: toIso(row.ran_at),
});
