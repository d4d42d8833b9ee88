// The fleet summed up by provider. The coordinator sums all workers; the dashboard sums the few it knows, because it
// also notices workers that fall silent while the coordinator sleeps. Free of zod.

import { standingOf } from "../domain/fleet/standing.ts";
import type { ProviderFleet } from "./live.ts";
import type { WorkerStatus } from "./words/values.ts";

export interface CountedWorker {
  readonly provider: string;
  readonly status: WorkerStatus;
  readonly paused: boolean;
  readonly unavailable: string | null;
  readonly concurrency: number;
  readonly current_load: number;
}

const nobodyOf = (provider: string): ProviderFleet => ({
  provider,
  workers: 0,
  offline: 0,
  paused: 0,
  unavailable: 0,
  places: 0,
  load: 0,
});

/** Totals by provider name. A worker counts once: by why it takes no jobs, else with its places. */
export const fleetByProvider = (workers: Iterable<CountedWorker>): ProviderFleet[] => {
  const fleets = new Map<string, ProviderFleet>();
  for (const worker of workers) {
    const { provider, concurrency, current_load: load } = worker;
    const fleet = fleets.get(provider) ?? nobodyOf(provider);
    fleets.set(provider, fleet);
    fleet.workers += 1;
    const standing = standingOf(worker);
    if (standing !== null) fleet[standing] += 1;
    else {
      fleet.places += concurrency;
      fleet.load += Math.min(load, concurrency);
    }
  }
  return [...fleets.values()].sort((one, other) => (one.provider < other.provider ? -1 : 1));
};
