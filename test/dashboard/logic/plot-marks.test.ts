// Where the signs of events and the names of hours and days stand on a time axis.

import { expect, it } from "vitest";
import { axisLabels, followersOf } from "../../../dashboard/parts/charts/plot.tsx";

const marksAt = (...seconds: number[]) => seconds.map((at) => ({ at }));

it("puts what happened at nearly one time in the order in which it happened: each makes room for those after it", () => {
  expect(followersOf(marksAt(100, 100.4, 101), 30)).toEqual([2, 1, 0]);
  expect(followersOf(marksAt(100, 100.4, 500, 501), 30)).toEqual([1, 0, 1, 0]);
});

it("leaves apart what is, and lets no long row wander away", () => {
  expect(followersOf(marksAt(0, 60, 120), 30)).toEqual([0, 0, 0]);
  expect(Math.max(...followersOf(marksAt(...Array.from({ length: 50 }, (_, index) => index)), 30))).toBe(3);
});

const HOUR_SECONDS = 3600;
const MONDAY_SECONDS = Date.parse("2026-11-23T12:00:00Z") / 1000;
const saidOf = (stepSeconds: number, steps: number, width: number): string[] => {
  const at = Array.from({ length: steps }, (_, index) => MONDAY_SECONDS + index * stepSeconds);
  return axisLabels(at, { xOf: (index) => (index * width) / steps, width, isUtc: true }).map(({ says }) => says);
};

it("names the hours of a day", () => {
  expect(saidOf(HOUR_SECONDS, 24, 400)).toEqual(["12:00", "17:00", "22:00", "03:00", "08:00"]);
});

it("names the days of a week, each at its first step, where they have room", () => {
  const days = ["23 Nov", "25 Nov", "26 Nov", "27 Nov", "28 Nov", "29 Nov", "30 Nov"];
  expect(saidOf(6 * HOUR_SECONDS, 28, 600)).toEqual(days);
  expect(saidOf(6 * HOUR_SECONDS, 28, 300)).toEqual(["23 Nov", "26 Nov", "28 Nov"]);
});
