// A job that has left the object, as history has it: for a report over a socket that comes, or comes again, so late.
// Its end was reported, so nothing is written for it any more; the record tells which lease that was.

import type { Archived } from "../domain/job-record.ts";
import { readJob } from "../domain/job-record.ts";
import type { Refusal } from "../domain/refusal.ts";
import { err, ok, type Result } from "../domain/result.ts";

const RETRY_SECONDS = 5;
const LEFT_OUT = { prompt: "", input: null, result: null };

/** Those of the jobs that history has, by their ids: one look-up, however many there are. */
export const findArchivedRecords = async (
  db: D1Database,
  tenant: string,
  ids: readonly string[],
): Promise<Result<ReadonlyMap<string, Archived>, Refusal>> => {
  const readAt = Date.now();
  try {
    const sql = "SELECT id, record FROM jobs WHERE tenant = ?1 AND id IN (SELECT value FROM json_each(?2))";
    const { results } = await db
      .prepare(sql)
      .bind(tenant, JSON.stringify([...new Set(ids)]))
      .all<{ id: string; record: string }>();
    return ok(new Map(results.map(({ id, record }) => [id, { job: readJob(record), ...LEFT_OUT, readAt }])));
  } catch {
    return err({ code: "history_unavailable", retryAfterSeconds: RETRY_SECONDS });
  }
};
