// Since when workers are without work, for the webhooks that ask for it. What nobody asks for is not written.

import { isWanted } from "../../domain/webhook.ts";
import type { Turn } from "./turn.ts";

export const isIdleWanted = ({ memory }: Pick<Turn, "memory">): boolean => isWanted(memory.webhooks, "capacity.idle");

/** When the next worker has been idle for long enough; null if nobody is to be told. */
export const nextIdleAt = (turn: Pick<Turn, "memory">): number | null => {
  const { idleWorkers, config } = turn.memory;
  if (idleWorkers.size === 0 || !isIdleWanted(turn)) return null;
  let sinceAt = Number.POSITIVE_INFINITY;
  for (const one of idleWorkers.values()) if (!one.isTold) sinceAt = Math.min(sinceAt, one.sinceAt);
  return Number.isFinite(sinceAt) ? sinceAt + config.capacity.idleMs : null;
};

/** Its last job has left it, or it has come (back) without one. */
export const noteIdle = (turn: Turn, instance: string): void => {
  const { idleWorkers, fleet, config } = turn.memory;
  const member = fleet.get(instance);
  if (member === undefined || member.worker.isEdge || member.load > 0 || !isIdleWanted(turn)) return;
  const idleness = { sinceAt: turn.nowAt, isTold: false };
  idleWorkers.set(instance, idleness);
  turn.store.idleWorkers.put(instance, idleness);
  turn.due(turn.nowAt + config.capacity.idleMs);
};

/** It has work, or is no longer there. */
export const forgetIdle = (turn: Turn, instance: string): void => {
  if (!turn.memory.idleWorkers.delete(instance)) return;
  turn.store.idleWorkers.remove(instance);
};
