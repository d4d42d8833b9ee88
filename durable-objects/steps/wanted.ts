// When webhooks are next to be told of jobs that wait for capacity. Waiting is no event, so memory keeps the instant
// before which nothing is to be told.

import { isWanted } from "../../domain/webhook.ts";
import type { Turn } from "../turn/turn.ts";

export const nextWantedAt = (turn: Turn): number | null => {
  const { queue, killswitch, wantedAt, webhooks } = turn.memory;
  const isWaiting = queue.count > 0 && killswitch.level === 0;
  return isWaiting && Number.isFinite(wantedAt) && isWanted(webhooks, "capacity.wanted") ? wantedAt : null;
};

/** Another time to wait, or a webhook that may be the first for it: the next sweep looks at all groups. */
export const lookForWanted = (turn: Turn): void => {
  turn.memory.wantedAt = turn.nowAt;
  turn.due(nextWantedAt(turn));
};
