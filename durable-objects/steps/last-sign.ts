// When a worker last showed that it is alive, over any of its connections.

import type { Member } from "../../domain/fleet/fleet.ts";
import { isOffline, statusOf, type WorkerView } from "../../domain/fleet/worker.ts";
import type { Turn } from "../turn/turn.ts";

/**
 * The last sign of life of a worker: a message, a ping on an open socket, or a claim that is waiting now. The
 * coordinator itself is always alive.
 */
export const lastSignOf = (turn: Turn, member: Member): number =>
  member.isClaiming || member.worker.isEdge
    ? turn.nowAt
    : Math.max(member.lastSeenAt, turn.lastSocketSign(member.worker.instance) ?? Number.NEGATIVE_INFINITY);

/** Asks the platform only for pings of workers that have sent no message recently. */
export const isSilent = (turn: Turn, member: Member): boolean => {
  const { offlineAfterMs } = turn.memory.config.presence;
  return (
    isOffline(member.lastSeenAt, offlineAfterMs, turn.nowAt) &&
    isOffline(lastSignOf(turn, member), offlineAfterMs, turn.nowAt)
  );
};

/** Its status now, with the sign of life that it follows from. */
export const presenceOf = (turn: Turn, member: Member): Pick<WorkerView, "status" | "lastSeenAt"> => {
  const { worker, load } = member;
  const lastSeenAt = lastSignOf(turn, member);
  return {
    lastSeenAt,
    status: statusOf(worker, load, lastSeenAt, turn.memory.config.presence.offlineAfterMs, turn.nowAt),
  };
};
