// Deletes old history in bounded steps: each minute's cron continues where the last one stopped.

import type { Allowance, Cost } from "../../domain/words/allowance.ts";
import { DAY_MS } from "../../domain/words/duration.ts";
import type { JobStatus } from "../../domain/words/job-status.ts";
import type { ArchiveStore } from "./archive/store.ts";
import { ArchiveError, archiveStep, OF_A_JOB, type Pruned, prunedBy } from "./archive/write.ts";
import { inTurns, STEPS_A_MINUTE } from "./in-turns.ts";
import { isHere } from "./is-here.ts";
import { NO_TEXTS } from "./job-texts.ts";
import { TenantHistory } from "./tenant-history.ts";

const JOBS_A_STEP = 500;

/** Finding the jobs, and the statements of a step. */
const TEXTS_COST: Cost = { queries: 5, requests: 5 };
/** Finding the jobs, deleting them with their data, and finding and telling their tenant. */
const STEP_COST: Cost = { queries: OF_A_JOB.length + 3, requests: OF_A_JOB.length + 4 };

/** The same where jobs go to the archive: what is read of them, their part's row, and its bytes written and read. */
const ARCHIVE_COST: Cost = { queries: OF_A_JOB.length + 9, requests: OF_A_JOB.length + 13 };

interface Gone {
  readonly pruned: Pruned;
  /** What the archive got. */
  readonly archivedBytes: number;
}

interface Pruning {
  /** Null: jobs are deleted. */
  readonly archive: ArchiveStore | null;
  /** Whether this process deletes the tenant's jobs. */
  readonly isOurs: (tenant: string) => boolean;
  /** Tells the tenant's object, which counts the jobs in history. */
  readonly onPruned: (tenant: string, gone: Gone) => Promise<void>;
  /** Its old jobs stay in history, because the archive does not take them. */
  readonly onTrouble: (tenant: string, error: ArchiveError) => Promise<void>;
  readonly allowance: Allowance;
}

/**
 * Removes finished jobs that are older than their tenant's limit, one step per tenant in turn. Where there is an
 * archive, they leave when their day is over, so that its parts are large.
 */
export const pruneJobs = async (
  db: D1Database,
  nowAt: number,
  { archive, isOurs, onPruned, onTrouble, allowance }: Pruning,
): Promise<void> => {
  const fromAt = archive === null ? nowAt : nowAt - (nowAt % DAY_MS);
  const due = (await tenantsWithOldJobs(db, fromAt)).filter((one) => isOurs(one.tenant));
  await inTurns(due, archive === null ? STEP_COST : ARCHIVE_COST, allowance, async (one) => {
    const { tenant, days } = one;
    const history = new TenantHistory(db, tenant);
    const before = fromAt - days * DAY_MS;
    try {
      const step = archive === null ? pruneStep(history, before) : archiveStep(history, archive, before);
      const { pruned, bytes, isMore } = await step;
      await onPruned(tenant, { pruned, archivedBytes: bytes });
      return isMore ? one : null;
    } catch (error) {
      if (!(error instanceof ArchiveError)) throw error;
      await onTrouble(tenant, error);
      return null;
    }
  });
};

/** Deletes the texts of finished jobs that are older than their tenant's limit for texts. */
export const pruneTexts = async (
  db: D1Database,
  nowAt: number,
  { isOurs, allowance }: Pick<Pruning, "isOurs" | "allowance">,
): Promise<void> => {
  const due = (await tenantsWithOldTexts(db, nowAt)).filter((one) => isOurs(one.tenant));
  await inTurns(due, TEXTS_COST, allowance, async (one) =>
    (await pruneTextsStep(new TenantHistory(db, one.tenant), nowAt - one.days * DAY_MS)) ? one : null,
  );
};

interface Due {
  readonly tenant: string;
  readonly days: number;
}

const tenantsWithOldJobs = async (db: D1Database, nowAt: number): Promise<Due[]> => {
  const { results } = await db
    .prepare(
      `SELECT tenant, keep_days AS days FROM tenants WHERE keep_days IS NOT NULL AND away IS NULL AND EXISTS
         (SELECT 1 FROM jobs WHERE jobs.tenant = tenants.tenant AND finished_at < ?1 - keep_days * ${DAY_MS})
       LIMIT ${STEPS_A_MINUTE}`,
    )
    .bind(nowAt)
    .all<{ tenant: string; days: number }>();
  return results;
};

const tenantsWithOldTexts = async (db: D1Database, nowAt: number): Promise<Due[]> => {
  const { results } = await db
    .prepare(
      `SELECT tenant, keep_texts_days AS days FROM tenants
       WHERE keep_texts_days IS NOT NULL AND away IS NULL AND EXISTS
         (SELECT 1 FROM jobs WHERE jobs.tenant = tenants.tenant
            AND finished_at > COALESCE(texts_gone_until, 0) AND finished_at < ?1 - keep_texts_days * ${DAY_MS})
       LIMIT ${STEPS_A_MINUTE}`,
    )
    .bind(nowAt)
    .all<{ tenant: string; days: number }>();
  return results;
};

/** The oldest jobs that may still have texts, all that finished in the last one's millisecond included. */
const pruneTextsStep = async (history: TenantHistory, before: number): Promise<boolean> => {
  const { results } = await history
    .statement(
      `SELECT finished_at AS at, (SELECT COALESCE(texts_gone_until, 0) FROM tenants WHERE tenant = ?1) AS gone_until
       FROM jobs WHERE tenant = ?1 AND finished_at < ?2
         AND finished_at > (SELECT COALESCE(texts_gone_until, 0) FROM tenants WHERE tenant = ?1)
       ORDER BY finished_at LIMIT ?3`,
      before,
      JOBS_A_STEP,
    )
    .all<{ at: number; gone_until: number }>();
  const last = results.at(-1);
  if (last === undefined) return false;
  const finished = "FROM jobs WHERE tenant = ?1 AND finished_at > ?2 AND finished_at <= ?3";
  const statements = [
    `DELETE FROM payloads WHERE tenant = ?1 AND job_id IN (SELECT id ${finished}) AND ${isHere("?1")}`,
    `DELETE FROM results WHERE tenant = ?1 AND job_id IN (SELECT id ${finished}) AND ${isHere("?1")}`,
    `UPDATE jobs SET prompt = '', input = '${NO_TEXTS}', result = NULL
       WHERE tenant = ?1 AND finished_at > ?2 AND finished_at <= ?3 AND ${isHere("?1")}`,
    `UPDATE tenants SET texts_gone_until = ?3 WHERE tenant = ?1 AND COALESCE(texts_gone_until, 0) <= ?2 AND away IS NULL`,
  ];
  await history.db.batch(statements.map((sql) => history.statement(sql, last.gone_until, last.at)));
  return results.length === JOBS_A_STEP;
};

const pruneStep = async (
  history: TenantHistory,
  before: number,
): Promise<{ pruned: Pruned; bytes: number; isMore: boolean }> => {
  const { results } = await history
    .statement(
      "SELECT id FROM jobs WHERE tenant = ?1 AND finished_at < ?2 ORDER BY finished_at LIMIT ?3",
      before,
      JOBS_A_STEP,
    )
    .all<{ id: string }>();
  const ids = JSON.stringify(results.map(({ id }) => id));
  // Within the same transaction: a tenant whose rows are being copied loses none, whenever it left.
  const listed = `IN (SELECT value FROM json_each(?2)) AND ${isHere("?1")}`;
  const deleted = await history.db.batch<{ status: JobStatus }>([
    ...OF_A_JOB.map((table) => history.statement(`DELETE FROM ${table} WHERE tenant = ?1 AND job_id ${listed}`, ids)),
    history.statement(`DELETE FROM jobs WHERE tenant = ?1 AND id ${listed} RETURNING status`, ids),
  ]);
  return { pruned: prunedBy(deleted), bytes: 0, isMore: results.length === JOBS_A_STEP };
};

/** Deletes the oldest runs of schedules, of all tenants. */
export const pruneScheduleRuns = async (db: D1Database, before: number, limit: number): Promise<void> => {
  await db
    .prepare(
      `DELETE FROM schedule_runs WHERE rowid IN
         (SELECT rowid FROM schedule_runs WHERE ran_at < ?1 AND ${isHere("schedule_runs.tenant")} ORDER BY ran_at LIMIT ?2)`,
    )
    .bind(before, limit)
    .run();
};
