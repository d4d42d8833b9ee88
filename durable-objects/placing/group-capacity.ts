// What a requirement group waits for: whether a machine is missing, since when, and how urgent it is.

import type { Job } from "../../domain/job/job.ts";
import type { Group } from "../../domain/job/queue.ts";
import { whyNoCapacity } from "../../domain/routing/explanation.ts";
import type { CapacityReason, RoutePolicy } from "../../domain/routing/filter.ts";
import { PRIORITIES } from "../../domain/words/requirements.ts";
import { headJobOf } from "../steps/group-jobs.ts";
import type { Turn } from "../turn/turn.ts";
import { routeRequest } from "./route-policy.ts";

/** Why a group's oldest job has no capacity; null if it has, or if nobody is to be woken for it. */
export const capacityReason = (turn: Turn, oldest: Job, policy: RoutePolicy): CapacityReason | null => {
  const { fleet, config } = turn.memory;
  if (oldest.batch !== null && !config.capacity.isForBatches) return null;
  return whyNoCapacity(fleet, routeRequest(turn, oldest), policy);
};

export const waitingSince = ({ runnableAt, createdAt }: Job): number => runnableAt ?? createdAt;

/** The head has the highest priority, unless a lower one has aged past it. */
export const highestOf = (turn: Turn, group: Group, oldest: Job): Job["priority"] => {
  const first = headJobOf(turn, group);
  const rank = (job: Job): number => PRIORITIES.indexOf(job.priority);
  return first !== null && rank(first) > rank(oldest) ? first.priority : oldest.priority;
};
