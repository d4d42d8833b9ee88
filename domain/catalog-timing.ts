// When a subscription syncs. The schedule names the slot; a spread that depends on the subscription's id alone moves
// each one within the slot, so that thousands with the same schedule do not fire in one second and each one keeps
// its own minute. A failure is tried again sooner than the schedule says, ever more slowly, and never later than it.

export const SPREAD_MAX_MS = 30 * 60_000;
export const RETRY_FIRST_MS = 5 * 60_000;
export const RETRY_MAX_MS = 2 * 60 * 60_000;

/** The two slots that follow `now`, and the id → the instant of the next sync. Less than half a slot is ever added. */
export function nextSyncAt(slotAt: number, followingSlotAt: number | null, id: string): number {
  const gapMs = followingSlotAt === null ? SPREAD_MAX_MS : Math.max(0, followingSlotAt - slotAt);
  const windowMs = Math.min(SPREAD_MAX_MS, Math.floor(gapMs / 2));
  return slotAt + Math.floor(fraction(id) * windowMs);
}

/** failureCount counts this failure. retryAfterMs is what the provider asked for; it outweighs even the schedule. */
export function nextRetryAt(now: number, failureCount: number, retryAfterMs: number, scheduledAt: number): number {
  const backoffMs = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** Math.min(20, Math.max(0, failureCount - 1)));
  return Math.max(now + retryAfterMs, Math.min(scheduledAt, now + backoffMs));
}

/** FNV-1a with a final mix, as a fraction in [0, 1): the same id always gets the same place. */
function fraction(id: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < id.length; index++) {
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
