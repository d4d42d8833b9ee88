import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readPrice, scaledInteger } from "../../domain/catalog/catalog-price.ts";
import { nextRetryAt, nextSyncAt } from "../../domain/catalog/catalog-timing.ts";

describe("a catalog price", () => {
  it.each([
    ["per_token", "0.0000006", 600_000_000],
    ["per_token", 6e-7, 600_000_000],
    ["per_token", "0.000000000000001", 1],
    ["per_token", "0", 0],
    ["per_1m", 0.0375, 37_500_000],
    ["per_1m", "3", 3_000_000_000],
    ["cents_per_100m", 30000, 3_000_000_000],
  ] as const)("of %s %s is exact in nano-dollars per million tokens", (unit, price, nano) => {
    const read = readPrice({ in: price, out: price }, { unit, input: "in", output: "out" });
    expect(read).toEqual({ input_nano_per_mtok: nano, output_nano_per_mtok: nano });
  });

  it.each(["-1", -1, "", "free", null, undefined, true, {}, Number.NaN, Number.POSITIVE_INFINITY, "1e99", "0x10"])(
    "of %s is unknown, and not zero",
    (price) => {
      const pricing = { unit: "per_token", input: "in", output: "out" } as const;
      expect(readPrice({ in: price, out: "0" }, pricing)).toBeUndefined();
      expect(readPrice({ in: "0", out: price }, pricing)).toBeUndefined();
    },
  );

  it("has the price of cached tokens where there is one", () => {
    const pricing = { unit: "per_1m", input: "in", output: "out", cached_input: "cached" } as const;
    expect(readPrice({ in: 3, out: 6, cached: 0.3 }, pricing)).toEqual({
      input_nano_per_mtok: 3_000_000_000,
      output_nano_per_mtok: 6_000_000_000,
      cached_input_nano_per_mtok: 300_000_000,
    });
  });

  it("leaves out a cached or request price that it cannot read", () => {
    const pricing = {
      unit: "per_token",
      input: "in",
      output: "out",
      cached_input: "cached",
      request: "request",
    } as const;
    expect(readPrice({ in: "0", out: "0", cached: "-1", request: "0.005" }, pricing)).toEqual({
      input_nano_per_mtok: 0,
      output_nano_per_mtok: 0,
      request_nano: 5_000_000,
    });
  });

  it("drops no digit: every decimal with nine places is an exact integer of billionths", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 9_000_000_000_000_000n }), (nano) => {
        const text = `${nano / 1_000_000_000n}.${String(nano % 1_000_000_000n).padStart(9, "0")}`;
        expect(scaledInteger(text, 9)).toBe(Number(nano));
      }),
    );
  });
});

describe("the next sync", () => {
  const slot = Date.UTC(2026, 10, 21, 6);
  const minute = 60_000;
  const hour = 60 * minute;

  it("of thousands with one schedule is spread over half an hour, each at its own place for ever", () => {
    const ids = Array.from({ length: 5_000 }, (_, index) => `sub_${index}`);
    const times = ids.map((id) => nextSyncAt(slot, slot + 6 * hour, id));
    expect(ids.map((id) => nextSyncAt(slot, slot + 6 * hour, id))).toEqual(times);
    expect(Math.min(...times)).toBeGreaterThanOrEqual(slot);
    expect(Math.max(...times)).toBeLessThan(slot + 30 * minute);
    const perMinute = Map.groupBy(times, (at) => Math.floor((at - slot) / minute));
    expect(perMinute.size).toBe(30);
    expect(Math.max(...[...perMinute.values()].map((minute) => minute.length))).toBeLessThan(250);
  });

  it("never leaves its slot, however short the schedule", () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: 1_000_000 }), (id, gapMs) => {
        const at = nextSyncAt(slot, slot + gapMs, id);
        expect(at).toBeGreaterThanOrEqual(slot);
        expect(at).toBeLessThan(slot + gapMs);
      }),
    );
  });

  it("of a schedule with no further slot is spread over a quarter of an hour", () => {
    const times = Array.from({ length: 500 }, (_, index) => nextSyncAt(slot, null, `sub_${index}`));
    expect(Math.min(...times)).toBeLessThan(slot + minute);
    expect(Math.max(...times)).toBeGreaterThan(slot + 14 * minute);
    expect(Math.max(...times)).toBeLessThan(slot + 15 * minute);
  });

  it("after a failure comes in 5 minutes, then 10, 20 and so on to 2 hours, and never later than the schedule", () => {
    const far = slot + 24 * hour;
    const delays = [1, 2, 3, 4, 5, 6, 1000].map((failures) => nextRetryAt(slot, failures, 0, far) - slot);
    expect(delays.map((delay) => delay / minute)).toEqual([5, 10, 20, 40, 80, 120, 120]);
    expect(nextRetryAt(slot, 1, 0, slot + 1000)).toBe(slot + 1000);
  });

  it("never comes before the provider's own Retry-After", () => {
    expect(nextRetryAt(slot, 1, 2 * hour, slot + hour)).toBe(slot + 2 * hour);
  });
});
