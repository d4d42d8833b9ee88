// The table of jobs, one row each, and a cache of the records that were read or written last.

import { laneOf } from "../../../domain/job/flows.ts";
import { isLeased, type Job } from "../../../domain/job/job.ts";
import { isFinal } from "../../../domain/words/job-status.ts";
import { Recent } from "../recent.ts";
import { record, records, type Sql } from "../sql.ts";

export interface Recorded {
  readonly job: Job;
}

/** A few thousand small records are a few megabytes: about the jobs in progress at a time. */
export const RECENT_JOBS = 4_000;
const RECENT_RECORD_CHARS = 4_096;

export const jobRows = (sql: Sql) => {
  const recent = new Recent<Recorded>(RECENT_JOBS);
  const keepRecent = (job: Job, text: string): void => {
    if (text.length <= RECENT_RECORD_CHARS) recent.keep(job.id, { job });
    else recent.drop(job.id);
  };
  return {
    recent: (id: string): Recorded | undefined => recent.get(id),

    forgetRecent: (): void => recent.clear(),

    find: (id: string): Job | null => record(sql, "SELECT record FROM jobs WHERE id = ?", id),

    findMany: (ids: readonly string[]): Recorded[] => {
      const query = "SELECT record FROM jobs WHERE id IN (SELECT value FROM json_each(?))";
      return records<Job>(sql, query, JSON.stringify(ids)).map((job) => ({ job }));
    },

    put: (job: Job, dueAt: number | null, changedSeq: number): void => {
      const text = JSON.stringify(job);
      keepRecent(job, text);
      sql.exec(
        `INSERT INTO jobs (id, status, group_key, order_key, worker, schedule, due_at, changed_seq, record, lane)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT (id) DO UPDATE SET status = ?2, group_key = ?3, order_key = ?4, worker = ?5, schedule = ?6,
           due_at = ?7, changed_seq = ?8, record = ?9, lane = ?10`,
        job.id,
        job.status,
        job.groupKey,
        job.orderKey,
        isLeased(job) ? job.assignedWorker : null,
        isFinal(job.status) ? null : job.schedule,
        dueAt,
        changedSeq,
        text,
        laneOf(job),
      );
    },

    /** A change that is not sent to history. */
    touch: (job: Job, dueAt: number | null): void => {
      const text = JSON.stringify(job);
      keepRecent(job, text);
      sql.exec(
        "UPDATE jobs SET order_key = ?2, due_at = ?3, record = ?4 WHERE id = ?1",
        job.id,
        job.orderKey,
        dueAt,
        text,
      );
    },

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
