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

/** By name, as `toldOf`. */
const inColumns = (job: Job): InColumns => ({
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

type LeftOut = keyof InColumns | (typeof INSTANTS)[number] | "groupKey";
/** A field that is neither left out nor in `USUAL` does not compile. */
true satisfies Exclude<keyof Job, LeftOut | keyof typeof USUAL> extends never ? true : false;

const isEmpty = (value: object): boolean => {
  for (const _ in value) return false;
  return true;
};

/** Undefined for what is usual, which JSON leaves out. Usual lists and objects are empty. */
const unusual = (value: unknown, usual: unknown): unknown => {
  if (value === usual) return undefined;
  const isObject = typeof usual === "object" && usual !== null && typeof value === "object" && value !== null;
  return isObject && isEmpty(value) ? undefined : value;
};

type Told = Exclude<keyof typeof USUAL, LeftOut>;

/** By name: a loop over the names is slower, and each job is told twice or more. */
const toldOf = (job: Job): Record<Told | "groupKey" | "at", unknown> => ({
  edge: unusual(job.edge, USUAL.edge),
  requestedModel: unusual(job.requestedModel, USUAL.requestedModel),
  tried: unusual(job.tried, USUAL.tried),
  api: unusual(job.api, USUAL.api),
  stream: unusual(job.stream, USUAL.stream),
  frontDoor: unusual(job.frontDoor, USUAL.frontDoor),
  queueUntilAt: unusual(job.queueUntilAt, USUAL.queueUntilAt),
  createdBy: unusual(job.createdBy, USUAL.createdBy),
  metadata: unusual(job.metadata, USUAL.metadata),
  avoidedWorkers: unusual(job.avoidedWorkers, USUAL.avoidedWorkers),
  lastWorker: unusual(job.lastWorker, USUAL.lastWorker),
  delayedBy: unusual(job.delayedBy, USUAL.delayedBy),
  traceparent: unusual(job.traceparent, USUAL.traceparent),
  files: unusual(job.files, USUAL.files),
  resultFiles: unusual(job.resultFiles, USUAL.resultFiles),
  resultFile: unusual(job.resultFile, USUAL.resultFile),
  resultBytes: unusual(job.resultBytes, USUAL.resultBytes),
  batch: unusual(job.batch, USUAL.batch),
  batchPlace: unusual(job.batchPlace, USUAL.batchPlace),
  fairnessKey: unusual(job.fairnessKey, USUAL.fairnessKey),
  flow: unusual(job.flow, USUAL.flow),
  // What it was charged is given back or corrected before it ends.
  share: job.finishedAt === null ? unusual(job.share, USUAL.share) : undefined,
  provider: unusual(job.provider, USUAL.provider),
  model: unusual(job.model, USUAL.model),
  priority: unusual(job.priority, USUAL.priority),
  tier: unusual(job.tier, USUAL.tier),
  tags: unusual(job.tags, USUAL.tags),
  orderKey: unusual(job.orderKey, USUAL.orderKey),
  workerProvider: unusual(job.workerProvider, USUAL.workerProvider),
  lease: unusual(job.lease, USUAL.lease),
  settledBy: unusual(job.settledBy, USUAL.settledBy),
  attempts: unusual(job.attempts, USUAL.attempts),
  rateLimitRetries: unusual(job.rateLimitRetries, USUAL.rateLimitRetries),
  releases: unusual(job.releases, USUAL.releases),
  excludedProviders: unusual(job.excludedProviders, USUAL.excludedProviders),
  error: unusual(job.error, USUAL.error),
  progress: unusual(job.progress, USUAL.progress),
  usage: unusual(job.usage, USUAL.usage),
  timeoutMs: unusual(job.timeoutMs, USUAL.timeoutMs),
  maxAttempts: unusual(job.maxAttempts, USUAL.maxAttempts),
  runAt: unusual(job.runAt, USUAL.runAt),
  readyAt: unusual(job.readyAt, USUAL.readyAt),
  groupKey: job.groupKey === groupKeyOf(job) ? undefined : job.groupKey,
  at: INSTANTS.map((name) => sinceCreation(job, job[name])),
});

/** The record for history, beside the columns. Only an open job's request may end with its secret. */
export const archivedRecord = (job: Job): string => {
  if (job.frontDoor?.openedWith === undefined) return JSON.stringify(toldOf(job));
  const { openedWith: _, ...frontDoor } = job.frontDoor;
  return JSON.stringify(toldOf({ ...job, frontDoor }));
};

const sinceCreation = ({ createdAt }: Job, at: number | null): number | null => (at === null ? null : at - createdAt);

/** The record for the journal: history's columns and its record, as one JSON object. */
export const journalRecord = (job: Job): string =>
  `${JSON.stringify(inColumns(job)).slice(0, -1)},${JSON.stringify(toldOf(job)).slice(1)}`;

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
