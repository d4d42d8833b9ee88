// A job that has left the object, as history has it: for a report over a socket that comes, or comes again, so late.
// Its end was reported, so nothing is written for it any more; the record tells which lease that was.

import { type Brought, MAX_HISTORY_LOOKS, readJob } from "../domain/job-record.ts";
import type { Refusal } from "../domain/refusal.ts";
import { err, ok, type Result } from "../domain/result.ts";

const RETRY_SECONDS = 5;
const UNAVAILABLE = err({ code: "history_unavailable", retryAfterSeconds: RETRY_SECONDS } as const);
const LEFT_OUT = { prompt: "", input: null, result: null };

/** A job that the object did not have at an instant of its clock. */
export interface Absent {
  readonly id: string;
  readonly absentAt: number;
}

/** Null where history has no such job either; refused where the looks before this one came too late. */
export const findArchivedRecord = async (
  db: D1Database,
  tenant: string,
  { id, absentAt }: Absent,
  looks: number,
): Promise<Result<Brought | null, Refusal>> => {
  if (looks >= MAX_HISTORY_LOOKS) return UNAVAILABLE;
  try {
    const found = db.prepare("SELECT record FROM jobs WHERE tenant = ?1 AND id = ?2").bind(tenant, id);
    const row = await found.first<{ record: string }>();
    return ok(row === null ? null : { job: readJob(row.record), absentAt, ...LEFT_OUT });
  } catch {
    return UNAVAILABLE;
  }
};
