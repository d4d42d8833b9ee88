// What a tenant and the object that calls providers for it say to each other. The runner (`src/runner/`) is a worker to
// the tenant: what it reports are a worker's messages.

import type { CoordinatorMessage, JobReport } from "../../contract/socket.ts";
import type { Refusal } from "../../domain/words/refusal.ts";
import type { Result } from "../../domain/words/result.ts";
import type { Jurisdiction } from "../object-name.ts";
import type { forgetFile } from "../operations/files/files.ts";
import type { EdgeState } from "../operations/fleet/edge-workers.ts";
import type { announceOutput, finishOutput } from "../operations/fleet/outputs.ts";
import type { Relay } from "./relay.ts";

/** Messages as on a worker's socket: jobs to run, and jobs to drop. */
export interface ToRunner {
  readonly messages: readonly CoordinatorMessage[];
  readonly jurisdiction: Jurisdiction | null;
}

export interface RunnerCalls extends Pick<Relay, "cut" | "end" | "endKey" | "dropBody" | "said"> {
  hear(told: ToRunner): Promise<void>;
  /** Whether a provider can be called. Keys that it has read are read again. */
  state(provider: string, jurisdiction: Jurisdiction | null): Promise<EdgeState>;
}

/** As the operations of a worker's request. */
export type ResultStep =
  | { readonly do: "announce"; readonly asked: Parameters<typeof announceOutput>[1] }
  | { readonly do: "finish"; readonly asked: Parameters<typeof finishOutput>[1] }
  | { readonly do: "forget"; readonly asked: Parameters<typeof forgetFile>[1] };

export interface RunnerOwner {
  /**
   * Whether the report was taken; if not, the job is no longer this runner's. `refusal`: why the provider takes no
   * further call, in its own words.
   */
  hearRunner(instance: string, report: JobReport, refusal: string | null): Promise<boolean>;
  /** A step in storing a result that its report does not carry. */
  keepRunnerResult(step: ResultStep): Promise<Result<unknown, Refusal>>;
  /** The tenant's own key of a provider, sealed; null if it has none. */
  sealedKey(provider: string): Promise<string | null>;
}
