// Leases that ended without a report of their holder: cancelled, halted, timed out, reaped. The cost of such an attempt
// may still be reported, once.

import { first, type Sql, scalar } from "./sql.ts";

export interface UnreportedLease {
  readonly jobId: string;
  readonly lease: number;
  readonly worker: string;
  readonly provider: string;
  readonly endedAt: number;
}

export const unreportedTable = (sql: Sql) => ({
  put: ({ jobId, lease, worker, provider, endedAt }: UnreportedLease): void => {
    sql.exec(
      "INSERT OR REPLACE INTO unreported (job_id, lease, worker, provider, ended_at) VALUES (?, ?, ?, ?, ?)",
      jobId,
      lease,
      worker,
      provider,
      endedAt,
    );
  },

  find: (jobId: string, lease: number): UnreportedLease | null => {
    const row = first(
      sql,
      "SELECT worker, provider, ended_at FROM unreported WHERE job_id = ? AND lease = ?",
      jobId,
      lease,
    );
    if (row === null) return null;
    const { worker, provider, ended_at: endedAt } = row;
    return { jobId, lease, worker: worker as string, provider: provider as string, endedAt: endedAt as number };
  },

  remove: (jobId: string, lease: number): void => {
    sql.exec("DELETE FROM unreported WHERE job_id = ? AND lease = ?", jobId, lease);
  },

  removeBefore: (at: number, limit: number): void => {
    sql.exec(
      `DELETE FROM unreported WHERE (job_id, lease) IN
         (SELECT job_id, lease FROM unreported WHERE ended_at <= ? ORDER BY ended_at LIMIT ?)`,
      at,
      limit,
    );
  },

  oldestEndedAt: (): number | null => scalar(sql, "SELECT MIN(ended_at) FROM unreported"),
});
