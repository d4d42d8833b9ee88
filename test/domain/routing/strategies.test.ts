import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { STRATEGIES } from "../../../domain/config.ts";
import { choose } from "../../../domain/routing/choice.ts";
import type { RoutePolicy, RouteRequest } from "../../../domain/routing/filter.ts";
import { PRIORITIES } from "../../../domain/words/requirements.ts";
import { chosenOf, fleetOf, outcomes, policy, request, type Spec } from "../fleet/sample-fleet.ts";

describe("turns", () => {
  test.each(STRATEGIES)("under %s, workers that are alike get every n-th job each (property)", (strategy) => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 4 }), (many, rounds) => {
        const fleet = fleetOf(Array.from({ length: many }, (_, at) => ({ instance: `w${at}` })));
        const rules = policy({ strategy, chain: ["openai"] });
        const turns = Array.from({ length: many * rounds }, () => {
          const instance = chosenOf(fleet, request(), rules) ?? "";
          fleet.addLoad(instance, "openai", 1);
          fleet.addLoad(instance, "openai", -1);
          return instance;
        });
        expect(new Set(turns.slice(0, many)).size).toBe(many);
        expect(turns.slice(many)).toEqual(turns.slice(0, -many));
      }),
    );
  });

  test("under round_robin go round whatever the score, load and tags", () => {
    const fleet = fleetOf([
      { instance: "a", concurrency: 100 },
      { instance: "b", concurrency: 3, tags: ["gpu"], outcomes: outcomes(0, 9) },
    ]);
    const turns = Array.from({ length: 8 }, () => {
      const instance = chosenOf(fleet, request(), policy({ strategy: "round_robin" })) ?? "";
      fleet.addLoad(instance, "openai", 1);
      return instance;
    });
    expect(turns).toEqual(["a", "b", "a", "b", "a", "b", "a", "a"]);
  });
});

describe("the strategies", () => {
  const given: Spec[] = [
    { instance: "a", provider: "anthropic", concurrency: 4 },
    { instance: "l", provider: "local", concurrency: 4, load: 2 },
    { instance: "o", provider: "openai", concurrency: 4, load: 1 },
  ];
  const chosen = (rules: Partial<RoutePolicy>, asked: Partial<RouteRequest> = {}) =>
    chosenOf(fleetOf(given), request(asked), policy(rules));
  const chain = ["local", "openai", "anthropic"];

  test("fallback takes the first provider of the chain that has an eligible worker", () => {
    expect(chosen({ strategy: "fallback", chain })).toBe("l");
    expect(chosen({ strategy: "fallback", chain }, { excludedProviders: ["local"] })).toBe("o");
    expect(chosen({ strategy: "fallback", chain }, { excludedProviders: ["local", "openai"] })).toBe("a");
    expect(chosen({ strategy: "fallback", chain, closedProviders: new Map([["local", "backs off"]]) })).toBe("o");
    expect(
      chosen({ strategy: "fallback", chain: ["openai", "nobody's"] }, { excludedProviders: ["openai"] }),
    ).toBeNull();
    expect(chosen({ strategy: "fallback", chain: [] })).toBeNull();
  });

  test.each(STRATEGIES)("under %s a job's own provider binds", (strategy) => {
    for (const provider of ["anthropic", "local", "openai"]) {
      expect(chosen({ strategy, chain: ["openai"] }, { provider })).toBe(provider.slice(0, 1));
    }
  });

  test("cheapest takes the lowest price, and an unknown one last", () => {
    const prices: Record<string, number> = { local: 5, openai: 3 };
    const priceOf = (provider: string) => prices[provider] ?? null;
    expect(chosen({ strategy: "cheapest", priceOf })).toBe("o");
    expect(chosen({ strategy: "cheapest", priceOf: (provider) => (provider === "openai" ? null : 5) })).toBe("a");
    expect(chosen({ strategy: "cheapest", priceOf }, { provider: "anthropic" })).toBe("a");
  });

  test("least_loaded takes the smallest share of its concurrency in use, at any urgency", () => {
    for (const urgency of PRIORITIES) expect(chosen({ strategy: "least_loaded" }, { urgency })).toBe("a");
    const shares = fleetOf([
      { instance: "one-of-two", concurrency: 2, load: 1 },
      { instance: "three-of-ten", concurrency: 10, load: 3 },
    ]);
    expect(chosenOf(shares, request(), policy({ strategy: "least_loaded" }))).toBe("three-of-ten");
  });

  test("leave a provider that takes no new jobs alone, and go on with the others", () => {
    const closedProviders = new Map([["anthropic", "provider anthropic is at its max_concurrent (2)"]]);
    expect(chosen({ closedProviders })).toBe("o");
    expect(choose(fleetOf(given), request(), policy({ closedProviders }))?.refused).toEqual({ provider_limit: 1 });
  });
});
