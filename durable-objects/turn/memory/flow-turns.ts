// Keeps the flows in step with each change of a job: it waits, a worker holds it, or neither.

import { USUAL_WEIGHT } from "../../../domain/access/key.ts";
import { type FlowPlace, type Flows, ownerOf } from "../../../domain/job/flows.ts";
import { isLeased, type Job } from "../../../domain/job/job.ts";
import type { Store } from "../../store/open.ts";

/** That of its key; schedules, and jobs of no key, have the usual one. */
export const weightOf = (store: Pick<Store, "keys">, flow: string): number => {
  const { keyId } = ownerOf(flow);
  return keyId === null ? USUAL_WEIGHT : (store.keys.find(keyId)?.weight ?? USUAL_WEIGHT);
};

type Phase = "waiting" | "held" | null;

const phaseOf = (job: Job | null): Phase => {
  if (job === null) return null;
  if (job.orderKey !== null) return "waiting";
  return isLeased(job) ? "held" : null;
};

const isSamePlace = (one: FlowPlace, other: FlowPlace): boolean =>
  one.groupKey === other.groupKey && one.priority === other.priority && one.flow === other.flow;

/** Given back before any work: its flow was charged for nothing. */
const isUnworked = (before: Job, after: Job): boolean =>
  after.settledBy === "released" || (after.settledBy === null && before.startedAt === null);

export const noteFlows = (
  { memory: { flows }, store, nowAt }: { memory: { readonly flows: Flows }; store: Pick<Store, "keys">; nowAt: number },
  before: Job | null,
  after: Job,
): void => {
  const [was, is] = [phaseOf(before), phaseOf(after)];
  const isMoved = before !== null && !isSamePlace(before, after);
  if (was === is && !isMoved && before?.lease === after.lease) return;
  // It comes before it goes, so that what its flow was served is not forgotten between.
  if (is === "waiting") flows.join(after, weightOf(store, after.flow), nowAt);
  else if (is === "held") flows.serve(after, after.share, nowAt);
  if (was === "waiting" && before !== null) flows.leave(before);
  else if (was === "held" && before !== null) flows.end(before, isUnworked(before, after) ? before.share : null);
};
