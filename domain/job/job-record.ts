// A job's record, with missing fields filled in: those that an earlier release did not store, those that have the value
// of most jobs, and in history those with a column of their own. History keeps records for ever, the object's journal
// for a moment; rows of the object's tables have every field, and get new ones by a schema step.

import type { Job } from "./job.ts";
import { groupKeyOf } from "./queue.ts";
import { USUAL } from "./usual-job.ts";

/** The columns of history that a record there does without, and the field of the job that each has. */
const FIELD_OF_COLUMN = {
  id: "id",
  version: "version",
  status: "status",
  worker: "assignedWorker",
  schedule: "schedule",
  key_id: "keyId",
  ran_provider: "ranProvider",
  ran_model: "ranModel",
  cost_nano_usd: "costNanoUsd",
  created_at: "createdAt",
  finished_at: "finishedAt",
} as const satisfies Record<string, keyof Job>;

type FieldOfColumn = typeof FIELD_OF_COLUMN;
type InColumns = Pick<Job, FieldOfColumn[keyof FieldOfColumn]>;
type JobColumns = { readonly [Column in keyof FieldOfColumn]: Job[FieldOfColumn[Column]] };

export interface ArchivedRow extends JobColumns {
  readonly record: string;
}

const COLUMNS = Object.keys(FIELD_OF_COLUMN) as (keyof FieldOfColumn)[];

/** What `readArchived` reads, of the table `jobs`. */
export const ARCHIVED_COLUMNS = [...COLUMNS, "record"].map((name) => `jobs.${name}`).join(", ");

const columnsOf = (row: JobColumns): InColumns =>
  Object.fromEntries(COLUMNS.map((column) => [FIELD_OF_COLUMN[column], row[column]])) as unknown as InColumns;

/** Instants are stored together, as milliseconds since the creation. */
const INSTANTS = ["assignedAt", "startedAt", "heartbeatAt", "updatedAt", "runnableAt", "firstTokenAt"] as const;

/** The same in SQL: when the job started. */
export const STARTED_AT = "COALESCE(jobs.created_at + (jobs.record ->> '$.at[1]'), jobs.record ->> '$.startedAt')";

type Instants = (number | null)[];

/** As history or the journal has it, of any release: without `at` its instants are fields. */
type ToldJob = Partial<Job> & { readonly at?: Instants };

const USUAL_VALUES: Partial<Job> = USUAL;

const isEmpty = (value: object): boolean => {
  for (const _ in value) return false;
  return true;
};

/** The usual lists and objects are empty. Elsewhere an empty one, such as a progress of `{}`, says something. */
const isUsuallyEmpty = (usual: unknown): boolean => typeof usual === "object" && usual !== null;

/** Told apart from the other fields. */
const APART = [...INSTANTS, "groupKey"] as const;
const BESIDE_COLUMNS: ReadonlySet<keyof Job> = new Set([...APART, ...Object.values(FIELD_OF_COLUMN)]);
const WHOLE: ReadonlySet<keyof Job> = new Set(APART);

type Told = Partial<Record<keyof Job | "at", unknown>>;

/** What is not as usual. Each job is told twice or more: to go through its own fields is as fast as to name them. */
const toldOf = (job: Job, leftOut: ReadonlySet<keyof Job>): Told => {
  const told: Told = {};
  let name: keyof Job;
  for (name in job) {
    const value = job[name];
    // Most are null.
    if (value === null || leftOut.has(name)) continue;
    const usual = USUAL_VALUES[name];
    if (value === usual || (isUsuallyEmpty(usual) && isEmpty(value as object))) continue;
    told[name] = value;
  }
  // What it was charged is given back or corrected before it ends.
  if (job.finishedAt !== null) told.share = undefined;
  if (job.groupKey !== groupKeyOf(job)) told.groupKey = job.groupKey;
  told.at = INSTANTS.map((instant) => sinceCreation(job, job[instant]));
  return told;
};

const sinceCreation = ({ createdAt }: Job, at: number | null): number | null => (at === null ? null : at - createdAt);

/** The record for history, beside the columns. Only an open job's request may end with its secret. */
export const archivedRecord = (job: Job): string => {
  if (job.frontDoor?.openedWith === undefined) return JSON.stringify(toldOf(job, BESIDE_COLUMNS));
  const { openedWith: _, ...frontDoor } = job.frontDoor;
  return JSON.stringify(toldOf({ ...job, frontDoor }, BESIDE_COLUMNS));
};

/** The record for the journal, which has no columns. */
export const journalRecord = (job: Job): string => JSON.stringify(toldOf(job, WHOLE));

/** The fields that a later version of a job has otherwise, with its id, as JSON. */
export const changedRecord = (before: Job, job: Job): string => {
  const changed: Record<string, unknown> = { id: job.id };
  let name: keyof Job;
  for (name in job) if (job[name] !== before[name]) changed[name] = job[name] ?? null;
  return JSON.stringify(changed);
};

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
