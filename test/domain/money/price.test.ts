import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { configuredPrice, nanoFromUsd, priceFromUsd, usdFromNano } from "../../../domain/money/price.ts";

describe("dollars and nano-dollars", () => {
  test.each([
    ["0", 0],
    [0.1, 100_000_000],
    ["0.0375", 37_500_000],
    [6e-7, 600],
    ["6E-7", 600],
    ["1.5e3", 1_500_000_000_000],
    ["000012.50", 12_500_000_000],
    ["0.0000000004", 0],
    ["0.0000000005", 1],
    [0.1 + 0.2, 300_000_000],
    [1.005, 1_005_000_000],
    [4.35, 4_350_000_000],
    ["9007199.254740991", Number.MAX_SAFE_INTEGER],
  ])("$%s are %d", (usd, nano) => {
    expect(nanoFromUsd(usd)).toBe(nano);
  });

  test.each([
    -1,
    "-1",
    Number.NaN,
    Number.POSITIVE_INFINITY,
    "",
    " ",
    "1,5",
    "0x10",
    "1e",
    "one",
    "9007199.254740992",
    "1e999",
  ])("%j is no amount", (usd) => {
    expect(nanoFromUsd(usd)).toBeNull();
  });

  test.each([
    [0, "0"],
    [1, "1e-9"],
    [1_234_567_890, "1.23456789"],
    [-500_000_000, "-0.5"],
    [8_388_607_999_999_999, "8388607.999999999"],
  ])("%d nano-dollars are written %s", (nano, text) => {
    expect(JSON.stringify(usdFromNano(nano))).toBe(text);
  });

  test("every amount below eight million dollars survives the way out through JSON and back in", () => {
    const amount = fc.oneof(fc.integer({ min: 0, max: 2 ** 23 * 1_000_000_000 - 1 }), fc.nat());
    fc.assert(
      fc.property(amount, (nano) => {
        const wire = JSON.stringify({ usd: usdFromNano(nano) });
        expect(nanoFromUsd((JSON.parse(wire) as { usd: number }).usd)).toBe(nano);
      }),
      { numRuns: 2000 },
    );
  });

  test("a decimal is read as its digits say", () => {
    fc.assert(
      fc.property(fc.nat({ max: 9_000_000 }), fc.nat({ max: 999_999_999 }), (whole, fraction) => {
        const digits = String(fraction).padStart(9, "0");
        expect(nanoFromUsd(`${whole}.${digits}`)).toBe(Number(`${whole}${digits}`));
      }),
    );
  });
});

describe("configured prices", () => {
  const pricing = {
    "gpt-4o-mini": { inputPerMtok: 0.15, outputPerMtok: 0.6, cachedInputPerMtok: 0.075 },
    "*": { perRequest: 0.01 },
  };

  test("a model's own entry comes before that of *", () => {
    expect(configuredPrice(pricing, "gpt-4o-mini")).toEqual({
      input_nano_per_mtok: 150_000_000,
      output_nano_per_mtok: 600_000_000,
      cached_input_nano_per_mtok: 75_000_000,
    });
    expect(configuredPrice(pricing, "gpt-5")).toEqual({
      input_nano_per_mtok: 0,
      output_nano_per_mtok: 0,
      request_nano: 10_000_000,
    });
    expect(configuredPrice(pricing)).toMatchObject({ request_nano: 10_000_000 });
  });

  test("without an entry there is no price, whatever the model is called", () => {
    expect(configuredPrice(undefined, "gpt-5")).toBeNull();
    expect(configuredPrice({}, "constructor")).toBeNull();
    expect(configuredPrice({ "gpt-5": {} }, "gpt-5")).toBeNull();
    expect(priceFromUsd({ inputPerMtok: -1 })).toBeNull();
  });
});
