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

/** As history or the journal has it, of any release: without `at` its instants are fields. */
type ToldJob = Partial<Job> & { readonly at?: Instants };

/** What history has in columns. */
const columnsOfJob = (job: Job) => ({
  id: job.id,
  version: job.version,
  status: job.status,
  assignedWorker: job.assignedWorker,
  schedule: job.schedule,
  keyId: job.keyId,
  ranProvider: job.ranProvider,
  ranModel: job.ranModel,
  costNanoUsd: job.costNanoUsd,
  createdAt: job.createdAt,
  finishedAt: job.finishedAt,
});

type LeftOut = keyof ReturnType<typeof columnsOfJob> | (typeof INSTANTS)[number] | "groupKey";
/** A field that is neither left out nor in `USUAL` does not compile. */
true satisfies Exclude<keyof Job, LeftOut | keyof typeof USUAL> extends never ? true : false;

const COLUMN_NAMES = Object.keys(columnsOfJob(USUAL as Partial<Job> as Job));
const LEFT_OUT: ReadonlySet<string> = new Set([...COLUMN_NAMES, ...INSTANTS, "groupKey" satisfies LeftOut]);
const TOLD = Object.entries(USUAL).filter(([name]) => !LEFT_OUT.has(name)) as [keyof Job, unknown][];

const isEmpty = (value: object): boolean => {
  for (const _ in value) return false;
  return true;
};

/** Usual lists and objects are empty. */
const isUsual = (value: unknown, usual: unknown): boolean =>
  value === usual ||
  (typeof usual === "object" && usual !== null && typeof value === "object" && value !== null && isEmpty(value));

/** The record for history, beside the columns. */
export const archivedRecord = (job: Job): string => {
  const told: Record<string, unknown> = {};
  for (const [name, usual] of TOLD) {
    const value = job[name];
    if (!isUsual(value, usual)) told[name] = value;
  }
  if (job.groupKey !== groupKeyOf(job)) told.groupKey = job.groupKey;
  told.at = INSTANTS.map((name) => sinceCreation(job, job[name]));
  return JSON.stringify(told);
};

const sinceCreation = ({ createdAt }: Job, at: number | null): number | null => (at === null ? null : at - createdAt);

/** The record for the journal: history's columns and its record, as one JSON object. */
export const journalRecord = (job: Job, record: string): string =>
  `${JSON.stringify(columnsOfJob(job)).slice(0, -1)},${record.slice(1)}`;

/** The whole job of a record in the journal, which an earlier release may have written. */
export const currentJob = ({ at, ...told }: ToldJob): Job => {
  const job = { ...USUAL, ...told } as Job;
  if (at === undefined) return job;
  const instants = INSTANTS.map((name, index) => [name, at[index] == null ? null : job.createdAt + (at[index] ?? 0)]);
  return { ...job, groupKey: told.groupKey ?? groupKeyOf(job), ...Object.fromEntries(instants) };
};

/** A job of history, as any release stored it. */
export const readArchived = (row: ArchivedRow): Job =>
  currentJob({ ...columnsOf(row), ...(JSON.parse(row.record) as ToldJob) });
