// How many jobs are open, and which is the newest.

import type { Job } from "../../../domain/job/job.ts";
import type { Journal } from "../journal.ts";
import type { Sql } from "../sql.ts";
import { NEWEST_FIRST, openJobs } from "./open-jobs.ts";

export type OpenStatus = "pending" | "assigned" | "running";

export const openCounts = (sql: Sql, journal: Journal) => {
  const open = openJobs(sql);
  const leased = (status: OpenStatus): number =>
    open.count({
      where: "worker IS NOT NULL AND status = ?",
      bindings: [status],
      young: journal.open((job) => job.status === status),
    });
  const inQueue = (): number =>
    open.count({ where: "order_key IS NOT NULL", young: journal.open(({ orderKey }) => orderKey !== null) });
  const delayed = (): number =>
    open.count({
      where: "due_at IS NOT NULL AND order_key IS NULL AND status = 'pending'",
      young: journal.open(({ status, orderKey }) => orderKey === null && status === "pending"),
    });
  return {
    openCounts: (): Record<OpenStatus, number> => ({
      pending: inQueue() + delayed(),
      assigned: leased("assigned"),
      running: leased("running"),
    }),

    hasOpenOf: (schedule: string): boolean =>
      open.has({
        where: "schedule = ?",
        bindings: [schedule],
        young: journal.open((job) => job.schedule === schedule),
      }),

    /** The newest first, with those that ended here. */
    newest: (limit: number): Job[] =>
      open.inOrder({ where: "TRUE", young: journal.newest(limit) }, NEWEST_FIRST, limit),
  };
};
