import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DEFAULT_WEIGHTS } from "../../../domain/config.ts";
import { choose } from "../../../domain/routing/choice.ts";
import { explain } from "../../../domain/routing/explanation.ts";
import type { RoutePolicy, RouteRequest } from "../../../domain/routing/filter.ts";
import { weightsFor, weightsOf } from "../../../domain/routing/scoring.ts";
import { PRIORITIES } from "../../../domain/words/requirements.ts";
import { SCORE_PARTS } from "../../../domain/words/score-part.ts";
import type { Parts } from "../../../domain/words/verdict.ts";
import {
  chosenOf,
  fleetOf,
  OFFLINE_AFTER_MS,
  outcomes,
  policies,
  policy,
  request,
  requests,
  type Spec,
  specs,
  withLoaded,
} from "../fleet/sample-fleet.ts";
import { NOON } from "../job/sample-jobs.ts";
import { scoreOf } from "./score-of.ts";

describe("urgency", () => {
  const at = (load: number): Spec => ({ instance: `with-${load}`, concurrency: 4, load });

  test.each([
    ["critical", "with-0"],
    ["high", "with-0"],
    ["normal", "with-0"],
    ["low", "with-3"],
  ] as const)("%s goes to %s of workers that differ in their load alone", (urgency, expected) => {
    expect(chosenOf(fleetOf([1, 0, 3, 4, 2].map((load) => at(load))), request({ urgency }), policy())).toBe(expected);
  });

  test("critical takes the freest and low the busiest of any that have room (property)", () => {
    const loads = fc.uniqueArray(fc.nat({ max: 9 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(loads, (given) => {
        const fleet = fleetOf(given.map((load) => ({ instance: `with-${load}`, concurrency: 10, load })));
        expect(chosenOf(fleet, request({ urgency: "critical" }), policy())).toBe(`with-${Math.min(...given)}`);
        expect(chosenOf(fleet, request({ urgency: "low" }), policy())).toBe(`with-${Math.max(...given)}`);
      }),
    );
  });

  test("critical pays for reliability where normal saves, and low saves most", () => {
    const given: Spec[] = [
      { instance: "sound", provider: "anthropic", outcomes: outcomes(8, 0) },
      { instance: "cheap-but-flaky", provider: "local", outcomes: outcomes(6, 2) },
    ];
    const rules = policy({ priceOf: (provider) => (provider === "local" ? 0 : 90_000_000_000) });
    const chosen = PRIORITIES.map((urgency) => [urgency, chosenOf(fleetOf(given), request({ urgency }), rules)]);
    expect(Object.fromEntries(chosen)).toEqual({
      low: "cheap-but-flaky",
      normal: "cheap-but-flaky",
      high: "sound",
      critical: "sound",
    });
  });

  test.each(PRIORITIES)("%s weighs parts that add up to 100", (urgency) => {
    const sum = Object.values(weightsFor(urgency, DEFAULT_WEIGHTS)).reduce((total, weight) => total + weight, 0);
    expect(sum).toBeCloseTo(100, 9);
    expect(
      scoreOf(
        { capacity: 1, tag_fit: 1, model_loaded: 1, success: 1, freshness: 1, cost: 1, tier: 1 },
        weightsFor(urgency, DEFAULT_WEIGHTS),
      ),
    ).toBe(100);
  });

  test.each([
    ["low", { cost: 3, success: 0.5, freshness: 0.5 }],
    ["normal", {}],
    ["high", { capacity: 1.2, success: 1.5, freshness: 1.2, cost: 0.5 }],
    ["critical", { capacity: 1.5, success: 2, freshness: 1.5, cost: 0 }],
  ] as const)("%s weighs each part by its own factor, whatever the size of the weights", (urgency, factors) => {
    const factorOf = (part: string): number => (factors as Record<string, number>)[part] ?? 1;
    for (const size of [0.001, 1, 1000]) {
      const even = Object.fromEntries(SCORE_PARTS.map((part) => [part, size])) as unknown as typeof DEFAULT_WEIGHTS;
      const total = SCORE_PARTS.reduce((sum, part) => sum + factorOf(part), 0);
      for (const part of SCORE_PARTS)
        expect(weightsFor(urgency, even)[part]).toBeCloseTo((100 * factorOf(part)) / total, 9);
    }
  });

  test.each(PRIORITIES)("%s in a conversation gives a fifth of 100 to the worker of the last turn", (urgency) => {
    const { affinity, ...others } = weightsOf(request({ urgency, session: { worker: null } }), DEFAULT_WEIGHTS);
    expect(affinity).toBe(20);
    expect(Object.values(others).reduce((total, weight) => total + weight, 0)).toBeCloseTo(80, 9);
  });

  test("with no weights at all still chooses, by turn", () => {
    const none = Object.fromEntries(SCORE_PARTS.map((part) => [part, 0])) as unknown as typeof DEFAULT_WEIGHTS;
    const fleet = fleetOf([
      { instance: "a", lastTurn: 2 },
      { instance: "b", lastTurn: 1 },
    ]);
    expect(choose(fleet, request(), policy({ weights: none }))).toMatchObject({
      score: 0,
      member: { worker: { instance: "b" } },
    });
  });
});

describe("in a conversation", () => {
  test("the worker of the last turn has the next one, unless another is better by a fifth of all points", () => {
    const session = { worker: "last" };
    const given = (load: number): Spec[] => [
      { instance: "last", concurrency: 4, load, lastTurn: 2 },
      { instance: "other", concurrency: 4, lastTurn: 1 },
    ];
    const weights = { ...DEFAULT_WEIGHTS, capacity: 40 };
    expect(chosenOf(fleetOf(given(0)), request({ session }), policy())).toBe("last");
    expect(chosenOf(fleetOf(given(3)), request({ session }), policy({ weights }))).toBe("other");
    expect(chosenOf(fleetOf(given(0)), request({ session: { worker: null } }), policy())).toBe("other");
    expect(chosenOf(fleetOf(given(0)), request({ session: { worker: "gone" } }), policy())).toBe("other");
  });

  test("and out of one, a score is what its parts add up to (property)", () => {
    const sessions = fc.constantFrom(undefined, { worker: null }, { worker: "w0" }, { worker: "gone" });
    fc.assert(
      fc.property(specs, requests, policies, sessions, (given, plain, rules, session) => {
        const asked = { ...plain, session };
        for (const { instance, score, breakdown } of explain(fleetOf(given), asked, rules).workers) {
          if (score === null) continue;
          expect(breakdown.affinity).toBe(session === undefined ? undefined : Number(session.worker === instance));
          expect(score).toBe(scoreOf(breakdown as Parts, weightsOf(asked, rules.weights)));
        }
      }),
    );
  });
});

describe("the score", () => {
  const parts = { capacity: 1, tag_fit: 1, model_loaded: 1, success: 1, freshness: 1, cost: 1, tier: 1 };

  test("has three decimals", () => {
    const [weights, third] = [weightsFor("normal", DEFAULT_WEIGHTS), 1 / 3];
    const score = scoreOf({ ...parts, capacity: third }, { ...weights, capacity: 1 });
    expect(score).toBe(Number(score.toFixed(3)));
    expect(score).not.toBe(Number(score.toFixed(2)));
  });

  const prefers = (
    expected: Spec,
    other: Spec,
    asked: Partial<RouteRequest> = {},
    rules: Partial<RoutePolicy> = {},
  ) => {
    for (const given of [
      [
        { ...expected, instance: "z" },
        { ...other, instance: "a" },
      ],
      [
        { ...other, instance: "a" },
        { ...expected, instance: "z" },
      ],
    ]) {
      expect(chosenOf(fleetOf(given), request(asked), policy(rules))).toBe("z");
    }
  };

  test("keeps specialised workers for the jobs that need them", () => {
    prefers({ tags: [] }, { tags: ["gpu", "a100"] });
    prefers({ tags: ["gpu"] }, { tags: ["gpu", "a100"] }, { tags: ["gpu"] });
    const full = fleetOf([
      { instance: "plain", load: 1 },
      { instance: "special", tags: ["gpu"] },
    ]);
    expect(chosenOf(full, request(), policy())).toBe("special");
  });

  test("prefers a worker that names the model over a worker that may have to load it", () => {
    prefers({ models: ["large"] }, { models: null }, { model: "large" });
  });

  test("prefers the worker whose recent jobs went well; failures of the job or its provider do not count", () => {
    prefers({ outcomes: outcomes(3, 0) }, { outcomes: outcomes(2, 1) });
    prefers({ outcomes: outcomes(3, 3, "context_length") }, { outcomes: outcomes(3, 3) });
  });

  test("prefers the worker that was heard of last, once the other has missed a heartbeat", () => {
    prefers({ lastHeartbeatAt: NOON }, { lastHeartbeatAt: NOON - OFFLINE_AFTER_MS / 2 });
    prefers({ lastHeartbeatAt: NOON - 45_000, viaSocket: true, isConnected: true }, { lastHeartbeatAt: NOON - 30_000 });
    const beats = [10_000, 1_000].map((ageMs, at) => ({ instance: `w${at}`, lastHeartbeatAt: NOON - ageMs }));
    expect(chosenOf(fleetOf(beats), request(), policy())).toBe("w0");
  });

  test("counts a worker as fresh until it missed one of four heartbeats before it is offline", () => {
    const freshness = (ageMs: number) =>
      explain(fleetOf([{ lastHeartbeatAt: NOON - ageMs }]), request(), policy()).workers[0]?.breakdown.freshness;
    expect([0, 14_999, 15_000, 29_999, 30_000, 45_000, 60_000].map(freshness)).toEqual([
      1, 1, 0.75, 0.75, 0.5, 0.25, 0,
    ]);
  });

  test("gives a worker that fits in everything every point", () => {
    const spec: Spec = { tags: ["gpu", "eu"], models: ["large"], tier: "premium", provider: "local" };
    const asked = request({ tags: ["gpu", "eu"], model: "large", tier: "premium" });
    expect(explain(fleetOf([spec]), asked, policy({ priceOf: () => 0 })).workers[0]?.score).toBe(100);
  });

  test("halves the points for cost at a dollar per million tokens", () => {
    const cost = (price: number | null) =>
      explain(fleetOf([{}]), request(), policy({ priceOf: () => price })).workers[0]?.breakdown.cost;
    expect([0, 1_000_000_000, 3_000_000_000, null].map(cost)).toEqual([1, 0.5, 0.25, 0.5]);
  });

  test("prefers the cheaper provider, and a known middling price to an unknown one no more and no less", () => {
    const price = (known: Record<string, number>) => ({ priceOf: (provider: string) => known[provider] ?? null });
    prefers({ provider: "local" }, { provider: "openai" }, {}, price({ local: 0, openai: 2_000_000_000 }));
    prefers({ provider: "local" }, { provider: "openai" }, {}, price({ local: 0 }));
    prefers({ provider: "local" }, { provider: "openai" }, {}, price({ openai: 2_000_000_000 }));
  });

  test("prefers the tier that was asked for, then the nearest", () => {
    prefers({ tier: "premium" }, { tier: "standard" }, { tier: "premium" });
    prefers({ tier: "standard" }, { tier: "economy" }, { tier: "premium" });
    prefers({ tier: null }, { tier: "economy" }, { tier: "premium" });
  });

  test("follows the tenant's weights", () => {
    const none = Object.fromEntries(SCORE_PARTS.map((part) => [part, 0])) as unknown as typeof DEFAULT_WEIGHTS;
    prefers(
      { load: 3, concurrency: 4, tier: "premium" },
      { concurrency: 4 },
      { tier: "premium" },
      { weights: { ...none, tier: 1 } },
    );
    prefers(
      { concurrency: 4 },
      { load: 3, concurrency: 4, tier: "premium" },
      { tier: "premium" },
      { weights: { ...none, capacity: 1 } },
    );
  });

  test("gives a worker that let leases expire the next one only where nobody else may have it", () => {
    prefers({ load: 3, concurrency: 4, outcomes: outcomes(0, 5) }, { concurrency: 4, expiredLeases: 1 });
    expect(chosenOf(fleetOf([{ expiredLeases: 4 }]), request(), policy())).toBe("w1");
  });
});

describe("a loaded model", () => {
  const chosenFor = (fleet: readonly Spec[]) => chosenOf(fleetOf(fleet), request({ model: "large" }), policy());

  test("draws its jobs to the worker that has it, and unloaded ones away, but never filters", () => {
    const cold = { instance: "cold", machine: withLoaded(["small"]) };
    const warm = { instance: "warm", machine: withLoaded(["large:latest"]) };
    const silent = { instance: "silent" };
    expect([chosenFor([cold, warm]), chosenFor([warm, silent]), chosenFor([cold, silent]), chosenFor([cold])]).toEqual([
      "warm",
      "warm",
      "silent",
      "cold",
    ]);
  });
});
