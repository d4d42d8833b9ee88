// A worker's record as an earlier release stored it, with missing fields filled in. Its models are stored beside it.

import { type MachineReport, machineOf, UNKNOWN_MACHINE } from "./machine.ts";
import { modelSetOf } from "./model-set.ts";
import type { OfferedModels, Worker } from "./worker.ts";

/** Fields that every record has. A new field goes into `LATER_FIELDS`, or does not compile. */
type FirstField =
  | "instance"
  | "provider"
  | "tagList"
  | "tags"
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

/** What is stored beside the record. */
interface BesideRecord extends OfferedModels {
  readonly machine: MachineReport | null;
}

/** Fields added after the first release, with the values of a worker that never used them. */
const LATER_FIELDS = {
  isEdge: false,
  /** Of an older release's workers it is not known. */
  hasHadLine: true,
  unavailable: null,
  busy: null,
  opening: null,
  apis: [],
  resumedEpoch: 0,
  rests: 0,
  missingModels: [],
  trial: null,
  provedAt: null,
  lastCompletedAt: null,
} as const satisfies Pick<Worker, Exclude<keyof Worker, FirstField | keyof BesideRecord>>;

type WorkerRecord = Omit<Worker, keyof BesideRecord>;

export const readWorker = (text: string, { models, runtimeModels, machine }: BesideRecord): Worker => ({
  ...LATER_FIELDS,
  ...(JSON.parse(text) as WorkerRecord),
  models: models === null ? null : modelSetOf(models),
  runtimeModels: runtimeModels === null ? null : modelSetOf(runtimeModels),
  machine: machineOf(machine ?? UNKNOWN_MACHINE),
});

export const writeWorker = ({ models: _, runtimeModels: __, machine: ___, ...record }: Worker): string =>
  JSON.stringify(record satisfies WorkerRecord);
