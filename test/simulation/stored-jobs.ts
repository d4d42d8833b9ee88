// Every job that the object would have if it woke now: those of the tables, and from the outbox rows, in order, those
// that are in no table.

import { isLeased, type Job } from "../../domain/job.ts";
import { isFinal } from "../../domain/job-status.ts";
import type { World } from "./world.ts";

export interface JobRow {
  readonly job: Job;
  readonly orderKey: number | null;
  readonly worker: string | null;
  readonly dueAt: number | null;
}

export interface StoredJobs {
  readonly jobs: ReadonlyMap<string, JobRow>;
  /** By job; results as JSON. */
  readonly prompts: ReadonlyMap<string, string>;
  readonly results: ReadonlyMap<string, string>;
}

/** What one outbox row contains of a job. */
interface Change {
  readonly job: Job;
  readonly dueAt: number | null;
  readonly payload?: { readonly prompt: string };
  readonly result: unknown;
}

export const JOB_TABLES = ["jobs", "payloads", "results", "outbox"] as const;

const CHANGES = `SELECT change.value AS change FROM outbox, json_each(outbox.jobs) AS change WHERE outbox.seq >
  COALESCE((SELECT CAST(value AS INTEGER) FROM settings WHERE name = 'spilled_seq'), 0) ORDER BY outbox.seq`;

/** An unchanged row is the same object as before. */
export const storedJobs = ({ shell, model }: World, before: ReadonlyMap<string, JobRow>): StoredJobs => {
  const { disk } = shell;
  const pairs = (query: string): Map<string, string> =>
    new Map(disk.rows(query).map((row) => Object.values(row) as [string, string]));
  const prompts = pairs("SELECT job_id, prompt FROM payloads");
  const results = pairs("SELECT job_id, result FROM results");
  const inTable = new Map(
    disk.rows("SELECT id, order_key, worker, due_at, record FROM jobs").map((row): [string, JobRow] => [
      row.id as string,
      {
        job: model.parsed.of<Job>(row.record as string),
        orderKey: row.order_key as number | null,
        worker: row.worker as string | null,
        dueAt: row.due_at as number | null,
      },
    ]),
  );
  const jobs = new Map(inTable);
  for (const { change } of disk.rows(CHANGES)) {
    const { job, dueAt, payload, result } = model.parsed.of<Change>(change as string);
    if (inTable.has(job.id)) continue;
    jobs.set(job.id, rowOf(job, dueAt));
    if (payload !== undefined) prompts.set(job.id, payload.prompt);
    if (result !== null) results.set(job.id, JSON.stringify(result));
  }
  for (const [id, next] of jobs) {
    const known = before.get(id);
    if (known !== undefined && isSameRow(known, next)) jobs.set(id, known);
  }
  return { jobs, prompts, results };
};

/** A final job there waits for history, not for a time. */
const rowOf = (job: Job, dueAt: number | null): JobRow => ({
  job,
  orderKey: job.orderKey,
  worker: isLeased(job) ? job.assignedWorker : null,
  dueAt: isFinal(job.status) ? null : dueAt,
});

const isSameRow = (one: JobRow, other: JobRow): boolean =>
  one.job === other.job && one.orderKey === other.orderKey && one.worker === other.worker && one.dueAt === other.dueAt;
