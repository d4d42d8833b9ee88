// Prompts, inputs and results: for a job in the journal beside its record, unless they are long; for any other in rows
// of their own, so that a job's record stays small.

import type { JobPayload } from "../../../domain/job/job.ts";
import type { Json } from "../../../domain/words/json.ts";
import { JOURNAL_ROOM, type Journal } from "../journal.ts";
import type { Journaled } from "../journaled.ts";
import { all, first, type Row, record, type Sql } from "../sql.ts";

const MAX_BYTES_A_CHAR = 3;
const START = `SELECT substr(prompt, 1, ?) AS prompt, CASE WHEN octet_length(input) <= ? THEN input END AS input
               FROM payloads WHERE job_id = ?`;

export const payloadsTable = (sql: Sql, journal: Journal) => {
  const putRow = (jobId: string, prompt: string, input: string): void => {
    sql.exec("INSERT OR REPLACE INTO payloads (job_id, prompt, input) VALUES (?, ?, ?)", jobId, prompt, input);
  };
  return {
    /** Returns how many characters it stored. */
    put: (jobId: string, payload: JobPayload): number => {
      const input = JSON.stringify(payload.input);
      const chars = payload.prompt.length + input.length;
      const kept = journal.get(jobId);
      if (kept !== undefined && chars <= JOURNAL_ROOM.textChars) journal.keepPayload(kept, payload, chars);
      else putRow(jobId, payload.prompt, input);
      if (kept !== undefined) kept.hasRows ||= chars > JOURNAL_ROOM.textChars;
      return chars;
    },

    find: (jobId: string): JobPayload => {
      const kept = journal.find(jobId)?.payload;
      if (kept != null) return kept;
      const row = first(sql, "SELECT prompt, input FROM payloads WHERE job_id = ?", jobId);
      if (row === null) throw new Error(`job ${jobId} has no payload`);
      return toPayload(row);
    },

    /** Reads no long text: of a longer prompt `chars + 1` characters; null for an input whose JSON is longer. */
    findStart: (jobId: string, chars: number): { prompt: string; input: string | null } => {
      const kept = journal.find(jobId)?.payload;
      const row = kept == null ? first(sql, START, chars + 1, chars * MAX_BYTES_A_CHAR, jobId) : null;
      const input = row === null ? JSON.stringify(kept?.input ?? null) : (row.input as string | null);
      const prompt = row === null ? (kept?.prompt ?? "") : (row.prompt as string);
      return { prompt, input: (input ?? "").length > chars ? null : input };
    },

    findMany: (ids: readonly string[]): Map<string, JobPayload> => {
      const found = new Map<string, JobPayload>();
      for (const id of ids) {
        const kept = journal.find(id)?.payload;
        if (kept != null) found.set(id, kept);
      }
      const query = "SELECT job_id, prompt, input FROM payloads WHERE job_id IN (SELECT value FROM json_each(?))";
      for (const row of rowsOf(sql, query, ids, found)) found.set(row.job_id as string, toPayload(row));
      return found;
    },

    ...results(sql, journal),

    /** The texts of a job that moves from the journal to the tables. */
    moveOut: ({ job, payload, result }: Journaled): void => {
      if (payload !== null) putRow(job.id, payload.prompt, JSON.stringify(payload.input));
      if (result !== null) putResultRow(sql, job.id, JSON.stringify(result));
    },
  };
};

const putResultRow = (sql: Sql, jobId: string, result: string): void => {
  sql.exec("INSERT OR REPLACE INTO results (job_id, result) VALUES (?, ?)", jobId, result);
};

const results = (sql: Sql, journal: Journal) => ({
  /** Returns how many characters it stored. */
  putResult: (jobId: string, result: Json): number => {
    const kept = journal.get(jobId);
    const text = result === null ? "" : JSON.stringify(result);
    const isKept = kept !== undefined && text.length <= JOURNAL_ROOM.textChars;
    if (kept !== undefined) {
      journal.keepResult(kept, isKept ? result : null, isKept ? text.length : 0);
      if (!isKept) kept.hasRows = true;
    }
    if (!isKept && result !== null) putResultRow(sql, jobId, text);
    else if (kept === undefined || kept.hasRows) sql.exec("DELETE FROM results WHERE job_id = ?", jobId);
    return text.length;
  },

  findResult: (jobId: string): Json => {
    const kept = journal.find(jobId);
    if (kept !== undefined && (kept.result !== null || !kept.hasRows)) return kept.result;
    return record(sql, "SELECT result FROM results WHERE job_id = ?", jobId);
  },

  findResults: (ids: readonly string[]): Map<string, Json> => {
    const found = new Map<string, Json>();
    for (const id of ids) {
      const result = journal.find(id)?.result ?? null;
      if (result !== null) found.set(id, result);
    }
    const query = "SELECT job_id, result FROM results WHERE job_id IN (SELECT value FROM json_each(?))";
    for (const row of rowsOf(sql, query, ids, found)) found.set(row.job_id as string, JSON.parse(row.result as string));
    return found;
  },
});

/** Of those that are not found yet. */
const rowsOf = (sql: Sql, query: string, ids: readonly string[], found: ReadonlyMap<string, unknown>): Row[] => {
  const left = ids.filter((id) => !found.has(id));
  return left.length === 0 ? [] : all(sql, query, JSON.stringify(left));
};

const toPayload = (row: Row): JobPayload => ({
  prompt: row.prompt as string,
  input: JSON.parse(row.input as string) as Json,
});
