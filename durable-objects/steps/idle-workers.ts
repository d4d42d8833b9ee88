// Tells webhooks of workers that have been without work for long enough, each time once.

import { SECOND_MS } from "../../domain/words/duration.ts";
import { forgetIdle, isIdleWanted, noteIdle } from "../turn/idleness.ts";
import type { Turn } from "../turn/turn.ts";
import { isSilent } from "./last-sign.ts";

export const announceIdle = (turn: Turn): void => {
  const { notices, config, fleet } = turn.memory;
  for (const [instance, { sinceAt, isTold }] of [...notices.idle]) {
    if (isTold || sinceAt + config.capacity.idleMs > turn.nowAt) continue;
    const member = fleet.get(instance);
    if (member === undefined || isSilent(turn, member)) {
      forgetIdle(turn, instance);
      continue;
    }
    const told = { sinceAt, isTold: true };
    notices.idle.set(instance, told);
    turn.store.idleWorkers.put(instance, told);
    const data = { worker: instance, idle_seconds: Math.floor((turn.nowAt - sinceAt) / SECOND_MS) };
    turn.announce("capacity.idle", data);
  }
};

/** A webhook may be the first that asks: from now on workers without work are counted. Without one nobody is. */
export const countIdle = (turn: Turn, wasWanted: boolean): void => {
  if (isIdleWanted(turn) === wasWanted) return;
  for (const { worker } of turn.memory.fleet.members()) {
    if (wasWanted) forgetIdle(turn, worker.instance);
    else noteIdle(turn, worker.instance);
  }
};
