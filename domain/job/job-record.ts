// A job's record, with missing fields filled in: those that an earlier release did not store, those that have the value
// of most jobs, and in history those with a column of their own. History keeps records for ever, the object's journal
// for a moment; rows of the object's tables have every field, and get new ones by a schema step.

import type { Job } from "./job.ts";
import { groupKeyOf } from "./queue.ts";
import { USUAL } from "./usual-job.ts";

/** The columns of history that a record there does without. */
export interface JobColumns {
  readonly id: string;
  readonly version: number;
  readonly status: string;
  readonly worker: string | null;
  readonly schedule: string | null;
  readonly key_id: string | null;
  readonly ran_provider: string | null;
  readonly ran_model: string | null;
  readonly cost_nano_usd: number | null;
  readonly created_at: number;
  readonly finished_at: number | null;
}

export interface ArchivedRow extends JobColumns {
  readonly record: string;
}

/** What `readArchived` reads, of the table `jobs`. */
export const ARCHIVED_COLUMNS = [
  ...["id", "version", "status", "worker", "schedule", "key_id", "ran_provider", "ran_model", "cost_nano_usd"],
  ...["created_at", "finished_at", "record"],
]
  .map((name) => `jobs.${name}`)
  .join(", ");

const columnsOf = (row: JobColumns) => ({
  id: row.id,
  version: row.version,
  status: row.status as Job["status"],
  assignedWorker: row.worker,
  schedule: row.schedule,
  keyId: row.key_id,
  ranProvider: row.ran_provider,
  ranModel: row.ran_model,
  costNanoUsd: row.cost_nano_usd,
  createdAt: row.created_at,
  finishedAt: row.finished_at,
});

/** Instants are stored together, as milliseconds since the creation. */
const INSTANTS = ["assignedAt", "startedAt", "heartbeatAt", "updatedAt", "runnableAt", "firstTokenAt"] as const;

/** The same in SQL: when the job started. */
export const STARTED_AT = "COALESCE(jobs.created_at + (jobs.record ->> '$.at[1]'), jobs.record ->> '$.startedAt')";

type Instants = (number | null)[];

const LEFT_OUT: ReadonlySet<string> = new Set([
  ...["id", "version", "status", "assignedWorker", "schedule", "keyId", "ranProvider", "ranModel", "costNanoUsd"],
  ...["createdAt", "finishedAt", "groupKey", ...INSTANTS],
]);

/** Usual lists and objects are empty. */
const isUsual = (name: string, value: unknown): boolean => {
  const usual = (USUAL as Record<string, unknown>)[name];
  if (value === usual) return true;
  if (typeof usual !== "object" || usual === null || typeof value !== "object" || value === null) return false;
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
};

/** The record for the journal, as JSON. */
export const journalRecord = (job: Job): string => {
  const told: Record<string, unknown> = {};
  for (const name in job) {
    const value = job[name as keyof Job];
    if (!isUsual(name, value)) told[name] = value;
  }
  return JSON.stringify(told);
};

/** The whole job of a record in the journal, which an earlier release may have written. */
export const currentJob = (record: Partial<Job>): Job => ({ ...USUAL, ...record }) as Job;

/** The record for history, beside the columns. */
export const archivedRecord = (job: Job): string => {
  const told: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(job)) {
    if (!LEFT_OUT.has(name) && !isUsual(name, value)) told[name] = value;
  }
  if (job.groupKey !== groupKeyOf(job)) told.groupKey = job.groupKey;
  told.at = INSTANTS.map((name) => sinceCreation(job, job[name]));
  return JSON.stringify(told);
};

const sinceCreation = ({ createdAt }: Job, at: number | null): number | null => (at === null ? null : at - createdAt);

/** A job of history, as any release stored it. */
export const readArchived = (row: ArchivedRow): Job => {
  const { at, ...told } = JSON.parse(row.record) as Partial<Job> & { readonly at?: Instants };
  const job = { ...USUAL, ...columnsOf(row), ...told } as Job;
  if (at === undefined) return job;
  const instants = INSTANTS.map((name, index) => [name, at[index] == null ? null : row.created_at + (at[index] ?? 0)]);
  return { ...job, groupKey: told.groupKey ?? groupKeyOf(job), ...Object.fromEntries(instants) };
};
