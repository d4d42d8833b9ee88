// A job's record, with missing fields filled in: those that an earlier release did not store, those that have the value
// of most jobs, and in history those with a column of their own. History keeps records for ever, the object's journal
// for a moment; rows of the object's tables have every field, and get new ones by a schema step.

import type { Job } from "./job.ts";
import { groupKeyOf } from "./queue.ts";
import { OWN_FIELDS, USUAL } from "./usual-job.ts";

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

interface ToldField {
  readonly name: keyof Job;
  /** A record does without it; undefined where there is none. */
  readonly usual: unknown;
  /** It is an empty list or object. Elsewhere an empty one, such as a progress of `{}`, says something. */
  readonly isUsuallyEmpty: boolean;
}

const toldField = ([name, usual]: readonly [string, unknown]): ToldField => ({
  name: name as keyof Job,
  usual,
  isUsuallyEmpty: typeof usual === "object" && usual !== null,
});

const but = (fields: readonly ToldField[], names: readonly (keyof Job)[]): readonly ToldField[] =>
  fields.filter(({ name }) => !names.includes(name));

/** Each job is told twice or more: a list of the fields is quicker than the job's own names. */
const FIELDS = [...OWN_FIELDS.map((name) => [name, undefined] as const), ...Object.entries(USUAL)].map(toldField);
const IN_JOURNAL = but(FIELDS, [...INSTANTS, "groupKey"]);
const BESIDE_COLUMNS = but(IN_JOURNAL, Object.values(FIELD_OF_COLUMN));

const isEmpty = (value: object): boolean => {
  for (const _ in value) return false;
  return true;
};

/** What is not as usual. */
const toldOf = (job: Job, fields: readonly ToldField[]): object => {
  const record: Partial<Record<keyof Job | "at", unknown>> = {};
  for (const { name, usual, isUsuallyEmpty } of fields) {
    const value = job[name];
    if (value !== usual && !(isUsuallyEmpty && isEmpty(value as object))) record[name] = value;
  }
  // What it was charged is given back or corrected before it ends.
  if (job.finishedAt !== null) record.share = undefined;
  if (job.groupKey !== groupKeyOf(job)) record.groupKey = job.groupKey;
  record.at = INSTANTS.map((instant) => sinceCreation(job, job[instant]));
  return record;
};

const sinceCreation = ({ createdAt }: Job, at: number | null): number | null => (at === null ? null : at - createdAt);

/** The record for history, beside the columns. Only an open job's request may end with its secret. */
export const archivedRecord = (job: Job): string => {
  if (job.frontDoor?.openedWith === undefined) return JSON.stringify(toldOf(job, BESIDE_COLUMNS));
  const { openedWith: _, ...frontDoor } = job.frontDoor;
  return JSON.stringify(toldOf({ ...job, frontDoor }, BESIDE_COLUMNS));
};

/** The record for the journal, which has no columns. */
export const journalRecord = (job: Job): string => JSON.stringify(toldOf(job, IN_JOURNAL));

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
