// What waits, from the live state: requirement groups by the age of their oldest job, and what that job waits for.

import { MAX_QUEUE_FLOWS, MAX_QUEUE_GROUPS, type QueueView } from "../../../contract/jobs/insight.ts";
import { toIso } from "../../../contract/words/field.ts";
import { ownerOf } from "../../../domain/job/flows.ts";
import type { Group } from "../../../domain/job/queue.ts";
import type { RoutePolicy } from "../../../domain/routing/filter.ts";
import { PRIORITIES } from "../../../domain/words/requirements.ts";
import { capacityReason, highestOf, waitingSince } from "../../placing/group-capacity.ts";
import { routePolicy } from "../../placing/route-policy.ts";
import { groupReason } from "../../placing/waiting-reason.ts";
import { oldestIn, oldestJobOf } from "../../steps/group-jobs.ts";
import type { Turn } from "../../turn/turn.ts";

type Shown = QueueView["groups"][number];

export const queueView = (turn: Turn): QueueView => {
  const { queue, open } = turn.memory;
  const policy = routePolicy(turn);
  const waiting = [...queue.groups.values()].filter((group) => oldestIn(turn, group) !== null);
  // Ids are in order of creation.
  waiting.sort((one, other) => ((one.oldest ?? "") < (other.oldest ?? "") ? -1 : 1));
  return {
    groups: waiting.slice(0, MAX_QUEUE_GROUPS).flatMap((group) => presentGroup(turn, group, policy)),
    groups_total: waiting.length,
    total: queue.count,
    delayed: Math.max(0, open.pending - queue.count),
  };
};

const presentGroup = (turn: Turn, group: Group, policy: RoutePolicy): Shown[] => {
  const job = oldestJobOf(turn, group);
  if (job === null) return [];
  const { provider, model, tags, api, excludedProviders } = group.requirements;
  return [
    {
      provider,
      model,
      tags: [...tags],
      api,
      excluded_providers: [...excludedProviders],
      count: group.count,
      oldest_at: toIso(job.createdAt),
      waiting_since: toIso(waitingSince(job)),
      capacity: turn.memory.killswitch.level > 0 ? null : capacityReason(turn, job, policy),
      priority_max: highestOf(turn, group, job),
      reason: groupReason(turn, job, policy),
      ...presentFlows(turn, group),
    },
  ];
};

/** Looks at as many flows as it shows, however many wait. */
const presentFlows = (turn: Turn, { key: groupKey }: Group): Pick<Shown, "flows" | "flows_total"> => {
  const flows: Shown["flows"] = [];
  let total = 0;
  for (const priority of [...PRIORITIES].reverse()) {
    const order = turn.memory.flows.orderOf({ groupKey, priority });
    if (order === undefined) continue;
    total += order.waiting;
    if (flows.length >= MAX_QUEUE_FLOWS) continue;
    for (const { name, weight, waiting, share } of order.waitingFlows()) {
      const owner = ownerOf(name);
      flows.push({ key_id: owner.keyId, fairness_key: owner.name, priority, waiting, weight, share });
      if (flows.length >= MAX_QUEUE_FLOWS) break;
    }
  }
  return { flows, flows_total: total };
};
