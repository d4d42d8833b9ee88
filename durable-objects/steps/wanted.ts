// When webhooks are next to be told of jobs that wait for capacity. Waiting is no event, so memory keeps the instant
// before which nothing is to be told.

import { isWanted } from "../../domain/webhook.ts";
import type { Turn } from "../turn/turn.ts";

export const nextWantedAt = (turn: Turn): number | null => {
  const { queue, killswitch, notices, webhooks } = turn.memory;
  const isWaiting = queue.count > 0 && killswitch.level === 0;
  const isDue = isWaiting && Number.isFinite(notices.wantedAt) && isWanted(webhooks, "capacity.wanted");
  return isDue ? notices.wantedAt : null;
};

/** Another time to wait, or a webhook that may be the first for it: the next sweep looks at all groups. */
export const lookForWanted = (turn: Turn): void => {
  turn.memory.notices.wantedAt = turn.nowAt;
  turn.due(nextWantedAt(turn));
};
