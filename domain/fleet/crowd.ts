// How many workers a tenant may have, and how long one is kept that is offline. Names that never come back, as of
// machines that get a new one at each start, leave room to others before that is all taken.

import type { Fleet } from "./fleet.ts";

export const MAX_WORKERS = 20_000;
/** The models, runtime models and tags of all workers together. */
export const MAX_OFFERS_BYTES = 64 * 1024 * 1024;
/** From this part of a bound on, those that are silent make room. */
const CROWDED_FROM = 0.9;

export const forgetAfterMs = (
  { size, offers }: Pick<Fleet, "size" | "offers">,
  presence: { readonly offlineAfterMs: number; readonly forgetAfterMs: number },
): number =>
  size > CROWDED_FROM * MAX_WORKERS || offers.bytes > CROWDED_FROM * MAX_OFFERS_BYTES
    ? Math.min(presence.offlineAfterMs, presence.forgetAfterMs)
    : presence.forgetAfterMs;
