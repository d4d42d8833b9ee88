// A key's requests per second, its bursts, and its requests in progress.

import { describe, expect, it } from "vitest";
import { type Bucket, type RequestLimits, takeRequest } from "../../../domain/access/rate.ts";

/** How many of the requests at these instants are admitted. */
const admitted = (limits: RequestLimits, instants: readonly number[]): number => {
  let bucket: Bucket | undefined;
  let count = 0;
  for (const nowAt of instants) {
    const taken = takeRequest(limits, bucket, 1, nowAt);
    if (!taken.ok) continue;
    bucket = taken.value ?? undefined;
    count += 1;
  }
  return count;
};
const at = (nowAt: number, count: number): number[] => Array.from({ length: count }, () => nowAt);
const limits = (more: Partial<RequestLimits>): RequestLimits => ({
  requestsPerSecond: null,
  burst: null,
  inFlight: null,
  ...more,
});

describe("requests a second", () => {
  it.each([
    ["no limit", limits({}), at(0, 1000), 1000],
    ["a burst is what a second allows", limits({ requestsPerSecond: 5 }), at(0, 9), 5],
    ["a burst is whole requests, rounded up", limits({ requestsPerSecond: 1.5 }), at(0, 9), 2],
    ["less than one a second is one at a time", limits({ requestsPerSecond: 0.5 }), [0, 0, 1_000, 2_000, 2_000], 2],
    ["less than one a second is never two at once", limits({ requestsPerSecond: 0.1 }), at(0, 2), 1],
    ["a burst of its own", limits({ requestsPerSecond: 1, burst: 3 }), at(0, 9), 3],
    [
      "a quiet time fills no more than the burst",
      limits({ requestsPerSecond: 1, burst: 2 }),
      at(0, 2).concat(at(9_000, 9)),
      4,
    ],
    ["a clock that is set back keeps nobody waiting", limits({ requestsPerSecond: 1 }), [9_000, 9_000, 0, 0, 1_000], 3],
    ["it goes on at the rate", limits({ requestsPerSecond: 10, burst: 1 }), [0, 50, 100, 150, 200], 3],
  ] as const)("%s", (_, given, instants, count) => {
    expect(admitted(given, instants)).toBe(count);
  });

  it("says when the next one may come", () => {
    const first = takeRequest(limits({ requestsPerSecond: 0.25 }), undefined, 1, 0);
    const second = takeRequest(
      limits({ requestsPerSecond: 0.25 }),
      first.ok ? (first.value ?? undefined) : undefined,
      1,
      1_000,
    );
    expect(second).toEqual({ ok: false, error: { code: "rate_limited", retryAfterSeconds: 3 } });
  });
});

it("one more than may be under way comes again in a second", () => {
  expect(takeRequest(limits({ inFlight: 3 }), undefined, 4, 0)).toEqual({
    ok: false,
    error: { code: "rate_limited", retryAfterSeconds: 1 },
  });
});

it.each([
  [3, true],
  [4, false],
])("with in_flight 3 the request that is number %i under way is let in: %s", (underWay, isLetIn) => {
  expect(takeRequest(limits({ inFlight: 3 }), undefined, underWay, 0).ok).toBe(isLetIn);
});
