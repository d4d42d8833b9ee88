// How much a key may ask for: requests per second, with bursts, and requests in progress. A token bucket that is
// refilled when it is read, so it needs no timer.

import type { RefusalOf } from "../words/refusal.ts";
import { err, ok, type Result } from "../words/result.ts";

/** null: no limit. */
export interface RequestLimits {
  readonly requestsPerSecond: number | null;
  /** How many may come at once after a pause; null: as many as per second, at least one. */
  readonly burst: number | null;
  readonly inFlight: number | null;
}

export interface Bucket {
  readonly tokens: number;
  readonly at: number;
}

const IN_FLIGHT_RETRY_SECONDS = 1;

/** The bucket after one more request of a key that has `underWay` requests in progress, including this one. */
export const takeRequest = (
  limits: RequestLimits,
  bucket: Bucket | undefined,
  underWay: number,
  nowAt: number,
): Result<Bucket | null, RefusalOf<"rate_limited">> => {
  const { requestsPerSecond, burst, inFlight } = limits;
  if (inFlight !== null && underWay > inFlight)
    return err({ code: "rate_limited", retryAfterSeconds: IN_FLIGHT_RETRY_SECONDS });
  if (requestsPerSecond === null) return ok(null);
  const most = burst ?? Math.ceil(requestsPerSecond);
  // A bucket of the future is older than a clock that was set back.
  const isFull = bucket === undefined || bucket.at > nowAt;
  const filled = isFull ? most : bucket.tokens + ((nowAt - bucket.at) / 1000) * requestsPerSecond;
  const tokens = Math.min(most, filled);
  if (tokens < 1) return err({ code: "rate_limited", retryAfterSeconds: (1 - tokens) / requestsPerSecond });
  return ok({ tokens: tokens - 1, at: nowAt });
};
