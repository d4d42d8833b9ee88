// What history forgets, in bounded steps: the minute's cron goes on where the last one stopped.

const DAY_MS = 86_400_000;
const JOBS_A_STEP = 500;
/** Of all tenants together in one minute: with the five statements each takes, well below what one run may ask of D1. */
const STEPS_A_MINUTE = 20;

/** What belongs to a job, and last the job itself: a step that was cut short is begun again. */
const OF_A_JOB = ["payloads", "results", "events", "attempts"] as const;

/** Deletes finished jobs that are older than their tenant keeps them. */
export const pruneJobs = async (db: D1Database, nowAt: number): Promise<void> => {
  const { results: keeping } = await db
    .prepare("SELECT tenant, keep_days FROM tenants WHERE keep_days IS NOT NULL")
    .all<{ tenant: string; keep_days: number }>();
  let left = STEPS_A_MINUTE;
  for (const { tenant, keep_days: keepDays } of keeping) {
    while (left > 0 && (await pruneStep(db, tenant, nowAt - keepDays * DAY_MS))) left -= 1;
    if (left === 0) return;
  }
};

/** False where there was nothing to delete. */
const pruneStep = async (db: D1Database, tenant: string, before: number): Promise<boolean> => {
  const { results } = await db
    .prepare("SELECT id FROM jobs WHERE tenant = ?1 AND finished_at < ?2 ORDER BY finished_at LIMIT ?3")
    .bind(tenant, before, JOBS_A_STEP)
    .all<{ id: string }>();
  if (results.length === 0) return false;
  const ids = JSON.stringify(results.map(({ id }) => id));
  const listed = "IN (SELECT value FROM json_each(?2))";
  await db.batch([
    ...OF_A_JOB.map((table) =>
      db.prepare(`DELETE FROM ${table} WHERE tenant = ?1 AND job_id ${listed}`).bind(tenant, ids),
    ),
    db.prepare(`DELETE FROM jobs WHERE tenant = ?1 AND id ${listed}`).bind(tenant, ids),
  ]);
  return true;
};

/** Deletes runs of schedules, of all tenants, the oldest first. */
export const pruneScheduleRuns = async (db: D1Database, before: number, limit: number): Promise<void> => {
  await db
    .prepare(
      "DELETE FROM schedule_runs WHERE rowid IN (SELECT rowid FROM schedule_runs WHERE ran_at < ?1 ORDER BY ran_at LIMIT ?2)",
    )
    .bind(before, limit)
    .run();
};
