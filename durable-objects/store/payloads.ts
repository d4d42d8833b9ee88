// Prompts, inputs and results: rows of their own, so that a job's record stays small.

import type { JobPayload } from "../../domain/job.ts";
import type { Json } from "../../domain/json.ts";
import { all, first, type Row, record, type Sql } from "./sql.ts";

export const payloadsTable = (sql: Sql) => ({
  /** Answers how many characters it stored. */
  put: (jobId: string, { prompt, input }: JobPayload): number => {
    const text = JSON.stringify(input);
    sql.exec("INSERT OR REPLACE INTO payloads (job_id, prompt, input) VALUES (?, ?, ?)", jobId, prompt, text);
    return prompt.length + text.length;
  },

  find: (jobId: string): JobPayload => {
    const row = first(sql, "SELECT prompt, input FROM payloads WHERE job_id = ?", jobId);
    if (row === null) throw new Error(`job ${jobId} has no payload`);
    return toPayload(row);
  },

  findMany: (ids: readonly string[]): Map<string, JobPayload> =>
    new Map(
      all(
        sql,
        "SELECT job_id, prompt, input FROM payloads WHERE job_id IN (SELECT value FROM json_each(?))",
        JSON.stringify(ids),
      ).map((row) => [row.job_id as string, toPayload(row)]),
    ),

  /** Answers how many characters it stored. */
  putResult: (jobId: string, result: Json): number => {
    if (result === null) {
      sql.exec("DELETE FROM results WHERE job_id = ?", jobId);
      return 0;
    }
    const text = JSON.stringify(result);
    sql.exec("INSERT OR REPLACE INTO results (job_id, result) VALUES (?, ?)", jobId, text);
    return text.length;
  },

  findResult: (jobId: string): Json =>
    record<Json>(first(sql, "SELECT result FROM results WHERE job_id = ?", jobId), "result"),

  findResults: (ids: readonly string[]): Map<string, Json> =>
    new Map(
      all(
        sql,
        "SELECT job_id, result FROM results WHERE job_id IN (SELECT value FROM json_each(?))",
        JSON.stringify(ids),
      ).map((row) => [row.job_id as string, JSON.parse(row.result as string) as Json]),
    ),
});

const toPayload = (row: Row): JobPayload => ({
  prompt: row.prompt as string,
  input: JSON.parse(row.input as string) as Json,
});
