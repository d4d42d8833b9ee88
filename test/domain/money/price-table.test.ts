import { calcPrice, findProvider } from "@pydantic/genai-prices";
import { describe, expect, test } from "vitest";
import { LOCAL_RUNTIME_NAMES } from "../../../domain/fleet/local-runtime.ts";
import { costOf } from "../../../domain/money/cost.ts";
import listed from "../../../providers/price-data.json" with { type: "json" };
import { tablePrice } from "../../../providers/price-table.ts";
import { priceData } from "../../../scripts/prices.ts";

const at = Date.parse("2026-11-21T12:00:00Z");
const UNTOLD = ["output_reasoning_mtok", "output_citation_mtok"];

/** The package's own answer, in nano-dollars; null if it has no token rate. */
function packageCost(provider: string, model: string, inputTokens: number, cachedInputTokens: number, when: number) {
  const usage = { input_tokens: inputTokens, cache_read_tokens: cachedInputTokens, output_tokens: 700 };
  const found = calcPrice(usage, model, { providerId: provider, timestamp: new Date(when) });
  if (found === null || found.model_price.input_mtok === undefined) return null;
  return UNTOLD.some((key) => found.model_price[key] !== undefined) ? null : found.total_price * 1e9;
}

describe("the price table", () => {
  test("equals that of the installed package", () => {
    expect(listed, "run: npm run prices").toEqual(priceData(listed.madeOn));
    expect(new Date(listed.madeOn).toISOString().slice(0, 10)).toBe(listed.madeOn);
  });

  test("prices every model as the package does, in every tier and at every hour of the day", () => {
    const wrong: string[] = [];
    let pricedCount = 0;
    for (const { id } of listed.providers) {
      for (const { id: model, prices } of findProvider({ providerId: id })?.models ?? []) {
        // Only a list of prices depends on the time.
        const hours = Array.isArray(prices) ? Array.from({ length: 24 }, (_, hour) => hour) : [0];
        const probes = [150_000, 900_000, ...hours.map(() => 1000)].map((tokens, hour) => [
          tokens,
          at + hour * 3_600_000,
        ]);
        for (const [inputTokens = 0, when = 0] of probes) {
          const expected = packageCost(id, model, inputTokens, 300, when);
          const usage = { inputTokens, outputTokens: 700, cachedInputTokens: 300 };
          const price = tablePrice(id, model, usage, when);
          const actual = price === null ? null : costOf(price, usage);
          if (actual !== null) pricedCount++;
          // The package calculates with floats; a larger difference than their error is wrong.
          const isSame = expected === null || actual === null ? expected === actual : Math.abs(expected - actual) < 1;
          if (!isSame) wrong.push(`${id} ${model} ${inputTokens}: ${actual} for ${expected}`);
        }
      }
    }
    expect(wrong).toEqual([]);
    expect(pricedCount).toBeGreaterThan(4000);
  });

  test("takes the package's provider where a name has two in it", () => {
    const parts = ["anthropic", "openai", "vertex", "gemini", "bedrock", "amazon", "cohere", "mistral", "cloudflare"];
    const wrong = parts
      .flatMap((one) => parts.map((other) => `${one}-${other}`))
      .flatMap((name) =>
        ["claude-sonnet-4-5", "gpt-4o-mini", "gemini-2.5-flash"].map((model) => [name, model] as const),
      )
      .filter(([name, model]) => {
        const price = tablePrice(name, model, null, at);
        const actual = price === null ? null : costOf(price, { inputTokens: 1000, outputTokens: 700 });
        const expected = packageCost(name, model, 1000, 0, at);
        return expected === null || actual === null ? expected !== actual : Math.abs(expected - actual) >= 1;
      });
    expect(wrong).toEqual([]);
  });

  test.each([
    ["openai", "gpt-4o-mini", 150_000_000],
    ["OpenAI", " GPT-4o-mini ", 150_000_000],
    ["gemini", "gemini-2.5-flash", 300_000_000],
    ["xai", "grok-4", 3_000_000_000],
  ])("knows %s %s", (provider, model, expected) => {
    expect(tablePrice(provider, model, null, at)).toMatchObject({ input_nano_per_mtok: expected });
  });

  test("knows nothing of local runtimes, of unknown models, nor of models that it lists without a price", () => {
    for (const provider of LOCAL_RUNTIME_NAMES) expect(tablePrice(provider, "gpt-4o", null, at)).toBeNull();
    expect(tablePrice("openai", "no-such-model", null, at)).toBeNull();
    expect(tablePrice("no-such-provider", "gpt-4o", null, at)).toBeNull();
    expect(tablePrice("google", "gemma-3", null, at)).toBeNull();
  });
});
