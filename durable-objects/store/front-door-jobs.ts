// Open jobs by who waits for them: the front door's, and a key's. A waiting front-door job always has a due time.

import type { Job } from "../../domain/job.ts";
import type { Journal } from "./journal.ts";
import { all, records, type Sql, scalar } from "./sql.ts";

export const frontDoorJobs = (sql: Sql, journal: Journal) => ({
  openOfFrontDoor: (): Job[] => [
    ...records<Job>(
      all(
        sql,
        `SELECT record FROM jobs WHERE worker IS NOT NULL AND record ->> 'api' IS NOT NULL
         UNION ALL
         SELECT record FROM jobs WHERE due_at IS NOT NULL AND status = 'pending' AND record ->> 'api' IS NOT NULL`,
      ),
    ),
    ...journal.open().flatMap(({ job }) => (job.api === null ? [] : [job])),
  ],

  openStreamCount: (): number =>
    (scalar(
      sql,
      "SELECT COUNT(*) FROM jobs WHERE worker IS NOT NULL AND record ->> 'stream' AND record ->> 'firstTokenAt' IS NOT NULL",
    ) ?? 0) + journal.open().filter(({ job }) => job.stream && job.firstTokenAt !== null).length,

  /** Reads every open job: only called when the counting of a key's jobs begins. */
  openCountOf: (keyId: string): number =>
    (scalar(
      sql,
      `SELECT COUNT(*) FROM jobs WHERE status IN ('pending', 'assigned', 'running') AND record ->> 'keyId' = ?`,
      keyId,
    ) ?? 0) + journal.open().filter(({ job }) => job.keyId === keyId).length,
});
