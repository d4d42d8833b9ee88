// Tells webhooks of the capacity that jobs wait for: once a group has waited for long enough, and again while it lasts.

import type { Job } from "../../domain/job/job.ts";
import type { Group } from "../../domain/job/queue.ts";
import type { CapacityReason } from "../../domain/routing/filter.ts";
import { MINUTE_MS, SECOND_MS } from "../../domain/words/duration.ts";
import { capacityReason, highestOf, waitingSince } from "../placing/group-capacity.ts";
import { routePolicy } from "../placing/route-policy.ts";
import { oldestJobOf } from "../steps/group-jobs.ts";
import type { Turn } from "../turn/turn.ts";

const REPEATED_AFTER_MS = 5 * MINUTE_MS;
const TOLD_A_SWEEP = 100;
/** No capacity is missing for a group that waits, such as a batch's lines: they may wait for hours. */
const LOOK_AGAIN_MS = 10 * SECOND_MS;

export const announceWanted = (turn: Turn): void => {
  const { queue, config } = turn.memory;
  const notices = turn.store.capacityNotices.all();
  const policy = routePolicy(turn);
  let nextAt = Number.POSITIVE_INFINITY;
  let told = 0;
  for (const group of queue.groups.values()) {
    const oldest = oldestJobOf(turn, group);
    if (oldest === null) continue;
    const toldAt = notices.get(group.key);
    notices.delete(group.key);
    const againAt = toldAt === undefined ? waitingSince(oldest) + config.capacity.afterMs : toldAt + REPEATED_AFTER_MS;
    const reason = againAt > turn.nowAt ? null : capacityReason(turn, oldest, policy);
    if (reason !== null && told < TOLD_A_SWEEP) {
      told += 1;
      tell(turn, group, oldest, reason);
      turn.store.capacityNotices.put(group.key, turn.nowAt);
      nextAt = Math.min(nextAt, turn.nowAt + REPEATED_AFTER_MS);
    } else {
      const soonest = turn.nowAt + (reason === null ? LOOK_AGAIN_MS : SECOND_MS);
      nextAt = Math.min(nextAt, againAt > turn.nowAt ? againAt : soonest);
    }
  }
  // These wait no longer.
  for (const key of notices.keys()) turn.store.capacityNotices.remove(key);
  turn.memory.notices.wantedAt = nextAt;
};

const tell = (turn: Turn, group: Group, oldest: Job, reason: CapacityReason): void => {
  const { provider, model, tags, api } = group.requirements;
  const data = {
    group: { provider, model, tags: [...tags], api },
    waiting: group.count,
    oldest_seconds: Math.floor((turn.nowAt - waitingSince(oldest)) / SECOND_MS),
    reason,
    priority_max: highestOf(turn, group, oldest),
  };
  turn.announce("capacity.wanted", data);
};
