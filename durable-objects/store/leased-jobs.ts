// Jobs that a worker holds.

import type { Job } from "../../domain/job.ts";
import { all, records, type Sql } from "./sql.ts";

export const leasedJobs = (sql: Sql) => ({
  leaseCounts: (): { worker: string; count: number }[] =>
    all(sql, "SELECT worker, COUNT(*) AS count FROM jobs WHERE worker IS NOT NULL GROUP BY worker").map((row) => ({
      worker: row.worker as string,
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
