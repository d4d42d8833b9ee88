// Jobs that the sweep must look at, and final jobs that are to leave the object. A final job leaves only when history
// has it: from the journal at once, from the table only after its time has come.

import type { Job } from "../../../domain/job/job.ts";
import type { Journal } from "../journal.ts";
import { all, type Sql, scalar } from "../sql.ts";
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

  /**
   * Final jobs that outbox rows may still name wait for those rows to go, until `untilAt`: without them in a table, waking
   * would find them open.
   */
  holdNamed: (nowAt: number, drainedSeq: number, untilAt: number): void => {
    const keptAt = all(sql, "SELECT MIN(at) AS at FROM outbox WHERE jobs IS NOT NULL")[0]?.at as
      | number
      | null
      | undefined;
    if (keptAt == null) return;
    sql.exec(
      `UPDATE jobs SET due_at = ? WHERE due_at IS NOT NULL AND due_at <= ? AND status IN ${FINAL} AND changed_seq <= ? AND id >= ?`,
      untilAt,
      nowAt,
      drainedSeq,
      firstIdOf(keptAt),
    );
  },

  /** Final jobs whose time to leave has come and that history has up to `drainedSeq`, the longest due first. */
  removable: (nowAt: number, drainedSeq: number, limit: number): string[] =>
    all(
      sql,
      `SELECT id FROM jobs WHERE due_at IS NOT NULL AND due_at <= ? AND status IN ${FINAL} AND changed_seq <= ?
       ORDER BY due_at LIMIT ?`,
      nowAt,
      drainedSeq,
      limit,
    ).map((row) => row.id as string),

  /** Final jobs that should leave but are not in history yet: makes them wait for it. */
  shelve: (nowAt: number, drainedSeq: number): void => {
    sql.exec(
      `UPDATE jobs SET due_at = NULL WHERE due_at IS NOT NULL AND due_at <= ? AND status IN ${FINAL} AND changed_seq > ?`,
      nowAt,
      drainedSeq,
    );
  },

  /** History has them now: they may leave at `dueAt`. Returns whether any waited for it. */
  unshelve: (drainedSeq: number, dueAt: number): boolean =>
    all(
      sql,
      `UPDATE jobs SET due_at = ? WHERE due_at IS NULL AND status IN ${FINAL} AND changed_seq <= ? RETURNING 1`,
      dueAt,
      drainedSeq,
    ).length > 0,

  nextDueAt: (): number | null => {
    let dueAt = scalar(sql, "SELECT MIN(due_at) FROM jobs WHERE due_at IS NOT NULL") ?? Number.POSITIVE_INFINITY;
    for (const kept of journal.open()) dueAt = Math.min(dueAt, kept.dueAt ?? Number.POSITIVE_INFINITY);
    return Number.isFinite(dueAt) ? dueAt : null;
  },
});

/** Ids begin with their time in hexadecimal: 48 bits of epoch ms. */
const firstIdOf = (at: number): string => {
  const hex = at.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
};
