// Quantiles of latency: near the truth, whatever the values, and the same however the parts were merged.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_VALUES, note, OTHER, type Slot } from "../../../domain/insight/latency.ts";
import { countOf, merge, observe, quantile, type Spread } from "../../../domain/insight/spread.ts";

const spreadOf = (values: readonly number[]): Spread => {
  const spread: Spread = new Map();
  for (const value of values) observe(spread, value);
  return spread;
};
const values = fc.array(fc.double({ min: 0.02, max: 3e9, noNaN: true }), { minLength: 1, maxLength: 200 });

describe("a spread", () => {
  test("knows each quantile within 10 %", () => {
    fc.assert(
      fc.property(values, fc.constantFrom(0.5, 0.95, 0.99), (given, share) => {
        const sorted = given.toSorted((one, other) => one - other);
        const exact = sorted[Math.max(1, Math.ceil(share * sorted.length)) - 1] ?? 0;
        const found = quantile(spreadOf(given), share) ?? 0;
        expect(Math.abs(found - exact) / exact).toBeLessThanOrEqual(0.1);
      }),
    );
  });

  test("of merged parts is the spread of all", () => {
    fc.assert(
      fc.property(values, values, (one, other) => {
        const merged = spreadOf(one);
        merge(merged, spreadOf(other));
        expect(merged).toEqual(spreadOf([...one, ...other]));
      }),
    );
  });

  test("of nothing has no quantile, and nothing is 0", () => {
    expect(quantile(new Map(), 0.5)).toBeNull();
    expect(quantile(spreadOf([0, 0, 5]), 0.5)).toBe(0);
    expect(countOf(spreadOf([0, 0, 5]))).toBe(3);
  });
});

test("a slot names a bounded number of values, the rest together", () => {
  const slot: Slot = new Map();
  const observed = { queueWaitMs: 1, firstTokenMs: null, runMs: 2, tokensPerSecond: null };
  for (let at = 0; at < MAX_VALUES + 50; at += 1) note(slot, [`model-${at}`], observed);
  expect(slot.size).toBe(MAX_VALUES + 1);
  expect(slot.get(OTHER)?.jobs).toBe(50);
  expect(countOf(slot.get(OTHER)?.firstTokenMs ?? new Map())).toBe(0);
});
