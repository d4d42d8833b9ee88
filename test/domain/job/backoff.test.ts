import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { attemptDelayMs, rateLimitDelayMs, releaseDelayMs, retryDelayMs } from "../../../domain/job/backoff.ts";

const jitter = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const ms = fc.integer({ min: 0, max: 86_400_000 });
const retries = fc.nat({ max: 2_000 });
const CAP_MS = 15 * 60_000;

describe("the wait after a rate limit", () => {
  test.each([
    [0, 5_000, null, 5_000],
    [1, 5_000, null, 10_000],
    [3, 5_000, null, 40_000],
    [100, 5_000, null, CAP_MS],
    [0, 5_000, 60_000, 60_000],
    [4, 5_000, 60_000, 80_000],
    [0, 0, null, 0],
    [0, 3_600_000, null, 3_600_000],
    [5, 3_600_000, null, 3_600_000],
    [0, 5_000, 86_400_000, 86_400_000],
  ])("after %d retries, %d ms configured and %s asked for is %d ms before jitter", (before, base, asked, expected) => {
    expect(rateLimitDelayMs(before, base, asked, 0)).toBe(expected);
  });

  test("is never shorter than asked for or configured, and at most a quarter longer than it need be (property)", () => {
    fc.assert(
      fc.property(retries, ms, fc.option(ms), jitter, (before, base, asked, chance) => {
        const least = Math.max(base, asked ?? 0);
        const waited = rateLimitDelayMs(before, base, asked, chance);
        expect(Number.isSafeInteger(waited)).toBe(true);
        expect(waited).toBeGreaterThanOrEqual(least);
        expect(waited).toBeLessThanOrEqual(Math.ceil(Math.max(least, CAP_MS) * 1.25));
      }),
    );
  });

  test("never shrinks from one retry to the next, and doubles until it is long (property)", () => {
    fc.assert(
      fc.property(retries, ms, fc.option(ms), jitter, (before, base, asked, chance) => {
        const [now, next] = [before, before + 1].map((many) => rateLimitDelayMs(many, base, asked, chance));
        expect(next).toBeGreaterThanOrEqual(now ?? 0);
        const plain = rateLimitDelayMs(before, base, null, 0);
        if (plain * 2 <= CAP_MS) expect(rateLimitDelayMs(before + 1, base, null, 0)).toBe(plain * 2);
      }),
    );
  });

  test("differs from job to job", () => {
    expect(rateLimitDelayMs(0, 10_000, null, 0.5)).toBe(11_250);
    expect(rateLimitDelayMs(0, 10_000, 20_000, 0.5)).toBe(22_500);
  });
});

describe("the wait for another attempt", () => {
  test.each([
    [0, 1_000, 300_000, 0, 1_000],
    [1, 1_000, 300_000, 0, 1_000],
    [2, 1_000, 300_000, 0, 2_000],
    [3, 1_000, 300_000, 0, 4_000],
    [3, 1_000, 300_000, 0.5, 4_500],
    [9, 1_000, 300_000, 0, 256_000],
    [10, 1_000, 300_000, 0, 300_000],
    [9, 1_000, 300_000, 0.9, 300_000],
    [21, 1, 1e12, 0, 2 ** 20],
    [22, 1, 1e12, 0, 2 ** 20],
    [3, 333, 300_000, 0.1, 1_366],
    [5, 0, 300_000, 0.5, 0],
  ])("after %d attempts, from %d ms to %d ms, with chance %d is %d ms", (attempts, base, most, chance, expected) => {
    expect(attemptDelayMs(attempts, base, most, chance)).toBe(expected);
  });
});

describe("the wait before a retry of our own", () => {
  test("lies between half of the grown delay and all of it, and never exceeds its bound (property)", () => {
    fc.assert(
      fc.property(retries, fc.integer({ min: 1, max: 60_000 }), ms, jitter, (failures, base, most, chance) => {
        const grown = Math.min(most, base * 2 ** Math.min(failures, 20));
        const waited = retryDelayMs(failures, base, most, chance);
        expect(waited).toBeGreaterThanOrEqual(grown / 2);
        expect(waited).toBeLessThanOrEqual(grown);
        expect(Number.isInteger(waited)).toBe(true);
      }),
    );
  });

  test.each([
    [0, 0, 500],
    [1, 0, 1_000],
    [2, 0.5, 3_000],
    [60, 0, 15_000],
  ])("after %d failures with chance %d is %d ms", (failures, chance, expected) => {
    expect(retryDelayMs(failures, 1_000, 30_000, chance)).toBe(expected);
  });
});

describe("a job that workers give back", () => {
  test("goes on at once the first time, then waits longer each time, a minute at most", () => {
    expect([1, 2, 3, 4, 7, 8, 9, 1000].map(releaseDelayMs)).toEqual([
      0, 1_000, 2_000, 4_000, 32_000, 60_000, 60_000, 60_000,
    ]);
  });
});
