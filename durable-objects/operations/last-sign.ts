// When a worker last showed that it lives, over whichever way it speaks.

import type { Member } from "../../domain/fleet.ts";
import { isOffline } from "../../domain/worker.ts";
import type { Turn } from "./turn.ts";

/** The last sign of life of a worker: what it said, its pings on an open socket, or a claim of it that waits now. */
export const lastSignOf = (turn: Turn, member: Member): number =>
  member.isClaiming
    ? turn.nowAt
    : Math.max(member.lastSeenAt, turn.lastSocketSign(member.worker.instance) ?? Number.NEGATIVE_INFINITY);

/** Asks the platform for the pings of those alone who have not said anything of late. */
export const isSilent = (turn: Turn, member: Member): boolean => {
  const { offlineAfterMs } = turn.memory.config.presence;
  return (
    isOffline(member.lastSeenAt, offlineAfterMs, turn.nowAt) &&
    isOffline(lastSignOf(turn, member), offlineAfterMs, turn.nowAt)
  );
};
