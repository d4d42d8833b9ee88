// What waits for which model, for the rules of swapping. Grouped again only when a job came or went.

import type { Group } from "../../domain/job/queue.ts";
import { enqueuedAt } from "../../domain/job/queue-place.ts";
import type { SwapRules, WaitingGroup, WaitingModel } from "../../domain/routing/swapping.ts";
import { modelKeyOf } from "../../domain/words/model-key.ts";
import { headJobOf, oldestJobOf } from "../steps/group-jobs.ts";
import type { Turn } from "../turn/turn.ts";

export const swapRules = (turn: Turn): SwapRules | undefined => {
  const { config, queue } = turn.memory;
  const waitMs = config.routing.swapWaitMs;
  if (waitMs === null) return undefined;
  let known: { readonly version: number; readonly waiting: ReadonlyMap<string, WaitingModel> } | null = null;
  const waiting = () => {
    if (known?.version !== queue.version) known = { version: queue.version, waiting: waitingByModel(turn) };
    return known.waiting;
  };
  return { waitMs, waiting };
};

const waitingByModel = (turn: Turn): Map<string, WaitingModel> => {
  const waiting = new Map<string, { readonly model: string; readonly groups: WaitingGroup[] }>();
  for (const group of turn.memory.queue.groups.values()) {
    const { model, batch } = group.requirements;
    if (model === null || batch !== null || group.count <= 0) continue;
    const key = modelKeyOf(model);
    const known = waiting.get(key) ?? { model, groups: [] };
    known.groups.push(waitingGroup(turn, group));
    waiting.set(key, known);
  }
  return waiting;
};

const waitingGroup = (turn: Turn, group: Group): WaitingGroup => ({
  requirements: group.requirements,
  count: group.count,
  oldestAt: () => {
    const oldest = oldestJobOf(turn, group);
    return oldest === null ? turn.nowAt : enqueuedAt(oldest);
  },
  priority: () => headJobOf(turn, group)?.priority ?? "low",
});
