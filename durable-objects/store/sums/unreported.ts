// Leases that ended without a report of their holder: cancelled, halted, timed out, reaped. The cost of such an attempt
// may still be reported, once. A stream's cost is estimated if it is not. A report that comes later takes the
// estimate's place.

import { all, first, put, type Sql, scalar } from "../sql.ts";

export interface UnreportedLease {
  readonly jobId: string;
  readonly lease: number;
  readonly worker: string;
  readonly provider: string;
  readonly endedAt: number;
  /** Of its estimate; null for what is never estimated. */
  readonly inputTokens: number | null;
  /** Characters of content that its relay passed on. */
  readonly saidChars: number;
  readonly model: string | null;
  readonly keyId: string | null;
  /** The person of the key. */
  readonly fairnessKey: string | null;
}

/** What it counts with until it is reported. */
interface EstimatedLease extends UnreportedLease {
  readonly isEstimated: boolean;
  readonly estimatedNanoUsd: number | null;
}

type Cells = Omit<EstimatedLease, "isEstimated"> & { readonly isEstimated: number };

const SELECT = `SELECT job_id AS jobId, lease, worker, provider, ended_at AS endedAt,
  COALESCE(input_tokens, estimated_input_tokens) AS inputTokens, said_chars AS saidChars, model, key_id AS keyId,
  fairness_key AS fairnessKey, is_estimated AS isEstimated, estimated_nano_usd AS estimatedNanoUsd FROM unreported`;

const read = (row: Cells): EstimatedLease => ({ ...row, isEstimated: row.isEstimated === 1 });

export const unreportedTable = (sql: Sql) => ({
  put: (one: UnreportedLease): void => {
    put(sql, "unreported", {
      job_id: one.jobId,
      lease: one.lease,
      worker: one.worker,
      provider: one.provider,
      ended_at: one.endedAt,
      input_tokens: one.inputTokens,
      said_chars: one.saidChars,
      model: one.model,
      key_id: one.keyId,
      fairness_key: one.fairnessKey,
    });
  },

  find: (jobId: string, lease: number): EstimatedLease | null => {
    const row = first<Cells>(sql, `${SELECT} WHERE job_id = ? AND lease = ?`, jobId, lease);
    return row === null ? null : read(row);
  },

  noteSaid: (jobId: string, lease: number, chars: number): void => {
    sql.exec(
      "UPDATE unreported SET said_chars = ? WHERE job_id = ? AND lease = ? AND NOT is_estimated",
      chars,
      jobId,
      lease,
    );
  },

  /** Those that ended no later than this and are estimated, the oldest first. */
  toEstimate: (at: number, limit: number): EstimatedLease[] =>
    all<Cells>(
      sql,
      `${SELECT} WHERE input_tokens IS NOT NULL AND ended_at <= ? ORDER BY ended_at, job_id, lease LIMIT ?`,
      at,
      limit,
    ).map(read),

  oldestToEstimate: (): number | null =>
    scalar(sql, "SELECT MIN(ended_at) FROM unreported WHERE input_tokens IS NOT NULL"),

  noteEstimated: (jobId: string, lease: number, nanoUsd: number | null): void => {
    sql.exec(
      `UPDATE unreported
       SET input_tokens = NULL, estimated_input_tokens = input_tokens, is_estimated = 1, estimated_nano_usd = ?
       WHERE job_id = ? AND lease = ?`,
      nanoUsd,
      jobId,
      lease,
    );
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
