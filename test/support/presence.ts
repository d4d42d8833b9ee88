// What a worker reports, as tests of operations send it: what a test does not name is as of a worker that takes any job.

import { UNKNOWN_MACHINE } from "../../domain/fleet/machine.ts";
import type { PresenceReport } from "../../domain/fleet/worker.ts";

export const presence = (
  offer: Partial<PresenceReport> & Pick<PresenceReport, "instance">,
): PresenceReport & { readonly viaSocket: boolean } => ({
  provider: "p",
  tagList: (offer.tags ?? []).join(","),
  tags: [],
  models: null,
  tier: null,
  version: null,
  concurrency: 1,
  unavailable: null,
  apis: [],
  runtimeModels: null,
  machine: UNKNOWN_MACHINE,
  jobs: null,
  viaSocket: false,
  ...offer,
});
