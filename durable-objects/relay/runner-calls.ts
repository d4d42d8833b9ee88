// What a tenant asks of the object that calls providers for it. The runner (`src/runner/`) is a worker to the tenant: what
// it gets are a worker's messages.

import type { CoordinatorMessage } from "../../contract/socket.ts";
import type { Jurisdiction } from "../object-name.ts";
import type { EdgeState } from "../operations/fleet/edge-workers.ts";
import type { Relay } from "./relay.ts";

/** Messages as on a worker's socket: jobs to run, and jobs to drop. */
export interface ToRunner {
  readonly messages: readonly CoordinatorMessage[];
  readonly jurisdiction: Jurisdiction | null;
}

export interface RunnerCalls extends Pick<Relay, "cut" | "end" | "endKey" | "endOthers" | "dropBody" | "said"> {
  hear(told: ToRunner): Promise<void>;
  /** Whether its provider can be called. Keys that it has read are read again. */
  state(jurisdiction: Jurisdiction | null): Promise<EdgeState>;
}
