// Jobs that the sweep must look at, and final jobs on their way out of the object. A final job leaves only when history
// has it.

import type { Job } from "../../domain/job.ts";
import { all, records, type Sql, scalar } from "./sql.ts";

const FINAL = "('completed', 'failed', 'cancelled')";

export const dueJobs = (sql: Sql) => ({
  /** Open jobs that the sweep must look at, the longest due first. */
  due: (nowAt: number, limit: number): Job[] =>
    records<Job>(
      all(
        sql,
        `SELECT record FROM jobs WHERE due_at IS NOT NULL AND due_at <= ? AND status NOT IN ${FINAL}
         ORDER BY due_at LIMIT ?`,
        nowAt,
        limit,
      ),
    ),

  /** Final jobs whose time to leave has come and that history has up to `drainedSeq`, the longest due first. */
  leaving: (nowAt: number, drainedSeq: number, limit: number): string[] =>
    all(
      sql,
      `SELECT id FROM jobs WHERE due_at IS NOT NULL AND due_at <= ? AND status IN ${FINAL} AND changed_seq <= ?
       ORDER BY due_at LIMIT ?`,
      nowAt,
      drainedSeq,
      limit,
    ).map((row) => row.id as string),

  /** Lets final jobs that should leave, but that history has not got, wait for it. */
  shelve: (nowAt: number, drainedSeq: number): void => {
    sql.exec(
      `UPDATE jobs SET due_at = NULL WHERE due_at IS NOT NULL AND due_at <= ? AND status IN ${FINAL} AND changed_seq > ?`,
      nowAt,
      drainedSeq,
    );
  },

  /** History has them now: they may leave at `dueAt`. Answers whether any waited for it. */
  unshelve: (drainedSeq: number, dueAt: number): boolean =>
    all(
      sql,
      `UPDATE jobs SET due_at = ? WHERE due_at IS NULL AND status IN ${FINAL} AND changed_seq <= ? RETURNING 1`,
      dueAt,
      drainedSeq,
    ).length > 0,

  nextDueAt: (): number | null => scalar(sql, "SELECT MIN(due_at) FROM jobs WHERE due_at IS NOT NULL"),

  postpone: (id: string, dueAt: number | null): void => {
    sql.exec("UPDATE jobs SET due_at = ? WHERE id = ?", dueAt, id);
  },
});
