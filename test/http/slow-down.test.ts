// Guessing keys: an address gets some refusals at once, and then each of them waits.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { slowDown } from "../../src/http/admission.ts";
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
