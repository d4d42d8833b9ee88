// What the object that calls providers for a tenant asks of it: its reports are a worker's messages.

import type { JobReport } from "../../contract/socket.ts";
import type { Refusal } from "../../domain/words/refusal.ts";
import type { Result } from "../../domain/words/result.ts";
import type { forgetFile } from "../operations/files/files.ts";
import type { announceOutput, finishOutput } from "../operations/fleet/outputs.ts";

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
