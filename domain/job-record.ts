// A job's record as an earlier release stored it, read with what it lacks. History keeps records for ever; the object's
// own rows get new fields by a step of the schema.

import type { Job } from "./job.ts";
import type { Json } from "./json.ts";

/** A job as history has it, brought along for a command on one that has left the object. */
export interface Archived {
  readonly job: Job;
  readonly prompt: string;
  readonly input: Json;
  readonly result: Json;
}

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
} as const satisfies Partial<Job>;

export const readJob = (text: string): Job => ({ ...LATER_FIELDS, ...(JSON.parse(text) as Job) });
