// Deletes old history in bounded steps: each minute's cron continues where the last one stopped.

import type { JobStatus } from "../../domain/job-status.ts";

const DAY_MS = 86_400_000;
const JOBS_A_STEP = 500;
/** Steps per minute for all tenants; each takes five statements, well below what one run may ask of D1. */
const STEPS_A_MINUTE = 20;

/** The tables of a job, the job itself last, so that an interrupted step is repeated. */
const OF_A_JOB = ["payloads", "results", "events", "attempts"] as const;

export type Pruned = Partial<Record<JobStatus, number>>;

interface Pruning {
  /** Whether this process deletes the tenant's jobs. */
  readonly isOurs: (tenant: string) => boolean;
  /** Tells the tenant's object, which counts the jobs in history. */
  readonly onPruned: (tenant: string, pruned: Pruned) => Promise<void>;
}

/** Deletes finished jobs that are older than their tenant's limit. */
export const pruneJobs = async (db: D1Database, nowAt: number, { isOurs, onPruned }: Pruning): Promise<void> => {
  const { results: keeping } = await db
    .prepare("SELECT tenant, keep_days FROM tenants WHERE keep_days IS NOT NULL")
    .all<{ tenant: string; keep_days: number }>();
  let left = STEPS_A_MINUTE;
  for (const { tenant, keep_days: keepDays } of keeping.filter((one) => isOurs(one.tenant))) {
    for (; left > 0; left -= 1) {
      const pruned = await pruneStep(db, tenant, nowAt - keepDays * DAY_MS);
      if (pruned === null) break;
      await onPruned(tenant, pruned);
    }
    if (left === 0) return;
  }
};

/** How many jobs were deleted by status; null if there was nothing to delete. */
const pruneStep = async (db: D1Database, tenant: string, before: number): Promise<Pruned | null> => {
  const { results } = await db
    .prepare("SELECT id FROM jobs WHERE tenant = ?1 AND finished_at < ?2 ORDER BY finished_at LIMIT ?3")
    .bind(tenant, before, JOBS_A_STEP)
    .all<{ id: string }>();
  if (results.length === 0) return null;
  const ids = JSON.stringify(results.map(({ id }) => id));
  const listed = "IN (SELECT value FROM json_each(?2))";
  const deleted = await db.batch<{ status: JobStatus }>([
    ...OF_A_JOB.map((table) =>
      db.prepare(`DELETE FROM ${table} WHERE tenant = ?1 AND job_id ${listed}`).bind(tenant, ids),
    ),
    db.prepare(`DELETE FROM jobs WHERE tenant = ?1 AND id ${listed} RETURNING status`).bind(tenant, ids),
  ]);
  const pruned: Pruned = {};
  for (const { status } of deleted.at(-1)?.results ?? []) pruned[status] = (pruned[status] ?? 0) + 1;
  return pruned;
};

/** Deletes the oldest runs of schedules, of all tenants. */
export const pruneScheduleRuns = async (db: D1Database, before: number, limit: number): Promise<void> => {
  await db
    .prepare(
      "DELETE FROM schedule_runs WHERE rowid IN (SELECT rowid FROM schedule_runs WHERE ran_at < ?1 ORDER BY ran_at LIMIT ?2)",
    )
    .bind(before, limit)
    .run();
};
