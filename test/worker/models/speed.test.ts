// How fast a download is said to be.

import { expect, test } from "vitest";
import { Speed } from "../../../worker/models/speed.ts";

test("is that of the last five seconds, once two moments are known", () => {
  const speed = new Speed();
  expect(speed.at(1_000, 0)).toBe(null);
  expect(speed.at(1_500, 0)).toBe(null);
  expect(speed.at(3_000, 1_000)).toBe(2_000);
  expect(speed.at(3_000, 5_000)).toBe(400);
  expect(speed.at(3_000, 5_001)).toBe(0);
  expect(speed.at(4_000, 60_000)).toBe(null);
  expect(speed.at(4_500, 61_000)).toBe(500);
});

test("is nothing, not less, where a runtime begins a download again", () => {
  const speed = new Speed();
  speed.at(5_000, 0);
  expect(speed.at(1_000, 1_000)).toBe(0);
});
