// Jobs that the sweep must look at, and final jobs that are to leave the object. A final job leaves only when history
// has it: from the journal at once, from the table when its time has come and no outbox row is left that may name it.
// With such a row and without its row in the table, waking would take it for open.

import type { Job } from "../../../domain/job/job.ts";
import { isFinal } from "../../../domain/words/job-status.ts";
import type { Journal } from "../journal.ts";
import { all, cells, type Sql, scalar } from "../sql.ts";
import { LONGEST_DUE_FIRST, openJobs } from "./open-jobs.ts";

const FINAL = "('completed', 'failed', 'cancelled')";

export const dueJobs = (sql: Sql, journal: Journal) => ({
  /** Open jobs that the sweep must look at, the longest due first. */
  due: (nowAt: number, limit: number): Job[] => {
    const due = {
      where: `due_at IS NOT NULL AND due_at <= ? AND status NOT IN ${FINAL}`,
      bindings: [nowAt],
      young: journal.open().filter(({ dueAt }) => dueAt !== null && dueAt <= nowAt),
    };
    return openJobs(sql).inOrder(due, LONGEST_DUE_FIRST, limit);
  },

  /** Final jobs whose time to leave has come and whose outbox rows are gone up to `goneSeq`, the longest due first. */
  removable: (nowAt: number, goneSeq: number, limit: number): string[] =>
    cells(
      sql,
      `SELECT id FROM jobs WHERE due_at IS NOT NULL AND due_at <= ? AND status IN ${FINAL} AND changed_seq <= ?
       ORDER BY due_at LIMIT ?`,
      nowAt,
      goneSeq,
      limit,
    ),

  /** Final jobs that should leave but have outbox rows: makes them wait for these to go. */
  shelve: (nowAt: number, goneSeq: number): void => {
    sql.exec(
      `UPDATE jobs SET due_at = NULL WHERE due_at IS NOT NULL AND due_at <= ? AND status IN ${FINAL} AND changed_seq > ?`,
      nowAt,
      goneSeq,
    );
  },

  /** Shelved jobs whose outbox rows are gone may leave at `dueAt`. Returns whether there were any. */
  unshelve: (goneSeq: number, dueAt: number): boolean =>
    all(
      sql,
      `UPDATE jobs SET due_at = ? WHERE due_at IS NULL AND status IN ${FINAL} AND changed_seq <= ? RETURNING 1`,
      dueAt,
      goneSeq,
    ).length > 0,

  nextDueAt: (): number | null => {
    let dueAt = scalar(sql, "SELECT MIN(due_at) FROM jobs WHERE due_at IS NOT NULL") ?? Number.POSITIVE_INFINITY;
    // Asked after each drain: thousands of open jobs are passed over one by one, without lists of them.
    for (const { job, dueAt: at } of journal.createdUpTo(Number.POSITIVE_INFINITY))
      if (at !== null && at < dueAt && !isFinal(job.status)) dueAt = at;
    return Number.isFinite(dueAt) ? dueAt : null;
  },
});
