// What waits, from the live state: requirement groups by the age of their oldest job, and what that job waits for.

import { toIso } from "../../contract/field.ts";
import { MAX_QUEUE_GROUPS, type QueueView } from "../../contract/insight.ts";
import type { Group } from "../../domain/queue.ts";
import type { RoutePolicy } from "../../domain/routing-filter.ts";
import { headOf, routePolicy, waitingReason } from "./routing.ts";
import type { Turn } from "./turn.ts";

export const queueView = (turn: Turn): QueueView => {
  const { queue, open } = turn.memory;
  const policy = routePolicy(turn);
  const waiting = [...queue.groups.values()].filter((group) => headOf(turn, group) !== null);
  // Ids are in order of creation.
  waiting.sort((one, other) => ((one.head?.id ?? "") < (other.head?.id ?? "") ? -1 : 1));
  return {
    groups: waiting.slice(0, MAX_QUEUE_GROUPS).flatMap((group) => presentGroup(turn, group, policy)),
    groups_total: waiting.length,
    total: queue.count,
    delayed: Math.max(0, open.pending - queue.count),
  };
};

const presentGroup = (turn: Turn, { requirements, count, head }: Group, policy: RoutePolicy): QueueView["groups"] => {
  const job = head === null ? null : turn.store.jobs.find(head.id);
  if (job === null) return [];
  const { provider, model, tags, api, excludedProviders } = requirements;
  return [
    {
      provider,
      model,
      tags: [...tags],
      api,
      excluded_providers: [...excludedProviders],
      count,
      oldest_at: toIso(job.createdAt),
      reason: waitingReason(turn, job, policy) ?? "",
    },
  ];
};
