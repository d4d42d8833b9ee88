// Jobs that a worker holds.

import type { Job } from "../../domain/job.ts";
import { all, records, type Sql } from "./sql.ts";

export const leasedJobs = (sql: Sql) => ({
  /** By worker, and by the provider that it offered when it was given them. */
  leaseCounts: (): { worker: string; provider: string; count: number }[] =>
    all(
      sql,
      `SELECT worker, record ->> 'workerProvider' AS provider, COUNT(*) AS count FROM jobs
       WHERE worker IS NOT NULL GROUP BY 1, 2`,
    ).map((row) => ({
      worker: row.worker as string,
      provider: row.provider as string,
      count: row.count as number,
    })),

  leasedBy: (instance: string): Job[] =>
    records<Job>(all(sql, "SELECT record FROM jobs WHERE worker = ? ORDER BY id", instance)),

  /** Leases a worker holds and has not started, the oldest jobs first. */
  unstartedOf: (instance: string, limit: number): Job[] =>
    records<Job>(
      all(sql, "SELECT record FROM jobs WHERE worker = ? AND status = 'assigned' ORDER BY id LIMIT ?", instance, limit),
    ),

  allLeased: (): Job[] => records<Job>(all(sql, "SELECT record FROM jobs WHERE worker IS NOT NULL")),
});
