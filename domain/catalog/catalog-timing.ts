// When a subscription syncs. The schedule gives the slot; an offset that depends only on the subscription's id moves it
// within the slot, so that thousands with the same schedule do not run in the same second. A failed sync is tried again
// earlier than scheduled, with growing delays.

import { HOUR_MS, MINUTE_MS } from "../words/duration.ts";
import { hashedPartOf } from "../words/fnv.ts";

const SPREAD_MAX_MS = 30 * MINUTE_MS;
const RETRY_FIRST_MS = 5 * MINUTE_MS;
const RETRY_MAX_MS = 2 * HOUR_MS;

/** The time of the next sync, from the two slots after this instant and the id. The offset is less than half a slot. */
export const nextSyncAt = (slotAt: number, followingSlotAt: number | null, id: string): number => {
  const gapMs = followingSlotAt === null ? SPREAD_MAX_MS : Math.max(0, followingSlotAt - slotAt);
  const windowMs = Math.min(SPREAD_MAX_MS, Math.floor(gapMs / 2));
  return slotAt + Math.floor(hashedPartOf(id) * windowMs);
};

/**
 * `failureCount` includes this failure. `retryAfterMs` is what the provider asked for; it takes precedence over the
 * schedule.
 */
export const nextRetryAt = (nowAt: number, failureCount: number, retryAfterMs: number, scheduledAt: number): number => {
  const backoffMs = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** Math.min(20, Math.max(0, failureCount - 1)));
  return Math.max(nowAt + retryAfterMs, Math.min(scheduledAt, nowAt + backoffMs));
};
