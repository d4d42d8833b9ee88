// When a worker last showed that it lives, over whichever way it speaks.

import type { Member } from "../../domain/fleet.ts";
import type { Turn } from "./turn.ts";

/** The last sign of life of a worker: what it said, its pings on an open socket, or a claim of it that waits now. */
export const lastSignOf = (turn: Turn, member: Member): number =>
  member.isClaiming
    ? turn.nowAt
    : Math.max(member.lastSeenAt, turn.lastSocketSign(member.worker.instance) ?? Number.NEGATIVE_INFINITY);
