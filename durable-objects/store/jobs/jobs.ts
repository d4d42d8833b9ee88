// Open jobs, and final ones until history has them: the newest in the journal, the others in the table, each in exactly
// one of the two. Queries for a special set of jobs have a file of their own.

import type { Job } from "../../../domain/job/job.ts";
import { isFinal } from "../../../domain/words/job-status.ts";
import { JOURNAL_ROOM, type Journal } from "../journal.ts";
import type { Journaled } from "../journaled.ts";
import type { Sql } from "../sql.ts";
import { dueJobs } from "./due-jobs.ts";
import { frontDoorJobs } from "./front-door-jobs.ts";
import { jobRows, type Recorded } from "./job-rows.ts";
import { leasedJobs } from "./leased-jobs.ts";
import { openCounts } from "./open-counts.ts";
import type { payloadsTable } from "./payloads.ts";
import { waitingJobs } from "./waiting-jobs.ts";

export const jobsTable = (sql: Sql, journal: Journal, payloads: ReturnType<typeof payloadsTable>) => {
  const rows = jobRows(sql);
  /** Moves a job from the journal to the tables. */
  const moveOut = (kept: Journaled): void => {
    journal.remove(kept);
    rows.put(kept.job, kept.dueAt, kept.changedSeq);
    payloads.moveOut(kept);
  };
  const known = (id: string): Recorded | undefined => journal.find(id) ?? rows.recent(id);
  return {
    ...waitingJobs(sql, journal),
    ...leasedJobs(sql, journal),
    ...dueJobs(sql, journal),
    ...frontDoorJobs(sql, journal),
    ...openCounts(sql, journal),

    find: (id: string): Job | null => known(id)?.job ?? rows.find(id),

    forgetRecent: (): void => {
      rows.forgetRecent();
      journal.forget();
    },

    findMany: (ids: readonly string[]): Recorded[] => {
      const found = ids.map(known).filter((one) => one !== undefined);
      if (found.length === ids.length) return found;
      return [...found, ...rows.findMany(ids.filter((id) => known(id) === undefined))];
    },

    /** A new job. Returns how many characters of it go into its outbox row. */
    add: (job: Job, dueAt: number | null, seq: number): number => journal.add(job, dueAt, seq),

    /** The same for a change; 0 for a job in the table. */
    put: (job: Job, dueAt: number | null, seq: number): number => {
      const kept = journal.get(job.id);
      if (kept !== undefined) return journal.change(kept, job, dueAt, seq);
      const ended = journal.takeEnded(job.id);
      if (ended !== undefined) payloads.moveOut(ended);
      rows.put(job, dueAt, seq);
      return 0;
    },

    /** A change that is not sent to history: a heartbeat, a place in the queue, another due time. The rest as above. */
    touch: (job: Job, dueAt: number | null, openRow: () => number): number => {
      const kept = journal.get(job.id);
      if (kept !== undefined) return journal.change(kept, job, dueAt, openRow());
      rows.touch(job, dueAt);
      return 0;
    },

    ...movedOut(journal, moveOut),
    removeMany: rows.removeMany,
  };
};

/** How jobs leave the journal. */
const movedOut = (journal: Journal, moveOut: (kept: Journaled) => void) => ({
  /**
   * History has the rows up to this one: jobs created in them leave the journal if they have ended, or may not stay.
   * Returns whether any job moved.
   */
  settle: (drainedSeq: number, nowAt: number): boolean => {
    let hasMoved = false;
    for (const kept of journal.createdUpTo(drainedSeq)) {
      const hasEnded = isFinal(kept.job.status) && kept.changedSeq <= drainedSeq;
      if (!hasEnded && journal.mayStay(kept, nowAt)) continue;
      const isOver = hasEnded && !kept.hasRows;
      if (isOver) journal.end(kept);
      else moveOut(kept);
      hasMoved ||= !isOver;
    }
    return hasMoved;
  },

  /** When the oldest job that history has as open must leave the journal; null for none. */
  nextMoveAt: (drainedSeq: number): number | null => {
    const { oldest } = journal;
    return oldest === null || oldest.firstSeq > drainedSeq ? null : oldest.job.createdAt + JOURNAL_ROOM.stayMs;
  },

  /** History should be sent what it has not, whatever its age. */
  isCrowded: (): boolean => journal.isCrowded,

  /** If the journal has too many jobs, the oldest move to the tables. Returns whether any did. */
  makeRoom: (): boolean => {
    if (!journal.isFull) return false;
    const seq = journal.roomSeq;
    for (const kept of journal.createdUpTo(seq)) moveOut(kept);
    journal.noteSpilled(seq);
    return true;
  },

  /** Those whose time to leave has come and that history has. */
  forgetEnded: (nowAt: number): void => journal.forgetEnded(nowAt),
});
