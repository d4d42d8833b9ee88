// A job's record, with missing fields filled in: those that an earlier release did not store, those that have the value
// of most jobs, and in history those with a column of their own. History keeps records for ever, the object's journal
// for a moment; rows of the object's tables have every field, and get new ones by a schema step.

import { COMMON_FLOW } from "./flows.ts";
import type { Job } from "./job.ts";
import { groupKeyOf } from "./queue.ts";

/** Fields that every record has. A new field goes into `LATER_FIELDS`, or does not compile. */
type FirstField =
  | "id"
  | "version"
  | "status"
  | "priority"
  | "tier"
  | "groupKey"
  | "orderKey"
  | "assignedWorker"
  | "workerProvider"
  | "lease"
  | "settledBy"
  | "attempts"
  | "rateLimitRetries"
  | "releases"
  | "error"
  | "progress"
  | "usage"
  | "costNanoUsd"
  | "schedule"
  | "timeoutMs"
  | "maxAttempts"
  | "runAt"
  | "readyAt"
  | "createdAt"
  | "assignedAt"
  | "startedAt"
  | "heartbeatAt"
  | "finishedAt"
  | "updatedAt"
  | "provider"
  | "model"
  | "tags"
  | "excludedProviders";

/** Fields added after the first release, with the values of a job that never used them. */
const LATER_FIELDS = {
  edge: true,
  requestedModel: null,
  tried: [],
  api: null,
  stream: false,
  firstTokenAt: null,
  frontDoor: null,
  queueUntilAt: null,
  keyId: null,
  createdBy: null,
  metadata: {},
  avoidedWorkers: [],
  delayedBy: null,
  ranProvider: null,
  ranModel: null,
  traceparent: null,
  files: [],
  resultFiles: [],
  resultFile: null,
  resultBytes: null,
  batch: null,
  batchPlace: null,
  runnableAt: null,
  fairnessKey: null,
  flow: COMMON_FLOW,
  share: null,
} as const satisfies Pick<Job, Exclude<keyof Job, FirstField>>;

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

/** Fields that are left out where they have these values. */
const USUAL = {
  ...LATER_FIELDS,
  provider: null,
  model: null,
  priority: "normal",
  tier: null,
  tags: [],
  orderKey: null,
  workerProvider: null,
  lease: 0,
  settledBy: null,
  attempts: 0,
  rateLimitRetries: 0,
  releases: 0,
  excludedProviders: [],
  error: null,
  progress: null,
  usage: null,
  timeoutMs: null,
  maxAttempts: null,
  runAt: null,
  readyAt: null,
  assignedAt: null,
  startedAt: null,
  heartbeatAt: null,
} as const satisfies Partial<Job>;

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
