// What a waiting job's owner is told of its turn: how many jobs of other flows go before it, and its flow's share.

import type { Job } from "../../domain/job/job.ts";
import { isOnlyFull } from "../../domain/routing/explanation.ts";
import type { RoutePolicy } from "../../domain/routing/filter.ts";
import type { Turn } from "../turn/turn.ts";
import { routeRequest } from "./route-policy.ts";

/** How many jobs of its own flow are counted before one. */
const MAX_COUNTED = 1_000;

/** Null if no other flow waits for the same, or if it waits for more than a free place. */
export const fairReason = (turn: Turn, job: Job, policy: RoutePolicy): string | null => {
  const order = turn.memory.flows.orderOf(job);
  if (order === undefined || order.waiting < 2 || job.orderKey === null) return null;
  const flow = order.waitingFlow(job.flow);
  if (flow === null || !isOnlyFull(turn.memory.fleet, routeRequest(turn, job), policy)) return null;
  const own = turn.store.jobs.beforeInLane(job, { id: job.id, orderKey: job.orderKey }, MAX_COUNTED);
  const { count, isMore } = order.othersBefore(job.flow, own);
  const share = `your share is ${Math.round(flow.share * 100)} %`;
  if (count === 0) return `before the jobs of others: ${share}`;
  const jobs = `${isMore ? "more than " : ""}${count} ${count === 1 ? "job" : "jobs"}`;
  return `behind ${jobs} of others: ${share}`;
};
