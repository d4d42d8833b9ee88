// A job that has left the object, as history has it: for a report over a socket that comes, or comes again, so late.
// Its end was reported, so nothing is written for it any more; the record tells which lease that was.

import type { Archived } from "../domain/job-record.ts";
import { readJob } from "../domain/job-record.ts";
import type { Refusal } from "../domain/refusal.ts";
import { err, ok, type Result } from "../domain/result.ts";

const RETRY_SECONDS = 5;
const LEFT_OUT = { prompt: "", input: null, result: null };

/** Null where history has no such job either. */
export const findArchivedRecord = async (
  db: D1Database,
  tenant: string,
  id: string,
): Promise<Result<Archived | null, Refusal>> => {
  const readAt = Date.now();
  try {
    const found = db.prepare("SELECT record FROM jobs WHERE tenant = ?1 AND id = ?2").bind(tenant, id);
    const row = await found.first<{ record: string }>();
    return ok(row === null ? null : { job: readJob(row.record), ...LEFT_OUT, readAt });
  } catch {
    return err({ code: "history_unavailable", retryAfterSeconds: RETRY_SECONDS });
  }
};
