// The built-in echo stands in for a real worker: while any other is alive, it answers only jobs that ask for it. Echo
// is free again when the last other one falls silent.

import { ECHO } from "../../domain/fleet/worker.ts";
import { isSilent } from "../steps/last-sign.ts";
import type { Turn } from "../turn/turn.ts";

export const isEchoAside = (turn: Turn): boolean => {
  const { fleet, config } = turn.memory;
  if (fleet.offers.ofProvider(ECHO) === undefined) return false;
  const others = fleet.offers.othersThan(ECHO);
  const maybeSilent = fleet.maybeSilent(turn.nowAt - config.presence.offlineAfterMs);
  // Most often one of them reported lately, and no worker needs a closer look.
  if (others.copy().subtract(maybeSilent).first() >= 0) return true;
  for (const slot of others.members()) if (!isSilent(turn, fleet.at(slot))) return true;
  return false;
};

/** Whether silence may free echo, or has: it is no event, so only a look finds it. */
export const mayEchoBeFreed = ({ memory: { fleet } }: Turn): boolean =>
  (fleet.offers.ofProvider(ECHO)?.first() ?? -1) >= 0 && fleet.offers.othersThan(ECHO).first() >= 0;

/** Offers the waiting jobs to echo, if it is alone now. */
export const freeEcho = (turn: Turn): void => {
  const echoes = turn.memory.fleet.offers.ofProvider(ECHO);
  if (echoes === undefined || isEchoAside(turn)) return;
  for (const slot of echoes.members()) turn.freedWorkers.add(turn.memory.fleet.at(slot).worker.instance);
};
