// Open jobs, and final ones until history has them. Rows in, rows out.

import { type Job, type JobPayload, readJob } from "../../domain/job.ts";
import type { Json } from "../../domain/json.ts";
import type { Place } from "../../domain/queue.ts";
import { Recent } from "./recent.ts";
import { all, first, type Row, record, type Sql, scalar } from "./sql.ts";

export type OpenStatus = "pending" | "assigned" | "running";

const FINAL = "('completed', 'failed', 'cancelled')";

/** A record, and as its row holds it. */
export interface Recorded {
  readonly job: Job;
  readonly text: string;
}

const jobOf = (row: Row | null): Job | null => (row === null ? null : readJob(row.record as string));
const jobsOf = (rows: readonly Row[]): Job[] => rows.map((row) => readJob(row.record as string));

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
    find: (id: string): Job | null =>
      recent.get(id)?.job ?? jobOf(first(sql, "SELECT record FROM jobs WHERE id = ?", id)),

    forgetRecent: (): void => recent.clear(),

    findMany: (ids: readonly string[]): Recorded[] => {
      const known = ids.map((id) => recent.get(id)).filter((one) => one !== undefined);
      if (known.length === ids.length) return known;
      const unknown = JSON.stringify(ids.filter((id) => recent.get(id) === undefined));
      const rows = all(sql, "SELECT record FROM jobs WHERE id IN (SELECT value FROM json_each(?))", unknown);
      return [...known, ...rows.map(({ record: text }) => ({ job: readJob(text as string), text: text as string }))];
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

    /** The first waiting job of a group. */
    headOf: (groupKey: string): Place | null => {
      const row = first(
        sql,
        "SELECT id, order_key FROM jobs WHERE group_key = ? AND order_key IS NOT NULL ORDER BY order_key, id LIMIT 1",
        groupKey,
      );
      return row === null ? null : { id: row.id as string, orderKey: row.order_key as number };
    },

    oldestCreatedAt: (groupKey: string): number | null =>
      scalar(
        sql,
        `SELECT record ->> 'createdAt' FROM jobs WHERE group_key = ? AND order_key IS NOT NULL ORDER BY order_key, id LIMIT 1`,
        groupKey,
      ),

    /** How many jobs wait in each group. */
    waitingCounts: (): { groupKey: string; count: number }[] =>
      all(sql, "SELECT group_key, COUNT(*) AS count FROM jobs WHERE order_key IS NOT NULL GROUP BY group_key").map(
        (row) => ({ groupKey: row.group_key as string, count: row.count as number }),
      ),

    leaseCounts: (): { worker: string; count: number }[] =>
      all(sql, "SELECT worker, COUNT(*) AS count FROM jobs WHERE worker IS NOT NULL GROUP BY worker").map((row) => ({
        worker: row.worker as string,
        count: row.count as number,
      })),

    leasedBy: (instance: string): Job[] =>
      jobsOf(all(sql, "SELECT record FROM jobs WHERE worker = ? ORDER BY id", instance)),

    /** Leases a worker holds and has not started, the oldest jobs first. */
    unstartedOf: (instance: string, limit: number): Job[] =>
      jobsOf(
        all(
          sql,
          "SELECT record FROM jobs WHERE worker = ? AND status = 'assigned' ORDER BY id LIMIT ?",
          instance,
          limit,
        ),
      ),

    allLeased: (): Job[] => jobsOf(all(sql, "SELECT record FROM jobs WHERE worker IS NOT NULL")),

    /** Open jobs that the sweep must look at, the longest due first. */
    due: (nowAt: number, limit: number): Job[] =>
      jobsOf(
        all(
          sql,
          `SELECT record FROM jobs WHERE due_at IS NOT NULL AND due_at <= ? AND status NOT IN ${FINAL}
           ORDER BY due_at LIMIT ?`,
          nowAt,
          limit,
        ),
      ),

    /** Final jobs whose time to leave has come and that history has up to `drainedSeq`, the longest due first. */
    leaving: (nowAt: number, drainedSeq: number, limit: number): string[] =>
      all(
        sql,
        `SELECT id FROM jobs WHERE due_at IS NOT NULL AND due_at <= ? AND status IN ${FINAL} AND changed_seq <= ?
         ORDER BY due_at LIMIT ?`,
        nowAt,
        drainedSeq,
        limit,
      ).map((row) => row.id as string),

    /** Lets final jobs that should leave, but that history has not got, wait for it. */
    shelve: (nowAt: number, drainedSeq: number): void => {
      sql.exec(
        `UPDATE jobs SET due_at = NULL WHERE due_at IS NOT NULL AND due_at <= ? AND status IN ${FINAL} AND changed_seq > ?`,
        nowAt,
        drainedSeq,
      );
    },

    /** History has them now: they may leave at `dueAt`. Answers whether any waited for it. */
    unshelve: (drainedSeq: number, dueAt: number): boolean =>
      all(
        sql,
        `UPDATE jobs SET due_at = ? WHERE due_at IS NULL AND status IN ${FINAL} AND changed_seq <= ? RETURNING 1`,
        dueAt,
        drainedSeq,
      ).length > 0,

    nextDueAt: (): number | null => scalar(sql, "SELECT MIN(due_at) FROM jobs WHERE due_at IS NOT NULL"),

    postpone: (id: string, dueAt: number | null): void => {
      sql.exec("UPDATE jobs SET due_at = ? WHERE id = ?", dueAt, id);
    },

    hasOpenOf: (schedule: string): boolean =>
      first(sql, "SELECT id FROM jobs WHERE schedule = ? LIMIT 1", schedule) !== null,

    openCounts: (): Record<OpenStatus, number> => {
      const leased = (status: OpenStatus): number =>
        scalar(sql, "SELECT COUNT(*) FROM jobs WHERE worker IS NOT NULL AND status = ?", status) ?? 0;
      const pending =
        (scalar(sql, "SELECT COUNT(*) FROM jobs WHERE order_key IS NOT NULL") ?? 0) +
        (scalar(sql, "SELECT COUNT(*) FROM jobs WHERE due_at IS NOT NULL AND status = 'pending'") ?? 0);
      return { pending, assigned: leased("assigned"), running: leased("running") };
    },

    newest: (limit: number): Job[] => jobsOf(all(sql, "SELECT record FROM jobs ORDER BY id DESC LIMIT ?", limit)),

    count: (): number => scalar(sql, "SELECT COUNT(*) FROM jobs") ?? 0,

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

/** Prompts, inputs and results: rows of their own, so that a job's record stays small. */
export const payloadsTable = (sql: Sql) => ({
  /** Answers how many characters it stored. */
  put: (jobId: string, { prompt, input }: JobPayload): number => {
    const text = JSON.stringify(input);
    sql.exec("INSERT OR REPLACE INTO payloads (job_id, prompt, input) VALUES (?, ?, ?)", jobId, prompt, text);
    return prompt.length + text.length;
  },

  find: (jobId: string): JobPayload => {
    const row = first(sql, "SELECT prompt, input FROM payloads WHERE job_id = ?", jobId);
    if (row === null) throw new Error(`job ${jobId} has no payload`);
    return toPayload(row);
  },

  findMany: (ids: readonly string[]): Map<string, JobPayload> =>
    new Map(
      all(
        sql,
        "SELECT job_id, prompt, input FROM payloads WHERE job_id IN (SELECT value FROM json_each(?))",
        JSON.stringify(ids),
      ).map((row) => [row.job_id as string, toPayload(row)]),
    ),

  /** Answers how many characters it stored. */
  putResult: (jobId: string, result: Json): number => {
    if (result === null) {
      sql.exec("DELETE FROM results WHERE job_id = ?", jobId);
      return 0;
    }
    const text = JSON.stringify(result);
    sql.exec("INSERT OR REPLACE INTO results (job_id, result) VALUES (?, ?)", jobId, text);
    return text.length;
  },

  findResult: (jobId: string): Json =>
    record<Json>(first(sql, "SELECT result FROM results WHERE job_id = ?", jobId), "result"),

  findResults: (ids: readonly string[]): Map<string, Json> =>
    new Map(
      all(
        sql,
        "SELECT job_id, result FROM results WHERE job_id IN (SELECT value FROM json_each(?))",
        JSON.stringify(ids),
      ).map((row) => [row.job_id as string, JSON.parse(row.result as string) as Json]),
    ),
});

const toPayload = (row: Row): JobPayload => ({
  prompt: row.prompt as string,
  input: JSON.parse(row.input as string) as Json,
});
