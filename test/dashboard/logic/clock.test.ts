// What the page takes for the server's time.

import { expect, it } from "vitest";
import { serverNow, setServerTime } from "../../../dashboard/state/clock.ts";

const SECOND_MS = 1000;

/** How far ahead of this machine's clock the server's counts as, if it said its time between the two instants. */
const aheadMs = (saidMs: number, askedMs: number, toldMs: number): number => {
  const at = Date.now();
  setServerTime(new Date(at + saidMs).toISOString(), at + askedMs, at + toldMs);
  return Math.round((serverNow() - Date.now()) / SECOND_MS) * SECOND_MS;
};

it("is this machine's, however late the server's is heard of", () => {
  expect(aheadMs(0, -1 * SECOND_MS, 5 * SECOND_MS)).toBe(0);
});

it("is not this machine's where its clock cannot be right", () => {
  expect(aheadMs(60 * SECOND_MS, -1 * SECOND_MS, 5 * SECOND_MS)).toBe(55 * SECOND_MS);
  expect(aheadMs(-60 * SECOND_MS, -1 * SECOND_MS, 5 * SECOND_MS)).toBe(-59 * SECOND_MS);
});
