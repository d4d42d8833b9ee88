// The worker's report of itself.

import type { WorkerMessage } from "./session.ts";

export type WorkerIdentity = {
  instance: string;
  provider: string;
  /** Comma-separated. */
  tags: string;
  /** Empty: any. */
  models: readonly string[];
  tier: "economy" | "standard" | "premium" | null;
  concurrency: number;
  version: string;
};

export type Load = { jobs: string[]; freeSlots: number; isDraining: boolean };

/** A worker on its way out offers no slot at all, so that it is chosen for nothing more. */
export function presenceMessage(id: string, identity: WorkerIdentity, load: Load): WorkerMessage {
  const { models, tier, concurrency, ...rest } = identity;
  return {
    type: "presence",
    id,
    ...rest,
    status: load.freeSlots === 0 ? "busy" : load.jobs.length === 0 ? "idle" : "online",
    concurrency: load.isDraining ? 0 : concurrency,
    ...(models.length === 0 ? {} : { models: [...models] }),
    ...(tier === null ? {} : { tier }),
    jobs: load.jobs,
  };
}
