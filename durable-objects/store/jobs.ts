// Open jobs, and final ones until history has them. What is asked of a set of jobs is in a file for each set.

import type { Job } from "../../domain/job.ts";
import { dueJobs } from "./due-jobs.ts";
import { frontDoorJobs } from "./front-door-jobs.ts";
import { leasedJobs } from "./leased-jobs.ts";
import { Recent } from "./recent.ts";
import { all, first, record, records, type Sql, scalar } from "./sql.ts";
import { waitingJobs } from "./waiting-jobs.ts";

export type OpenStatus = "pending" | "assigned" | "running";

/** A record, and as its row holds it. */
export interface Recorded {
  readonly job: Job;
  readonly text: string;
}

/** A few thousand small records are a few megabytes: about what is under way at a time. */
const RECENT_JOBS = 4_000;
const RECENT_RECORD_CHARS = 4_096;

export const jobsTable = (sql: Sql) => {
  const recent = new Recent<Recorded>(RECENT_JOBS);
  /** The record as its row holds it. */
  const written = (job: Job): string => {
    const text = JSON.stringify(job);
    if (text.length <= RECENT_RECORD_CHARS) recent.keep(job.id, { job, text });
    else recent.drop(job.id);
    return text;
  };
  return {
    ...waitingJobs(sql),
    ...leasedJobs(sql),
    ...dueJobs(sql),
    ...frontDoorJobs(sql),

    find: (id: string): Job | null =>
      recent.get(id)?.job ?? record<Job>(first(sql, "SELECT record FROM jobs WHERE id = ?", id)),

    forgetRecent: (): void => recent.clear(),

    findMany: (ids: readonly string[]): Recorded[] => {
      const known = ids.map((id) => recent.get(id)).filter((one) => one !== undefined);
      if (known.length === ids.length) return known;
      const unknown = JSON.stringify(ids.filter((id) => recent.get(id) === undefined));
      const rows = all(sql, "SELECT record FROM jobs WHERE id IN (SELECT value FROM json_each(?))", unknown);
      return [...known, ...rows.map(({ record: text }) => ({ job: JSON.parse(text as string), text: text as string }))];
    },

    put: (job: Job, dueAt: number | null, changedSeq: number): void => {
      const isLeased = job.status === "assigned" || job.status === "running";
      const isOpen = isLeased || job.status === "pending";
      sql.exec(
        `INSERT INTO jobs (id, status, group_key, order_key, worker, schedule, due_at, changed_seq, record)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
       ON CONFLICT (id) DO UPDATE SET status = ?2, group_key = ?3, order_key = ?4, worker = ?5, schedule = ?6,
         due_at = ?7, changed_seq = ?8, record = ?9`,
        job.id,
        job.status,
        job.groupKey,
        job.orderKey,
        isLeased ? job.assignedWorker : null,
        isOpen ? job.schedule : null,
        dueAt,
        changedSeq,
        written(job),
      );
    },

    /** A change that history does not hear of: a heartbeat, a place in the queue. */
    touch: (job: Job, dueAt: number | null): void => {
      sql.exec(
        "UPDATE jobs SET order_key = ?2, due_at = ?3, record = ?4 WHERE id = ?1",
        job.id,
        job.orderKey,
        dueAt,
        written(job),
      );
    },

    hasOpenOf: (schedule: string): boolean =>
      first(sql, "SELECT id FROM jobs WHERE schedule = ? LIMIT 1", schedule) !== null,

    openCounts: (): Record<OpenStatus, number> => {
      const leased = (status: OpenStatus): number =>
        scalar(sql, "SELECT COUNT(*) FROM jobs WHERE worker IS NOT NULL AND status = ?", status) ?? 0;
      const pending =
        (scalar(sql, "SELECT COUNT(*) FROM jobs WHERE order_key IS NOT NULL") ?? 0) +
        (scalar(
          sql,
          "SELECT COUNT(*) FROM jobs WHERE due_at IS NOT NULL AND order_key IS NULL AND status = 'pending'",
        ) ?? 0);
      return { pending, assigned: leased("assigned"), running: leased("running") };
    },

    newest: (limit: number): Job[] => records<Job>(all(sql, "SELECT record FROM jobs ORDER BY id DESC LIMIT ?", limit)),

    /** With their prompts and results. */
    removeMany: (ids: readonly string[]): void => {
      const list = JSON.stringify(ids);
      for (const id of ids) recent.drop(id);
      sql.exec("DELETE FROM jobs WHERE id IN (SELECT value FROM json_each(?))", list);
      sql.exec("DELETE FROM payloads WHERE job_id IN (SELECT value FROM json_each(?))", list);
      sql.exec("DELETE FROM results WHERE job_id IN (SELECT value FROM json_each(?))", list);
    },
  };
};
