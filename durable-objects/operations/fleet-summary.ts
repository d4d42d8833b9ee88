// The fleet in sums, by provider: what a screen shows of ten thousand workers.

import type { ProviderFleet } from "../../contract/live.ts";
import type { Turn } from "./turn.ts";
import { viewOf } from "./workers.ts";

const nobodyOf = (provider: string): ProviderFleet => ({
  provider,
  workers: 0,
  offline: 0,
  paused: 0,
  unavailable: 0,
  places: 0,
  load: 0,
});

/** By the provider's name. A worker counts once: as offline, else paused, else unavailable, else with its places. */
export const fleetByProvider = (turn: Turn): ProviderFleet[] => {
  const fleets = new Map<string, ProviderFleet>();
  for (const member of turn.memory.fleet.members()) {
    const { provider, concurrency, unavailable } = member.worker;
    const fleet = fleets.get(provider) ?? nobodyOf(provider);
    fleets.set(provider, fleet);
    const { status, pauseReason, load } = viewOf(turn, member);
    fleet.workers += 1;
    if (status === "offline") fleet.offline += 1;
    else if (pauseReason !== null) fleet.paused += 1;
    else if (unavailable !== null) fleet.unavailable += 1;
    else {
      fleet.places += concurrency;
      fleet.load += Math.min(load, concurrency);
    }
  }
  return [...fleets.values()].sort((one, other) => (one.provider < other.provider ? -1 : 1));
};
