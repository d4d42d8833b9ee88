// Rules of the tenant's configuration that no other part owns. Its defaults: `test/tenant/config.workers.test.ts`.

import { expect, test } from "vitest";
import { storeBeatAfterMs } from "../../domain/config.ts";

test.each([120_000, 15_000, 30 * 86_400_000])(
  "after a restart, silence over %d ms is noticed at most a hundredth later",
  (deadlineMs) => {
    expect(storeBeatAfterMs(deadlineMs)).toBeLessThanOrEqual(deadlineMs / 100);
  },
);

test("the heartbeats of a job are stored about once a second, however often its worker sends them", () => {
  expect(storeBeatAfterMs(120_000)).toBeGreaterThanOrEqual(900);
});

test("heartbeats are not stored where nothing is reaped", () => {
  expect(storeBeatAfterMs(null)).toBe(Number.POSITIVE_INFINITY);
});
