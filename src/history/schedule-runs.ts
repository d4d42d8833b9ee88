// The runs of a schedule in history.

import { and, count, desc, eq, gte } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { PageRequest } from "../../contract/field.ts";
import { toIso } from "../../contract/field.ts";
import type { ScheduleRunResource } from "../../contract/schedule.ts";
import type { Job } from "../../domain/job.ts";
import { jobs, scheduleRuns } from "../../migrations/schema.ts";
import { readHistory } from "./store.ts";

export const listRuns = (
  db: D1Database,
  tenant: string,
  of: { readonly schedule: string; readonly sinceAt: number },
  page: PageRequest,
): Promise<{ history: ScheduleRunResource[]; total: number }> =>
  readHistory(async () => {
    const history = drizzle(db);
    const isOfSchedule = and(
      eq(scheduleRuns.tenant, tenant),
      eq(scheduleRuns.schedule, of.schedule),
      gte(scheduleRuns.ranAt, of.sinceAt),
    );
    const [rows, [counted]] = await history.batch([
      history
        .select({ run: scheduleRuns, status: jobs.status })
        .from(scheduleRuns)
        .leftJoin(jobs, and(eq(jobs.tenant, scheduleRuns.tenant), eq(jobs.id, scheduleRuns.jobId)))
        .where(isOfSchedule)
        .orderBy(desc(scheduleRuns.ranAt), desc(scheduleRuns.id))
        .limit(page.limit)
        .offset(page.offset),
      history.select({ total: count() }).from(scheduleRuns).where(isOfSchedule),
    ]);
    const runs = rows.map(({ run, status }) => ({
      scheduled_for: toIso(run.scheduledFor),
      ran_at: toIso(run.ranAt),
      outcome: run.outcome as ScheduleRunResource["outcome"],
      reason: run.reason,
      job_id: run.jobId,
      job_status: status as Job["status"] | null,
      missed: run.missed,
    }));
    return { history: runs, total: counted?.total ?? 0 };
  });
