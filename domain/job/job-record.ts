// A job's record as an earlier release stored it, with missing fields filled in. History keeps records for ever, the
// object's journal for a moment; rows of the object's tables get new fields by a schema step.

import { COMMON_FLOW } from "./flows.ts";
import type { Job } from "./job.ts";

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

/** A record as any release stored it. */
export const currentJob = (record: Job): Job => ({ ...LATER_FIELDS, ...record });

export const readJob = (text: string): Job => currentJob(JSON.parse(text) as Job);
