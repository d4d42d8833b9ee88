// A worker's record as an earlier release stored it, read with what it lacks.

import type { Worker } from "./worker.ts";

/** Fields that every record has. A field that is added to a worker later goes to `LATER_FIELDS`, or does not compile. */
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

/** Fields that came after the first release, as a worker has them that never used them. */
const LATER_FIELDS = {
  unavailable: null,
  apis: [],
  runtimeModels: null,
  resumedEpoch: 0,
  rests: 0,
} as const satisfies Pick<Worker, Exclude<keyof Worker, FirstField>>;

export const readWorker = (text: string): Worker => ({ ...LATER_FIELDS, ...(JSON.parse(text) as Worker) });
