// Jobs that have left the object, read from history for late or repeated reports over a socket. Their ends were
// reported, so nothing more is written for them; the record has the lease that ended.

import type { Brought } from "../../domain/job/archived-job.ts";
import { ARCHIVED_COLUMNS, type ArchivedRow, readArchived } from "../../domain/job/job-record.ts";
import { levelOfFailure } from "../../domain/tenant/tenant-database.ts";
import { HISTORY_UNAVAILABLE, type Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import { log } from "../../log/log.ts";

const LEFT_OUT = { prompt: "", input: null, result: null };

/** A job that the object did not have, and the instant by the object's clock. */
export interface Absent {
  readonly id: string;
  readonly absentAt: number;
}

/** Those of the jobs that history has, by id: one query, however many there are. */
export const findArchivedRecords = async (
  database: () => D1Database,
  tenant: string,
  absent: readonly Absent[],
): Promise<Result<ReadonlyMap<string, Brought>, Refusal>> => {
  const absentAt = new Map(absent.map((one) => [one.id, one.absentAt]));
  try {
    const sql = `SELECT ${ARCHIVED_COLUMNS} FROM jobs WHERE tenant = ?1 AND id IN (SELECT value FROM json_each(?2))`;
    const { results } = await database()
      .prepare(sql)
      .bind(tenant, JSON.stringify([...absentAt.keys()]))
      .all<ArchivedRow>();
    const brought = results.map(
      (row) => [row.id, { job: readArchived(row), ...LEFT_OUT, absentAt: absentAt.get(row.id) ?? 0 }] as const,
    );
    return ok(new Map(brought));
  } catch (error) {
    log(levelOfFailure(error), "history.failed", { tenant }, error);
    return err(HISTORY_UNAVAILABLE);
  }
};
