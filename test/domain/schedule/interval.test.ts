// Every so often, counted from an anchor. What a schedule makes of it: `schedule.test.ts`.

import { expect, test } from "vitest";
import { intervalRunsBetween, nextIntervalAt } from "../../../domain/schedule/interval.ts";

test.each([
  [0, 10],
  [9, 10],
  [10, 20],
  [19, 20],
  [-25, 10],
])("after %d the next multiple of ten is %d", (afterAt, expected) => {
  expect(nextIntervalAt(0, 10, afterAt)).toBe(expected);
});

test.each([
  [0, 9, 0, null],
  [0, 10, 1, 10],
  [0, 11, 1, 10],
  [0, 19, 1, 10],
  [0, 20, 2, 20],
  [10, 20, 1, 20],
  [10, 15, 0, null],
  [20, 20, 0, null],
  [-100, 10, 1, 10],
])("later than %d and until %d there are %d, the last at %s", (afterAt, untilAt, count, lastAt) => {
  expect(intervalRunsBetween(0, 10, afterAt, untilAt)).toEqual({ count, lastAt });
});
