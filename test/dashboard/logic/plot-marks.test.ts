// Where the signs of events stand on a time axis.

import { expect, it } from "vitest";
import { followersOf } from "../../../dashboard/parts/charts/plot.tsx";

const marksAt = (...seconds: number[]) => seconds.map((at) => ({ at }));

it("puts what happened at nearly one time in the order in which it happened: each makes room for those after it", () => {
  expect(followersOf(marksAt(100, 100.4, 101), 30)).toEqual([2, 1, 0]);
  expect(followersOf(marksAt(100, 100.4, 500, 501), 30)).toEqual([1, 0, 1, 0]);
});

it("leaves apart what is, and lets no long row wander away", () => {
  expect(followersOf(marksAt(0, 60, 120), 30)).toEqual([0, 0, 0]);
  expect(Math.max(...followersOf(marksAt(...Array.from({ length: 50 }, (_, index) => index)), 30))).toBe(3);
});
