// Jobs that a worker holds.

import { isLeased, type Job } from "../../domain/job.ts";
import type { Journal } from "./journal.ts";
import { all, records, type Sql } from "./sql.ts";

const byAge = (one: Job, other: Job): number => (one.id < other.id ? -1 : 1);

export const leasedJobs = (sql: Sql, journal: Journal) => {
  const youngLeased = (): Job[] =>
    journal
      .open()
      .map(({ job }) => job)
      .filter(isLeased);
  return {
    /** By worker, and by the provider that it offered when it got them; several rows may name the same. */
    leaseCounts: (): { worker: string; provider: string; count: number }[] => [
      ...all(
        sql,
        `SELECT worker, record ->> 'workerProvider' AS provider, COUNT(*) AS count FROM jobs
         WHERE worker IS NOT NULL GROUP BY 1, 2`,
      ).map((row) => ({
        worker: row.worker as string,
        provider: row.provider as string,
        count: row.count as number,
      })),
      ...youngLeased().map((job) => ({
        worker: job.assignedWorker ?? "",
        provider: job.workerProvider ?? "",
        count: 1,
      })),
    ],

    /** `load` is how many it holds: if the journal has them all, the table is not read. */
    leasedBy: (instance: string, load = Number.POSITIVE_INFINITY): Job[] => {
      const young = journal.heldBy(instance);
      if (young.length >= load) return young.sort(byAge);
      const old = records<Job>(all(sql, "SELECT record FROM jobs WHERE worker = ? ORDER BY id", instance));
      return [...old, ...young].sort(byAge);
    },

    /** Leases a worker holds and has not started, the oldest jobs first; `load` as above. */
    unstartedOf: (instance: string, limit: number, load = Number.POSITIVE_INFINITY): Job[] => {
      const query = "SELECT record FROM jobs WHERE worker = ? AND status = 'assigned' ORDER BY id LIMIT ?";
      const young = journal.heldBy(instance);
      const old = young.length >= load ? [] : records<Job>(all(sql, query, instance, limit));
      return [...old, ...young.filter(({ status }) => status === "assigned")].sort(byAge).slice(0, limit);
    },

    allLeased: (): Job[] => [
      ...records<Job>(all(sql, "SELECT record FROM jobs WHERE worker IS NOT NULL")),
      ...youngLeased(),
    ],
  };
};
