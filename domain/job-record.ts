// A job's record as an earlier release stored it, read with what it lacks. History keeps records for ever, and the
// object's journal some; rows of its tables get new fields by a step of the schema.

import type { Job } from "./job.ts";
import type { Json } from "./json.ts";

/** A job as history has it, brought along for a command on one that has left the object. */
export interface Archived {
  readonly job: Job;
  readonly prompt: string;
  readonly input: Json;
  readonly result: Json;
}

/** It comes with the instant at which the object said that it has no such job: a later one may have overtaken it. */
export interface Brought extends Archived {
  readonly absentAt: number;
}

/** So often is history asked for a job that the object does not have; each look is soon enough but for a stall. */
export const MAX_HISTORY_LOOKS = 3;

/** Fields that every record has. A field that is added to a job later goes to `LATER_FIELDS`, or does not compile. */
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

/** Fields that came after the first release, as a job has them that never used them. */
const LATER_FIELDS = {
  api: null,
  stream: false,
  firstTokenAt: null,
  frontDoor: null,
  queueUntilAt: null,
  keyId: null,
  metadata: {},
  avoidedWorkers: [],
  delayedBy: null,
  ranProvider: null,
  ranModel: null,
  traceparent: null,
} as const satisfies Pick<Job, Exclude<keyof Job, FirstField>>;

/** A record as any release stored it. */
export const currentJob = (record: Job): Job => ({ ...LATER_FIELDS, ...record });

export const readJob = (text: string): Job => currentJob(JSON.parse(text) as Job);
