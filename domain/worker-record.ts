// A worker's record as an earlier release stored it, with missing fields filled in.

import type { Worker } from "./worker.ts";

/** Fields that every record has. A new field goes into `LATER_FIELDS`, or does not compile. */
type FirstField =
  | "instance"
  | "provider"
  | "tagList"
  | "tags"
  | "models"
  | "tier"
  | "version"
  | "concurrency"
  | "viaSocket"
  | "keyId"
  | "registeredAt"
  | "lastHeartbeatAt"
  | "pause"
  | "isHalted"
  | "confirmedHalt"
  | "outcomes"
  | "expiredLeases";

/** Fields added after the first release, with the values of a worker that never used them. */
const LATER_FIELDS = {
  unavailable: null,
  apis: [],
  runtimeModels: null,
  resumedEpoch: 0,
  rests: 0,
  missingModels: [],
  trial: null,
  provedAt: null,
  lastCompletedAt: null,
} as const satisfies Pick<Worker, Exclude<keyof Worker, FirstField>>;

export const readWorker = (text: string): Worker => ({ ...LATER_FIELDS, ...(JSON.parse(text) as Worker) });
