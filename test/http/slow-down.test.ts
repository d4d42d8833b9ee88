// Guessing keys: an address gets some refusals at once, and then each of them waits.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { MAX_ADDRESSES, slowDown } from "../../src/http/admission.ts";
import type { AppContext } from "../../src/http/auth.ts";

const HOUR_MS = 3_600_000;
const NOW = Date.UTC(2026, 10, 23);

let waits = 0;
beforeEach(() => {
  waits = 0;
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
  vi.stubGlobal("scheduler", {
    wait: async () => {
      waits += 1;
    },
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const refused = async (address: string, times: number): Promise<number> => {
  const before = waits;
  const context = { env: { HOME: { addressOf: () => address } }, req: { header: () => undefined } };
  for (let count = 0; count < times; count += 1) await slowDown(context as unknown as AppContext);
  return waits - before;
};

it("an address has a hundred refusals at once and as many a second; another has its own", async () => {
  expect(await refused("203.0.113.1", 100)).toBe(0);
  expect(await refused("203.0.113.1", 5)).toBe(5);
  expect(await refused("203.0.113.2", 5)).toBe(0);
  vi.setSystemTime(NOW + 1_000);
  expect(await refused("203.0.113.1", 100)).toBeLessThan(10);
});

it("a clock that is set back an hour slows nobody down for an hour", async () => {
  expect(await refused("203.0.113.3", 5)).toBe(0);
  vi.setSystemTime(NOW - HOUR_MS);
  expect(await refused("203.0.113.3", 50)).toBe(0);
});

it("ten thousand addresses are known at a time, so that strangers fill no memory: then all have their first again", async () => {
  const address = "203.0.113.4";
  expect(await refused(address, 101)).toBe(1);
  for (let count = 0; count < MAX_ADDRESSES; count += 1) await refused(`2001:db8::${count.toString(16)}`, 1);
  expect(await refused(address, 100)).toBe(0);
});
