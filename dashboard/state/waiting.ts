// Why jobs wait, from the object's current groups. The reason stored with a job may be out of date.

import { computed } from "@preact/signals";
import type { QueueView } from "../../contract/jobs/insight.ts";
import type { LiveJob } from "../../contract/live.ts";
import { instantsIn } from "../format.ts";
import { queue } from "./board.ts";
import { now } from "./clock.ts";

export type QueueGroup = QueueView["groups"][number];

/** What the jobs of a group ask for, in words. */
export const asked = ({ provider, model, tags }: QueueGroup): string =>
  [provider ?? "any provider", model, ...tags].filter(Boolean).join(" · ");

/** Whose jobs take turns as one flow. Two keys may name the same person. */
export const ownerOf = (
  { key_id, fairness_key }: QueueGroup["flows"][number],
  nameOf = (keyId: string): string => keyId,
): string => {
  const key = key_id === null ? null : `key ${nameOf(key_id)}`;
  return [fairness_key, key].filter((part) => part !== null).join(" · ") || "schedules";
};

/** How many flows wait there: one with jobs of two priorities stands twice in the list. */
export const ownersIn = ({ flows, flows_total: listed }: QueueGroup): number =>
  listed > flows.length ? listed : new Set(flows.map((flow) => ownerOf(flow))).size;

type Requirements = Pick<LiveJob, "provider" | "model" | "tags" | "api">;

/** Equal for jobs that ask for the same. */
export const asks = ({ provider, model, tags, api }: Requirements): string =>
  JSON.stringify([provider, model, [...tags].sort(), api]);

const reasons = computed(() => {
  const found = new Map<string, string>();
  for (const group of queue.value?.groups ?? []) {
    // Of groups that differ only in the providers already tried, the one with the oldest job counts.
    if (!found.has(asks(group))) found.set(asks(group), group.reason);
  }
  return found;
});

/** What keeps one job from running before an instant, as the service says it. Its group does not know of that. */
const OWN_DELAY = /it is tried again at |, then retry \d|^not to run before /;
const isLater = (reason: string | null): boolean =>
  reason !== null && OWN_DELAY.test(reason) && instantsIn(reason).some((at) => at > now.value);

type WaitingJob = Requirements & Pick<LiveJob, "status" | "waiting_reason">;

/** What a pending job waits for; null if nothing, or if it is unknown. */
export const reasonOf = (job: WaitingJob): string | null => {
  if (job.status !== "pending") return null;
  if (isLater(job.waiting_reason)) return job.waiting_reason;
  return reasons.value.get(asks(job)) ?? job.waiting_reason;
};

export interface Wait {
  readonly reason: string;
  readonly count: number;
  readonly oldestAt: string;
  readonly groups: readonly QueueGroup[];
}

/** What waits, by reason; the longest wait first. */
export const waits = computed((): readonly Wait[] =>
  [...Map.groupBy(queue.value?.groups ?? [], ({ reason }) => reason)]
    .map(([reason, groups]) => ({
      reason,
      groups,
      count: groups.reduce((sum, { count }) => sum + count, 0),
      // The groups come oldest first.
      oldestAt: groups[0]?.oldest_at ?? "",
    }))
    .sort((one, other) => (one.oldestAt < other.oldestAt ? -1 : 1)),
);

/** How many waiting jobs ask for this provider by name. */
export const waitingFor = (provider: string): number =>
  (queue.value?.groups ?? []).reduce((sum, group) => sum + (group.provider === provider ? group.count : 0), 0);
