import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Usage } from "../../../domain/job/job.ts";
import { type AttemptFacts, blendedRate, costOf, mayCost, priceAttempt } from "../../../domain/money/cost.ts";
import { priceFromUsd } from "../../../domain/money/price.ts";

const mini = priceFromUsd({ inputPerMtok: 0.15, outputPerMtok: 0.6, cachedInputPerMtok: 0.075 });
const flat = priceFromUsd({ perRequest: 0.01 });
const free = priceFromUsd({ inputPerMtok: 0, outputPerMtok: 0 });
if (mini === null || flat === null || free === null) throw new Error("prices of the test");

const usage: Usage = { inputTokens: 1000, outputTokens: 500 };
const nothingKnown: AttemptFacts = {
  usage,
  reportedCostUsd: null,
  configPrice: null,
  catalogPrice: null,
  tablePrice: null,
  isLocal: false,
};

describe("the cost of a request", () => {
  test.each([
    ["plain tokens", { inputTokens: 1000, outputTokens: 500 }, 450_000],
    ["cached tokens at their own rate", { inputTokens: 1000, outputTokens: 0, cachedInputTokens: 400 }, 120_000],
    ["reasoning is part of the output", { inputTokens: 0, outputTokens: 100, reasoningTokens: 90 }, 60_000],
    ["more cached than input is taken as all cached", { inputTokens: 10, outputTokens: 0, cachedInputTokens: 99 }, 750],
    [
      "a quarter more for what is written to a cache",
      { inputTokens: 1000, outputTokens: 0, cacheWriteTokens: 400 },
      165_000,
    ],
    [
      "twice the price for what a cache keeps for an hour",
      { inputTokens: 1000, outputTokens: 0, cachedInputTokens: 400, cacheWriteTokens: 500, cacheWrite1hTokens: 100 },
      30_000 + 90_000 + 15_000 + 15_000,
    ],
    [
      "more written than input is taken as all written",
      { inputTokens: 10, outputTokens: 0, cachedInputTokens: 5, cacheWriteTokens: 99, cacheWrite1hTokens: 99 },
      375 + 1500,
    ],
    ["no tokens", { inputTokens: 0, outputTokens: 0 }, 0],
    ["one token", { inputTokens: 1, outputTokens: 0 }, 150],
  ])("%s", (_, spent: Usage, expected) => {
    expect(costOf(mini, spent)).toBe(expected);
  });

  test("cached tokens cost what others do if they have no rate", () => {
    const price = { input_nano_per_mtok: 1_000_000, output_nano_per_mtok: 0 };
    expect(costOf(price, { inputTokens: 100, outputTokens: 0, cachedInputTokens: 50 })).toBe(100);
  });

  test("is rounded once, half up, over all its parts", () => {
    const price = { input_nano_per_mtok: 250_000, output_nano_per_mtok: 250_000 };
    expect(costOf(price, { inputTokens: 1, outputTokens: 1 })).toBe(1);
    expect(costOf(price, { inputTokens: 1, outputTokens: 0 })).toBe(0);
  });

  test("is unknown if tokens are charged and nobody counted them, or if no integer holds it", () => {
    expect(costOf(mini, null)).toBeNull();
    expect(costOf(flat, null)).toBe(10_000_000);
    expect(costOf(flat, usage)).toBe(10_000_000);
    const dear = { input_nano_per_mtok: Number.MAX_SAFE_INTEGER, output_nano_per_mtok: 0 };
    expect(costOf(dear, { inputTokens: Number.MAX_SAFE_INTEGER, outputTokens: 0 })).toBeNull();
  });

  test("is unknown without token counts whichever kind of token is charged, however little", () => {
    const none = { input_nano_per_mtok: 0, output_nano_per_mtok: 0 };
    for (const charged of ["input_nano_per_mtok", "output_nano_per_mtok", "cached_input_nano_per_mtok"])
      expect([charged, costOf({ ...none, [charged]: 1 }, null)]).toEqual([charged, null]);
    expect(costOf({ ...none, cached_input_nano_per_mtok: 0 }, null)).toBe(0);
  });

  test("may be on a local runtime only where a price says so, and elsewhere unless all is free", () => {
    const asks = [
      mayCost("ollama"),
      mayCost("ollama", { m: { inputPerMtok: 0, perRequest: undefined } }),
      mayCost("ollama", { m: { inputPerMtok: 0, perRequest: 0.000001 } }),
      mayCost("openai", { m: { inputPerMtok: 0 } }),
      mayCost("openai", { "*": { inputPerMtok: 0 } }),
      mayCost("openai", { "*": { inputPerMtok: 0 }, m: { outputPerMtok: 1 } }),
    ];
    expect(asks).toEqual([false, false, true, true, false, true]);
  });

  test("prices are compared by three tokens in for each token out", () => {
    expect(blendedRate(mini)).toBe((3 * 150_000_000 + 600_000_000) / 4);
  });

  test("are compared where they are charged by the request, too: a thousand requests for a million tokens", () => {
    expect(blendedRate(flat)).toBe(10_000_000_000);
  });

  test("agrees with exact rational arithmetic to half a nano-dollar", () => {
    const rate = fc.nat({ max: 10 ** 12 });
    const tokens = fc.nat({ max: 2_000_000 });
    fc.assert(
      fc.property(rate, rate, tokens, tokens, (input, output, inputTokens, outputTokens) => {
        const cost = costOf(
          { input_nano_per_mtok: input, output_nano_per_mtok: output },
          { inputTokens, outputTokens },
        );
        const exact = BigInt(input) * BigInt(inputTokens) + BigInt(output) * BigInt(outputTokens);
        const error = BigInt(cost ?? -1) * 1_000_000n - exact;
        expect(error > -500_000n && error <= 500_000n).toBe(true);
      }),
    );
  });
});

describe("where the cost comes from", () => {
  const everything = {
    ...nothingKnown,
    reportedCostUsd: "0.5",
    configPrice: mini,
    catalogPrice: flat,
    tablePrice: free,
    isLocal: true,
  };

  test("the worker's report, the config, the catalog, the table, a local runtime: the first that knows", () => {
    expect(priceAttempt(everything)).toEqual({ costNanoUsd: 500_000_000, source: "reported", price: null });
    expect(priceAttempt({ ...everything, reportedCostUsd: null })).toEqual({
      costNanoUsd: 450_000,
      source: "config",
      price: mini,
    });
    expect(priceAttempt({ ...nothingKnown, catalogPrice: flat, tablePrice: mini })).toMatchObject({
      source: "catalog",
      price: flat,
    });
    expect(priceAttempt({ ...nothingKnown, tablePrice: mini, isLocal: true })).toMatchObject({
      source: "table",
      costNanoUsd: 450_000,
    });
    expect(priceAttempt({ ...nothingKnown, isLocal: true })).toEqual({ costNanoUsd: 0, source: "local", price: null });
  });

  test("what nobody knows is unknown, not zero", () => {
    expect(priceAttempt(nothingKnown)).toEqual({ costNanoUsd: null, source: "unknown", price: null });
    expect(priceAttempt({ ...nothingKnown, usage: null, configPrice: mini })).toMatchObject({
      costNanoUsd: null,
      source: "unknown",
    });
  });

  test("a price that needs missing token counts is skipped for the next source", () => {
    expect(priceAttempt({ ...nothingKnown, usage: null, configPrice: mini, catalogPrice: flat })).toMatchObject({
      source: "catalog",
    });
  });

  test("a reported cost of 0 counts, an invalid amount does not", () => {
    expect(priceAttempt({ ...everything, reportedCostUsd: 0 })).toMatchObject({ costNanoUsd: 0, source: "reported" });
    expect(priceAttempt({ ...everything, reportedCostUsd: -1 })).toMatchObject({ source: "config" });
  });

  test("a configured price of 0 is a price", () => {
    expect(priceAttempt({ ...nothingKnown, configPrice: free })).toMatchObject({ costNanoUsd: 0, source: "config" });
  });
});
