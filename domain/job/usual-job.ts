// The values that most jobs have in most fields: a new one has them all, and a record does without them.

import { COMMON_FLOW } from "./flows.ts";
import type { Job } from "./job.ts";

/** Of these each job has its own. */
export const OWN_FIELDS = ["id", "version", "status", "groupKey", "createdAt", "updatedAt"] as const;

type Usual = {
  readonly [Name in Exclude<keyof Job, (typeof OWN_FIELDS)[number]>]: null extends Job[Name] ? null : Job[Name];
};

/** A record of an earlier release lacks the fields that came later: such a job never used them, and has these, too. */
export const USUAL = {
  edge: true,
  requestedModel: null,
  tried: [],
  provider: null,
  model: null,
  tags: [],
  api: null,
  excludedProviders: [],
  avoidedWorkers: [],
  batch: null,
  batchPlace: null,
  priority: "normal",
  tier: null,
  orderKey: null,
  assignedWorker: null,
  lastWorker: null,
  workerProvider: null,
  lease: 0,
  settledBy: null,
  attempts: 0,
  rateLimitRetries: 0,
  releases: 0,
  error: null,
  progress: null,
  stream: false,
  firstTokenAt: null,
  frontDoor: null,
  queueUntilAt: null,
  keyId: null,
  createdBy: null,
  usage: null,
  costNanoUsd: null,
  schedule: null,
  metadata: {},
  ranProvider: null,
  ranModel: null,
  traceparent: null,
  files: [],
  resultFiles: [],
  resultFile: null,
  resultBytes: null,
  fairnessKey: null,
  flow: COMMON_FLOW,
  share: null,
  timeoutMs: null,
  maxAttempts: null,
  runAt: null,
  readyAt: null,
  runnableAt: null,
  delayedBy: null,
  assignedAt: null,
  startedAt: null,
  heartbeatAt: null,
  finishedAt: null,
} as const satisfies Usual;
