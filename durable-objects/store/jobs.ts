// Open jobs, and final ones until history has them: the newest in the journal, the others in the table, each in exactly
// one of the two. Queries for a special set of jobs have a file of their own.

import type { Job } from "../../domain/job.ts";
import { isFinal } from "../../domain/job-status.ts";
import { dueJobs } from "./due-jobs.ts";
import { frontDoorJobs } from "./front-door-jobs.ts";
import type { Journal, Journaled } from "./journal.ts";
import { leasedJobs } from "./leased-jobs.ts";
import { NEWEST_FIRST, openJobs } from "./open-jobs.ts";
import type { payloadsTable } from "./payloads.ts";
import { Recent } from "./recent.ts";
import { all, first, record, type Sql } from "./sql.ts";
import { waitingJobs } from "./waiting-jobs.ts";

export type OpenStatus = "pending" | "assigned" | "running";

/** A record, and the text in its row. */
export interface Recorded {
  readonly job: Job;
  readonly text: string;
}

/** A few thousand small records are a few megabytes: about the jobs in progress at a time. */
const RECENT_JOBS = 4_000;
const RECENT_RECORD_CHARS = 4_096;

export const jobsTable = (sql: Sql, journal: Journal, payloads: ReturnType<typeof payloadsTable>) => {
  const open = openJobs(sql);
  const recent = new Recent<Recorded>(RECENT_JOBS);
  const keepRecent = (recorded: Recorded): void => {
    if (recorded.text.length <= RECENT_RECORD_CHARS) recent.keep(recorded.job.id, recorded);
    else recent.drop(recorded.job.id);
  };
  const putRow = (recorded: Recorded, dueAt: number | null, changedSeq: number): void => {
    const { job, text } = recorded;
    const isLeased = job.status === "assigned" || job.status === "running";
    const isOpen = isLeased || job.status === "pending";
    keepRecent(recorded);
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
      text,
    );
  };
  /** Moves a job from the journal to the tables. */
  const moveOut = (kept: Journaled): void => {
    journal.remove(kept);
    putRow(kept, kept.dueAt, kept.changedSeq);
    payloads.moveOut(kept);
  };
  const known = (id: string): Recorded | undefined => journal.find(id) ?? recent.get(id);
  return {
    ...waitingJobs(sql, journal),
    ...leasedJobs(sql, journal),
    ...dueJobs(sql, journal, moveOut),
    ...frontDoorJobs(sql, journal),

    find: (id: string): Job | null =>
      known(id)?.job ?? record<Job>(first(sql, "SELECT record FROM jobs WHERE id = ?", id)),

    forgetRecent: (): void => {
      recent.clear();
      journal.forget();
    },

    findMany: (ids: readonly string[]): Recorded[] => {
      const found = ids.map(known).filter((one) => one !== undefined);
      if (found.length === ids.length) return found;
      const unknown = JSON.stringify(ids.filter((id) => known(id) === undefined));
      const rows = all(sql, "SELECT record FROM jobs WHERE id IN (SELECT value FROM json_each(?))", unknown);
      return [...found, ...rows.map(({ record: text }) => ({ job: JSON.parse(text as string), text: text as string }))];
    },

    /** A new job. Returns how many characters of it go into its outbox row. */
    add: (job: Job, dueAt: number | null, seq: number): number => {
      const text = JSON.stringify(job);
      journal.add(job, text, dueAt, seq);
      return text.length;
    },

    /** The same for a change; 0 for a job in the table. */
    put: (job: Job, dueAt: number | null, seq: number): number => {
      const text = JSON.stringify(job);
      const kept = journal.get(job.id);
      if (kept !== undefined) {
        journal.change(kept, job, text, dueAt, seq);
        return text.length;
      }
      const ended = journal.takeEnded(job.id);
      if (ended !== undefined) payloads.moveOut(ended);
      putRow({ job, text }, dueAt, seq);
      return 0;
    },

    /** A change that is not sent to history: a heartbeat, a place in the queue. */
    touch: (job: Job, dueAt: number | null): void => {
      const text = JSON.stringify(job);
      const kept = journal.get(job.id);
      if (kept !== undefined) moveOut(kept);
      keepRecent({ job, text });
      sql.exec(
        "UPDATE jobs SET order_key = ?2, due_at = ?3, record = ?4 WHERE id = ?1",
        job.id,
        job.orderKey,
        dueAt,
        text,
      );
    },

    hasOpenOf: (schedule: string): boolean =>
      open.has({
        where: "schedule = ?",
        bindings: [schedule],
        young: journal.open((job) => job.schedule === schedule),
      }),

    openCounts: (): Record<OpenStatus, number> => {
      const leased = (status: OpenStatus): number =>
        open.count({
          where: "worker IS NOT NULL AND status = ?",
          bindings: [status],
          young: journal.open((job) => job.status === status),
        });
      const inQueue = open.count({
        where: "order_key IS NOT NULL",
        young: journal.open(({ orderKey }) => orderKey !== null),
      });
      const delayed = open.count({
        where: "due_at IS NOT NULL AND order_key IS NULL AND status = 'pending'",
        young: journal.open(({ status, orderKey }) => orderKey === null && status === "pending"),
      });
      return { pending: inQueue + delayed, assigned: leased("assigned"), running: leased("running") };
    },

    /** The newest first, with those that ended here. */
    newest: (limit: number): Job[] =>
      open.inOrder({ where: "TRUE", young: journal.newest(limit) }, NEWEST_FIRST, limit),

    /** History has the rows up to this one: jobs created in them leave the journal. Returns whether any job moved. */
    settle: (drainedSeq: number): boolean => {
      let hasMoved = false;
      for (const kept of journal.createdUpTo(drainedSeq)) {
        const isOver = isFinal(kept.job.status) && kept.changedSeq <= drainedSeq && !kept.hasRows;
        if (isOver) journal.end(kept);
        else moveOut(kept);
        hasMoved ||= !isOver;
      }
      return hasMoved;
    },

    /** If the journal has too many jobs, the older half moves to the tables. Returns whether any did. */
    makeRoom: (): boolean => {
      if (!journal.isFull) return false;
      const seq = journal.middleSeq;
      for (const kept of journal.createdUpTo(seq)) moveOut(kept);
      journal.noteSpilled(seq);
      return true;
    },

    /** Those whose time to leave has come and that history has. */
    forgetEnded: (nowAt: number): void => journal.forgetEnded(nowAt),

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
