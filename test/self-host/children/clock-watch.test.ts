// What a clock that jumps does to the processes with the tenants.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watchClock } from "../../../self-host/children/clock-watch.ts";

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** How often the processes are started again while the clock is ahead by these, a look each. */
const startsWhile = (aheads: readonly number[]): number[] => {
  let ahead = 0;
  let starts = 0;
  const watch = watchClock(
    () => {
      starts += 1;
    },
    () => ahead,
  );
  const counted = aheads.map((next) => {
    ahead = next;
    vi.advanceTimersByTime(1_000);
    return starts;
  });
  watch.stop();
  ahead = Number.MIN_SAFE_INTEGER;
  vi.advanceTimersByTime(10_000);
  expect(starts).toBe(counted.at(-1));
  return counted;
};

const HOUR = 3_600_000;

test("a clock that is set back starts the processes with the tenants again, once", () => {
  expect(startsWhile([0, -HOUR, -HOUR, -HOUR - 500])).toEqual([0, 1, 1, 1]);
  expect(startsWhile([HOUR, 0, HOUR, 0])).toEqual([0, 1, 1, 2]);
});

test("a clock that is set ahead, or corrected a little, ends nothing; small steps back add up", () => {
  expect(startsWhile([HOUR, HOUR, 2 * HOUR])).toEqual([0, 0, 0]);
  expect(startsWhile([-4_000, -8_000, -10_000, -12_000, -21_000])).toEqual([0, 0, 1, 1, 2]);
});
