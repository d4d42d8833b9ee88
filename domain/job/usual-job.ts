// The values that most jobs have in most fields: a new one has them all, and a record does without them.

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
  lastWorker: null,
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

/** With these values a new job begins, and a record leaves the fields out. */
export const USUAL = {
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
