// Deletes old history in bounded steps: each minute's cron continues where the last one stopped.

import type { Allowance, Cost } from "../../domain/words/allowance.ts";
import { DAY_MS } from "../../domain/words/duration.ts";
import type { JobStatus } from "../../domain/words/job-status.ts";
import { IS_HERE } from "./is-here.ts";

const JOBS_A_STEP = 500;
/** For all tenants together, per minute. */
const STEPS_A_MINUTE = 20;

/** The tables of a job, the job itself last, so that an interrupted step is repeated. */
const OF_A_JOB = ["payloads", "results", "events", "attempts"] as const;

/** Finding the jobs, deleting them with their data, and finding and telling their tenant. */
const STEP_COST: Cost = { queries: OF_A_JOB.length + 3, requests: OF_A_JOB.length + 4 };

export type Pruned = Partial<Record<JobStatus, number>>;

interface Pruning {
  /** Whether this process deletes the tenant's jobs. */
  readonly isOurs: (tenant: string) => boolean;
  /** Tells the tenant's object, which counts the jobs in history. */
  readonly onPruned: (tenant: string, pruned: Pruned) => Promise<void>;
  readonly allowance: Allowance;
}

/** Deletes finished jobs that are older than their tenant's limit, one step per tenant in turn. */
export const pruneJobs = async (
  db: D1Database,
  nowAt: number,
  { isOurs, onPruned, allowance }: Pruning,
): Promise<void> => {
  let due = (await tenantsWithOldJobs(db, nowAt)).filter((one) => isOurs(one.tenant));
  for (let left = STEPS_A_MINUTE; left > 0 && due.length > 0; ) {
    const goOn: typeof due = [];
    for (const one of due.slice(0, left)) {
      if (!allowance.hold(STEP_COST)) return;
      left -= 1;
      const { pruned, isMore } = await pruneStep(db, one.tenant, nowAt - one.keep_days * DAY_MS);
      await onPruned(one.tenant, pruned);
      if (isMore) goOn.push(one);
      allowance.release(STEP_COST);
    }
    due = goOn;
  }
};

const tenantsWithOldJobs = async (db: D1Database, nowAt: number): Promise<{ tenant: string; keep_days: number }[]> => {
  const { results } = await db
    .prepare(
      `SELECT tenant, keep_days FROM tenants WHERE keep_days IS NOT NULL AND away IS NULL AND EXISTS
         (SELECT 1 FROM jobs WHERE jobs.tenant = tenants.tenant AND finished_at < ?1 - keep_days * ${DAY_MS})
       LIMIT ${STEPS_A_MINUTE}`,
    )
    .bind(nowAt)
    .all<{ tenant: string; keep_days: number }>();
  return results;
};

const pruneStep = async (
  db: D1Database,
  tenant: string,
  before: number,
): Promise<{ pruned: Pruned; isMore: boolean }> => {
  const { results } = await db
    .prepare("SELECT id FROM jobs WHERE tenant = ?1 AND finished_at < ?2 ORDER BY finished_at LIMIT ?3")
    .bind(tenant, before, JOBS_A_STEP)
    .all<{ id: string }>();
  const ids = JSON.stringify(results.map(({ id }) => id));
  // Within the same transaction: a tenant whose rows are being copied loses none, whenever it left.
  const listed = `IN (SELECT value FROM json_each(?2)) AND ${IS_HERE}`;
  const deleted = await db.batch<{ status: JobStatus }>([
    ...OF_A_JOB.map((table) =>
      db.prepare(`DELETE FROM ${table} WHERE tenant = ?1 AND job_id ${listed}`).bind(tenant, ids),
    ),
    db.prepare(`DELETE FROM jobs WHERE tenant = ?1 AND id ${listed} RETURNING status`).bind(tenant, ids),
  ]);
  const pruned: Pruned = {};
  for (const { status } of deleted.at(-1)?.results ?? []) pruned[status] = (pruned[status] ?? 0) + 1;
  return { pruned, isMore: results.length === JOBS_A_STEP };
};

/** Deletes the oldest runs of schedules, of all tenants. */
export const pruneScheduleRuns = async (db: D1Database, before: number, limit: number): Promise<void> => {
  await db
    .prepare(
      `DELETE FROM schedule_runs WHERE rowid IN
         (SELECT rowid FROM schedule_runs WHERE ran_at < ?1 AND ${IS_HERE} ORDER BY ran_at LIMIT ?2)`,
    )
    .bind(before, limit)
    .run();
};
