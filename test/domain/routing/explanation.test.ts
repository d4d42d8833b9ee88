// Why a job goes where it goes, and why it waits.

import { describe, expect, test } from "vitest";
import { choose } from "../../../domain/routing/choice.ts";
import {
  explain,
  heldBack,
  isElsewhere,
  isOnlyFull,
  whyNoCapacity,
  whyWaiting,
} from "../../../domain/routing/explanation.ts";
import type { RoutePolicy, RouteRequest } from "../../../domain/routing/filter.ts";
import { fleetOf, policy, request, type Spec } from "../fleet/sample-fleet.ts";

test("a worker that let its last lease expire comes after the others, and the explanation says so", () => {
  const fleet = fleetOf([{ instance: "late", concurrency: 9, expiredLeases: 1 }, { instance: "prompt" }]);
  const { selected, workers } = explain(fleet, request(), policy());
  expect(selected).toBe("prompt");
  expect(workers.map(({ instance, note }) => [instance, note])).toEqual([
    ["prompt", undefined],
    ["late", expect.stringContaining("did not start")],
  ]);
  expect(choose(fleet, request(), policy())?.runnerUp?.member.worker.instance).toBe("late");
});

describe("an explanation", () => {
  const given: Spec[] = [
    { instance: "c", tags: ["gpu"] },
    { instance: "b", load: 1, provider: "local" },
    { instance: "a", load: 1, provider: "local" },
    { instance: "d", load: 1 },
  ];
  const asked = request({ tags: ["gpu"], provider: "openai" });

  test("lists the best first, then those that lack least, by name", () => {
    const { workers } = explain(fleetOf(given), asked, policy());
    expect(workers.map(({ instance, reasons }) => [instance, reasons.length])).toEqual([
      ["c", 0],
      ["d", 2],
      ["a", 3],
      ["b", 3],
    ]);
  });

  test("of one worker names it alone, whether it may have the job or not, and nobody where there is none", () => {
    const about = (instance: string) => explain(fleetOf(given), asked, policy(), [], { instance });
    expect(["c", "a", "gone"].map((name) => about(name).workers.map((one) => one.instance))).toEqual([
      ["c"],
      ["a"],
      [],
    ]);
    expect(about("a")).toMatchObject({ selected: "c", eligibleCount: 1, totalCount: 4 });
  });

  test("of a job that may not run yet selects nobody, and says why to each", () => {
    const free = explain(fleetOf(given), asked, policy(), ["swapped"]);
    const { selected, eligibleCount, notes, workers } = heldBack(free, "too early");
    expect([selected, eligibleCount, notes]).toEqual([null, 0, ["swapped", "too early"]]);
    for (const [at, { eligible, score, breakdown, reasons }] of workers.entries()) {
      expect([eligible, score, breakdown]).toEqual([false, null, {}]);
      expect(reasons).toEqual([...(free.workers[at]?.reasons ?? []), "too early"]);
    }
  });

  test("names no more of those that may have the job, and of the others, than it is asked for", () => {
    const fleet = fleetOf([...given, { instance: "e", tags: ["gpu"] }]);
    const named = (limit: number) => explain(fleet, asked, policy(), [], { limit }).workers.map((one) => one.instance);
    expect([named(1), named(2).length]).toEqual([["c", "d"], 4]);
    expect(explain(fleet, asked, policy(), [], { limit: 1 })).toMatchObject({ eligibleCount: 2, totalCount: 5 });
  });
});

describe("a job that nobody takes", () => {
  const only = (spec: Spec, rules: Partial<RoutePolicy> = {}, asked: Partial<RouteRequest> = {}) =>
    isOnlyFull(fleetOf([spec]), request(asked), policy(rules));

  test("waits for a free place where a worker is full or its provider is at its limit", () => {
    expect(only({ load: 1 })).toBe(true);
    expect(only({}, { closedProviders: new Map([["openai", "at its limit"]]) })).toBe(true);
  });

  test("waits for a worker where none could have it, free or not", () => {
    expect(only({ load: 1 }, {}, { tags: ["gpu"] })).toBe(false);
    expect(only({ load: 1 }, {}, { provider: "local" })).toBe(false);
    expect(only({ load: 1 }, {}, { api: "messages" })).toBe(false);
    expect(only({ load: 1, pause: { reason: "mending", untilAt: null } })).toBe(false);
    expect(only({ load: 1, lastHeartbeatAt: 0 })).toBe(false);
  });

  test("wants no machine where the provider that it names takes nothing now", () => {
    const rules = policy({ closedProviders: new Map([["openai", "its budget is reached"]]) });
    const wanted = (asked: Partial<RouteRequest>) => whyNoCapacity(fleetOf([{}]), request(asked), rules);
    expect(wanted({ provider: "openai" })).toBeNull();
    // A machine of another provider could take it.
    expect(wanted({})).toBe("all_full");
    expect(whyNoCapacity(fleetOf([{ load: 1 }]), request({ provider: "openai" }), policy())).toBe("all_full");
  });

  test.each<[string | null, Spec, Partial<RouteRequest>]>([
    [null, {}, {}],
    ["no_worker", {}, { tags: ["gpu"] }],
    ["no_worker", { lastHeartbeatAt: 0 }, {}],
    ["all_paused", { isHalted: true }, {}],
    ["all_unavailable", { unavailable: "its runtime does not answer" }, {}],
    ["all_full", { busy: "own" }, {}],
  ])("says what would help, for a machine to be woken: %s", (reason, spec, asked) => {
    expect(whyNoCapacity(fleetOf([spec]), request(asked), policy())).toBe(reason);
  });

  test("is for others where a worker that has not tried it could have it, free or not", () => {
    const fleet = fleetOf([{ instance: "a" }, { instance: "b", load: 1 }, { instance: "c", tags: ["gpu"], load: 1 }]);
    const others = (asked: Partial<RouteRequest>, ...tried: string[]) =>
      isElsewhere(fleet, request(asked), policy(), tried);
    expect([others({}, "a"), others({}, "a", "b", "c")]).toEqual([true, false]);
    expect([others({ tags: ["gpu"] }, "a"), others({ tags: ["gpu"] }, "c")]).toEqual([true, false]);
    // Who failed it before is asked again where nobody else is left.
    expect(others({ avoidedWorkers: ["b", "c"] }, "a")).toBe(true);
  });
});

describe("a job that waits", () => {
  const why = (given: Spec[], asked: Partial<RouteRequest> = {}, rules: Partial<RoutePolicy> = {}) =>
    whyWaiting(fleetOf(given), request(asked), policy(rules));

  test("says so where there is no worker at all", () => {
    expect(why([])).toBe("no worker is registered");
  });

  test("names the one worker that matches, and what is the matter with it, whatever the others are", () => {
    const others = [{ instance: "w2" }, { instance: "w3", tags: ["eu"] }];
    const paused = { instance: "w1", tags: ["gpu"], pause: { reason: "mending", untilAt: null } };
    expect(why([...others, paused], { tags: ["gpu"] })).toBe('worker "w1" is paused: mending');
    expect(why([...others, { instance: "w1", tags: ["gpu"], load: 1 }], { tags: ["gpu"] })).toBe(
      'worker "w1" is at capacity',
    );
  });

  test("counts the matching workers where they are many", () => {
    const three = (spec: Spec) => ["a", "b", "c"].map((instance) => ({ instance, ...spec }));
    expect(why(three({ load: 1 }))).toBe("all 3 matching workers are at capacity");
    expect(why(three({ concurrency: 0 }))).toBe("all 3 matching workers are set to take no jobs: concurrency 0");
    expect(why([...three({ concurrency: 0 }), { instance: "d", load: 1 }])).toBe(
      "all 4 matching workers are at capacity",
    );
    expect(why(three({ lastHeartbeatAt: 0 }))).toBe("all 3 matching workers are offline");
    expect(why([...three({ lastHeartbeatAt: 0 }), { instance: "d", viaSocket: true }])).toBe(
      "all 4 matching workers are offline or disconnected",
    );
    expect(why(three({ isHalted: true }))).toBe("all 3 matching workers are paused");
  });

  test("tells a tag that nobody offers from tags that nobody offers together", () => {
    const given = [
      { instance: "a", tags: ["gpu"] },
      { instance: "b", tags: ["eu"] },
    ];
    expect(why(given, { tags: ["gpu", "a100"] })).toBe('no worker offers tag "a100"');
    expect(why(given, { tags: ["gpu", "eu"] })).toBe('no worker offers all of tags "gpu", "eu"');
    const ten = Array.from({ length: 10 }, (_, at) => `t${at}`);
    expect(why(given, { tags: ten })).toMatch(/^no worker offers tag "t0", "t1", .*"t7" and 2 more$/);
  });
});
