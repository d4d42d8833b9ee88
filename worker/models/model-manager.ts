// What a runtime tells of its models, and does with them, in one form for all kinds.

import type { MachineResource } from "../../contract/fleet/machine.ts";
import type { ModelTaskResource } from "../../contract/fleet/model-task.ts";

/** What a runtime says of its models; null is not known. */
export type ModelFacts = Omit<MachineResource, "hardware">;

export type ModelProgress = ModelTaskResource["progress"];

export type ModelWork = Pick<ModelTaskResource, "action" | "model" | "keep_alive">;

export type WorkOptions = {
  signal: AbortSignal;
  /** May be called at any rate. */
  onProgress: (progress: ModelProgress) => void;
  /** Throws for a model that is larger than the machine's owner allows. */
  checkSize: (bytes: number) => void;
};

export type ModelManager = {
  /** Throws if the runtime does not answer. */
  look: (signal: AbortSignal) => Promise<ModelFacts>;
  /** Throws a TaskFailure, or what the call threw; only for actions that `look` says it can do. */
  work: (task: ModelWork, options: WorkOptions) => Promise<void>;
};

/** Why a task failed, for the operator. */
export class TaskFailure extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export const NOTHING_KNOWN: ModelFacts = { loaded: null, on_disk: null, max_loaded: null, can: null };
