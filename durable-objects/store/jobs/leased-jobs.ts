// Jobs that a worker holds.

import type { FlowPlace } from "../../../domain/job/flows.ts";
import { isLeased, type Job } from "../../../domain/job/job.ts";
import type { Journal } from "../journal.ts";
import { all, type Sql } from "../sql.ts";
import { OLDEST_FIRST, openJobs } from "./open-jobs.ts";

export const leasedJobs = (sql: Sql, journal: Journal) => {
  const open = openJobs(sql);
  const youngLeased = () => journal.open(isLeased);
  return {
    /** By worker, and by the provider that it offered when it got them; several rows may name the same. */
    leaseCounts: (): { worker: string; provider: string; count: number }[] => [
      ...all<{ worker: string; provider: string; count: number }>(
        sql,
        `SELECT worker, record ->> 'workerProvider' AS provider, COUNT(*) AS count FROM jobs
         WHERE worker IS NOT NULL GROUP BY 1, 2`,
      ),
      ...youngLeased().map(({ job }) => ({
        worker: job.assignedWorker ?? "",
        provider: job.workerProvider ?? "",
        count: 1,
      })),
    ],

    /** The flows that they are of, and what those were charged for them. */
    leasedFlows: (): (FlowPlace & Pick<Job, "share">)[] => [
      ...all<FlowPlace & { share: string | null }>(
        sql,
        `SELECT group_key AS groupKey, record ->> 'priority' AS priority, record ->> 'flow' AS flow,
           record -> 'share' AS share FROM jobs WHERE worker IS NOT NULL`,
      ).map((row) => ({ ...row, share: JSON.parse(row.share ?? "null") })),
      ...youngLeased().map(({ job }) => job),
    ],

    /** The oldest first. `load` is how many it holds: if the journal has them all, the table is not read. */
    leasedBy: (instance: string, load = Number.POSITIVE_INFINITY): Job[] => {
      const young = journal.heldBy(instance);
      const held = { where: "worker = ?", bindings: [instance], young, isYoungOnly: young.length >= load };
      return open.inOrder(held, OLDEST_FIRST, Number.MAX_SAFE_INTEGER);
    },

    /** Leases a worker holds and has not started, the oldest jobs first; `load` as above. */
    unstartedOf: (instance: string, limit: number, load = Number.POSITIVE_INFINITY): Job[] => {
      const held = journal.heldBy(instance);
      const unstarted = {
        where: "worker = ? AND status = 'assigned'",
        bindings: [instance],
        young: held.filter(({ job }) => job.status === "assigned"),
        isYoungOnly: held.length >= load,
      };
      return open.inOrder(unstarted, OLDEST_FIRST, limit);
    },

    allLeased: (): Job[] => open.list({ where: "worker IS NOT NULL", young: youngLeased() }),
  };
};
