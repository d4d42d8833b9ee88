// Since when workers are without work, for the webhooks that ask for it. What nobody asks for is not written.

import { isWanted } from "../../domain/webhook.ts";
import type { Store } from "../store/open.ts";
import type { Memory } from "./memory/memory.ts";

/** What it reads and writes of a turn. */
interface IdleTurn {
  readonly memory: Memory;
  readonly store: Pick<Store, "idleWorkers">;
  readonly nowAt: number;
  due(at: number): void;
}

export const isIdleWanted = ({ memory }: Pick<IdleTurn, "memory">): boolean =>
  isWanted(memory.webhooks, "capacity.idle");

/** When the next worker has been idle for long enough; null if nobody is to be told. */
export const nextIdleAt = (turn: Pick<IdleTurn, "memory">): number | null => {
  const { notices, config } = turn.memory;
  if (notices.idle.size === 0 || !isIdleWanted(turn)) return null;
  let sinceAt = Number.POSITIVE_INFINITY;
  for (const one of notices.idle.values()) if (!one.isTold) sinceAt = Math.min(sinceAt, one.sinceAt);
  return Number.isFinite(sinceAt) ? sinceAt + config.capacity.idleMs : null;
};

/** Its last job has left it, or it has come (back) without one. */
export const noteIdle = (turn: IdleTurn, instance: string): void => {
  const { notices, fleet, config } = turn.memory;
  const member = fleet.get(instance);
  if (member === undefined || member.worker.isEdge || member.load > 0 || !isIdleWanted(turn)) return;
  const idleness = { sinceAt: turn.nowAt, isTold: false };
  notices.idle.set(instance, idleness);
  turn.store.idleWorkers.put(instance, idleness);
  turn.due(turn.nowAt + config.capacity.idleMs);
};

/** It has work, or is no longer there. */
export const forgetIdle = (turn: IdleTurn, instance: string): void => {
  if (!turn.memory.notices.idle.delete(instance)) return;
  turn.store.idleWorkers.remove(instance);
};
