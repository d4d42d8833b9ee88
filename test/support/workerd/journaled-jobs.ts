// Jobs in a journal in real workerd, without an object around it: the tests say when it writes, drains and wakes.

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, beforeAll } from "vitest";
import { changeJob, type Job } from "../../../domain/job/job.ts";
import { createJob, type NewJob } from "../../../domain/job/new-job.ts";
import { JOURNAL_ROOM } from "../../../durable-objects/store/journal.ts";
import { openStore, type Store } from "../../../durable-objects/store/open.ts";
import { all, type Sql } from "../../../durable-objects/store/sql.ts";
import { asked } from "../new-job.ts";

const NOTHING = { events: [], attempts: [], audit: [], runs: [] };
/** The jobs of these tests, made at 1,000, may not stay any more. */
const STAY_MS = 60_000;
export const TOO_LATE = 1_000 + STAY_MS;
export const LONG = "x".repeat(JOURNAL_ROOM.textChars + 1);

export interface Opened {
  readonly store: Store;
  /** The same tables, opened as after a crash. */
  readonly woken: () => Store;
  /** The number of rows of each table. */
  readonly rows: () => Record<string, number>;
  readonly sql: Sql;
}

/** Elsewhere in these tests no job stays in the journal. */
export const journalKeepsJobs = (): void => {
  const { stayMs } = JOURNAL_ROOM;
  beforeAll(() => {
    JOURNAL_ROOM.stayMs = STAY_MS;
  });
  afterAll(() => {
    JOURNAL_ROOM.stayMs = stayMs;
  });
};

let names = 0;

export const inStore = <T>(use: (opened: Opened) => T): Promise<T> => {
  names += 1;
  return runInDurableObject(env.TENANT.getByName(`journal-${names}`), (_tenant, { storage }) => {
    const rows = () =>
      Object.fromEntries(
        ["jobs", "payloads", "results", "outbox"].map((table) => [
          table,
          all(storage.sql, `SELECT * FROM ${table}`).length,
        ]),
      );
    return use({ store: openStore(storage), woken: () => openStore(storage), rows, sql: storage.sql });
  });
};

export const create = (store: Store, id: string, seq: number, changes: Partial<NewJob> = {}, nowAt = 1_000): Job => {
  const { job, payload } = createJob({ ...asked, ...changes }, id, nowAt);
  store.jobs.add(job, null, seq);
  if (payload !== undefined) store.payloads.put(id, payload);
  return job;
};

export const assign = (store: Store, job: Job, seq: number): Job => {
  const changes = { status: "assigned", assignedWorker: "w", workerProvider: "p", orderKey: null, lease: 1 } as const;
  const assigned = changeJob(job, changes, 2_000);
  store.jobs.put(assigned, 32_000, seq);
  return assigned;
};

export const complete = (store: Store, job: Job, seq: number, result: string): Job => {
  const completed = changeJob(job, { status: "completed", orderKey: null, finishedAt: 3_000 }, 3_000);
  store.jobs.put(completed, 13_000, seq);
  store.payloads.putResult(job.id, result);
  return completed;
};

export const commit = (store: Store, ...seqs: number[]): void => {
  for (const seq of seqs) store.outbox.put({ seq, at: seq, chars: 400, entries: NOTHING });
};

/** As after a drain of the rows up to this one. */
export const drain = (store: Store, seq: number, nowAt = TOO_LATE): void => {
  store.jobs.settle(seq, nowAt);
  store.outbox.removeUpTo(seq);
};
