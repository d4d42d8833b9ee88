import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { STRATEGIES } from "../../domain/config.ts";
import { choose, explain, heldBack, isOnlyFull, whyWaiting } from "../../domain/routing.ts";
import { firstRefusal, type RoutePolicy, type RouteRequest, refusalsOf } from "../../domain/routing-filter.ts";
import { SCORE_PARTS } from "../../domain/score-part.ts";
import { scoreOf, scoreParts, weightsFor } from "../../domain/scoring.ts";
import { HALT_REASON } from "../../domain/worker.ts";
import {
  chosenOf,
  fleetOf,
  OFFLINE_AFTER_MS,
  policies,
  policy,
  request,
  requests,
  type Spec,
  signsOf,
  specs,
} from "./sample-fleet.ts";
import { NOON } from "./sample-jobs.ts";

/** Built a moment ago, so a pause may have ended since. */
const situation = (given: readonly Spec[], rules: RoutePolicy) => ({
  fleet: fleetOf(given, NOON - 1),
  rules: { ...rules, lastSignOf: signsOf(given, NOON) },
});

const sameModel = (one: string, other: string): boolean =>
  [one, other].map((name) => name.replace(/:latest$/, "")).every((name, _, [first]) => name === first);

/** Whether a worker may have a job, by the contract and without any index. */
const mayHave = (one: Spec, asked: RouteRequest, rules: RoutePolicy, all: readonly Spec[] = []): boolean =>
  mightHave(one, asked, rules) &&
  (one.load ?? 0) < (one.concurrency ?? 1) &&
  // A worker that failed the job comes last while any other could have it, busy or not.
  (!asked.avoidedWorkers.includes(one.instance ?? "") ||
    !all.some(
      (other) =>
        !asked.avoidedWorkers.includes(other.instance ?? "") &&
        (other.concurrency ?? 1) > 0 &&
        mightHave(other, asked, rules),
    ));

/** Ignoring its current load. */
const mightHave = (one: Spec, asked: RouteRequest, rules: RoutePolicy): boolean => {
  const provider = one.provider ?? "";
  const isBound = asked.provider !== null;
  const heardAt = Math.max(one.lastHeartbeatAt ?? 0, one.socketAgeMs == null ? 0 : NOON - one.socketAgeMs);
  return [
    !isBound || asked.provider === provider,
    rules.strategy !== "fallback" ||
      rules.chain.every((next) => asked.excludedProviders.includes(next)) ||
      !asked.excludedProviders.includes(provider),
    provider !== "echo" ||
      isBound ||
      !rules.isEchoAside ||
      asked.model === "echo" ||
      (rules.strategy === "fallback" && rules.chain.includes("echo")),
    isBound || rules.strategy !== "fallback" || rules.chain.includes(provider),
    asked.api === null || one.apis?.includes(asked.api) === true,
    asked.tags.every((tag) => one.tags?.includes(tag)),
    asked.model === null || one.models == null || one.models.some((name) => sameModel(name, asked.model ?? "")),
    NOON - heardAt <= OFFLINE_AFTER_MS,
    !one.viaSocket || one.isConnected || one.isClaiming,
    one.pause == null || (one.pause.untilAt !== null && one.pause.untilAt <= NOON),
    !one.isHalted,
    one.unavailable == null,
    !rules.closedProviders.has(provider),
  ].every(Boolean);
};

/** The filter with this text. */
const filterOf = (reason: string): string => {
  const words: [string, RegExp][] = [
    ["api", /^does not offer the API "/],
    ["provider", /^provider is "|has failed this job already$/],
    ["echo", /^echo answers only/],
    ["unavailable", /^unavailable: /],
    ["failed_before", /^failed this job/],
    ["chain", /is not in routing\.chain$/],
    ["tags", /^missing tag /],
    ["model", /^does not serve model /],
    ["offline", /^offline/],
    ["paused", /^paused: /],
    ["capacity", /^at capacity /],
    ["provider_limit", /backs off$/],
  ];
  return words.find(([, form]) => form.test(reason))?.[0] ?? `unknown: ${reason}`;
};

const tally = (names: readonly string[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
};

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
    const { selected, eligibleCount, notes, workers } = heldBack(explain(fleetOf(given), asked, policy()), "too early");
    expect([selected, eligibleCount, notes]).toEqual([null, 0, ["too early"]]);
    for (const one of workers) {
      expect(one).toMatchObject({ eligible: false, score: null, breakdown: {} });
      expect(one.reasons.at(-1)).toBe("too early");
    }
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
});

describe("a job of the front door", () => {
  test("waits while no worker offers its API, and goes to a worker that does", () => {
    const fleet = fleetOf([{ instance: "old" }, { instance: "new", apis: ["messages"] }]);
    const asked = request({ api: "messages" });
    expect(chosenOf(fleet, asked, policy())).toBe("new");
    expect(whyWaiting(fleet, request({ api: "responses" }), policy())).toBe('no worker offers the API "responses"');
    expect(chosenOf(fleet, request({ api: "responses" }), policy())).toBeNull();
  });
});

describe("for any fleet, request and policy", () => {
  const situations = fc.tuple(specs, requests, policies);
  const check = (holds: (given: Spec[], asked: RouteRequest, rules: RoutePolicy) => void, numRuns = 1000) =>
    fc.assert(
      fc.property(situations, ([given, asked, rules]) => holds(given, asked, rules)),
      { numRuns },
    );

  test("the choice is the first of the explanation and its runner-up the second, with the same score and breakdown", () => {
    check((given, asked, rules) => {
      const dispatched = situation(given, rules);
      const choice = choose(dispatched.fleet, asked, dispatched.rules);
      const explained = situation(given, rules);
      const { selected, workers, strategy } = explain(explained.fleet, asked, explained.rules);
      expect(choice?.member.worker.instance ?? null).toBe(selected);
      expect(strategy).toBe(rules.strategy);
      expect(workers.length).toBe(given.length);
      if (choice === null) {
        expect(workers.some((verdict) => verdict.eligible)).toBe(false);
        return;
      }
      expect(workers[0]).toMatchObject({
        instance: selected,
        score: choice.score,
        breakdown: choice.breakdown,
        reasons: [],
      });
      const next = workers[1]?.eligible === true ? workers[1] : null;
      const { runnerUp } = choice;
      expect(runnerUp?.member.worker.instance ?? null).toBe(next?.instance ?? null);
      expect([runnerUp?.score, runnerUp?.breakdown]).toEqual([next?.score ?? undefined, next?.breakdown]);
    });
  });

  test("a worker is eligible exactly when the contract lets it have the job", () => {
    check((given, asked, rules) => {
      const { fleet, rules: live } = situation(given, rules);
      for (const verdict of explain(fleet, asked, live).workers) {
        const one = given.find((candidate) => candidate.instance === verdict.instance);
        expect([verdict.instance, verdict.eligible]).toEqual([one?.instance, mayHave(one ?? {}, asked, rules, given)]);
        expect(verdict.reasons.length === 0).toBe(verdict.eligible);
        expect(verdict.score === null).toBe(!verdict.eligible);
      }
      const chosen = given.find((one) => one.instance === chosenOf(fleet, asked, live));
      if (chosen !== undefined) expect(mayHave(chosen, asked, rules, given)).toBe(true);
    });
  });

  test("everyone who was refused is counted under the first filter that refused, and the counts add up", () => {
    check((given, asked, rules) => {
      const { fleet, rules: live } = situation(given, rules);
      const choice = choose(fleet, asked, live);
      if (choice === null) return;
      const first = [...fleet.members()].map((member) => firstRefusal(member, asked, live, fleet));
      expect(choice.refused).toEqual(tally(first.filter((reason) => reason !== null).map(filterOf)));
    });
  });

  test("a worker's first refusal is the first of all its refusals, and null for the chosen worker", () => {
    check((given, asked, rules) => {
      const { fleet, rules: live } = situation(given, rules);
      for (const member of fleet.members()) {
        expect(firstRefusal(member, asked, live, fleet)).toBe(refusalsOf(member, asked, live, fleet)[0] ?? null);
      }
      const choice = choose(fleet, asked, live);
      if (choice !== null) expect(firstRefusal(choice.member, asked, live, fleet)).toBeNull();
      else for (const member of fleet.members()) expect(firstRefusal(member, asked, live, fleet)).not.toBeNull();
    });
  });

  test("there is a reason to wait exactly when nobody is chosen", () => {
    check((given, asked, rules) => {
      const { fleet, rules: live } = situation(given, rules);
      const reason = whyWaiting(fleet, asked, live);
      expect(reason === null).toBe(choose(fleet, asked, live) !== null);
      if (reason !== null) expect(reason).not.toMatch(/null|undefined|NaN|^$/);
    });
  });

  test("explaining changes nothing: asked again, it says the same", () => {
    check((given, asked, rules) => {
      const { fleet, rules: live } = situation(given, rules);
      const first = explain(fleet, asked, live);
      choose(fleet, asked, live);
      whyWaiting(fleet, asked, live);
      expect(explain(fleet, asked, live)).toEqual(first);
    }, 200);
  });

  test("scores lie between 0 and 100, every part between 0 and 1", () => {
    check((given, asked, rules) => {
      const { fleet, rules: live } = situation(given, rules);
      for (const { eligible, score, breakdown } of explain(fleet, asked, live).workers) {
        if (!eligible) continue;
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(100.001);
        expect(Object.keys(breakdown).sort()).toEqual([...SCORE_PARTS].sort());
        for (const part of Object.values(breakdown)) {
          expect(part).toBeGreaterThanOrEqual(0);
          expect(part).toBeLessThanOrEqual(1);
        }
      }
    });
  });

  /**
   * What each strategy compares first; smaller is better. Equal workers are compared by score, then by whose turn is
   * longest ago.
   */
  const cost: Record<(typeof STRATEGIES)[number], (one: Spec, asked: RouteRequest, rules: RoutePolicy) => number> = {
    score: () => 0,
    fallback: (one, asked, rules) => (asked.provider === null ? rules.chain.indexOf(one.provider ?? "") : 0),
    least_loaded: (one) => (one.load ?? 0) / (one.concurrency ?? 1),
    cheapest: (one, asked, rules) => rules.priceOf(one.provider ?? "", asked.model) ?? Number.POSITIVE_INFINITY,
    round_robin: (one) => one.lastTurn ?? 0,
  };
  test.each(STRATEGIES)("%s takes the best by its own measure, then by score, then by turn", (strategy) => {
    check((given, asked, drawn) => {
      const { fleet, rules } = situation(given, { ...drawn, strategy });
      const choice = choose(fleet, asked, rules);
      if (choice === null) return;
      const keyOf = (one: Spec): number[] => {
        const member = fleet.get(one.instance ?? "");
        if (member === undefined) throw new Error(`${one.instance} is not in the fleet`);
        const score = scoreOf(scoreParts(member, asked, rules), weightsFor(asked.urgency, rules.weights));
        return [one.expiredLeases ?? 0, cost[strategy](one, asked, rules), -score, one.lastTurn ?? 0];
      };
      const candidates = given.filter((one) => mayHave(one, asked, rules, given));
      const chosen = candidates.find((one) => one.instance === choice.member.worker.instance);
      const chosenKey = keyOf(chosen ?? {});
      for (const other of candidates) {
        const otherKey = keyOf(other);
        const at = otherKey.findIndex((part, index) => part !== chosenKey[index]);
        if (at >= 0) expect(otherKey[at]).toBeGreaterThan(chosenKey[at] ?? 0);
      }
    }, 400);
  });
});

describe("a worker is refused", () => {
  const NOW_ISO = new Date(NOON).toISOString();
  const closedProviders = new Map([["openai", `provider openai backs off until ${NOW_ISO}`]]);
  const openaiOnly = { strategy: "fallback" as const, chain: ["anthropic"] };

  test.each<[string, Spec, Partial<RouteRequest>, Partial<RoutePolicy>, string, string]>([
    [
      "whose provider is another",
      {},
      { provider: "local" },
      {},
      'provider is "openai", the job wants "local"',
      'no worker offers provider "local"',
    ],
    [
      "whose provider failed it",
      {},
      { excludedProviders: ["openai"] },
      { strategy: "fallback", chain: ["openai", "anthropic"] },
      'provider "openai" has failed this job already',
      '"openai" failed this job, and no worker offers "anthropic", the rest of routing.chain',
    ],
    [
      "that is the built-in echo, where others have registered",
      { provider: "echo", models: ["echo"] },
      {},
      {},
      'echo answers only jobs that ask for provider "echo" or model "echo"',
      'worker "w1" is the built-in echo, and echo answers only jobs that ask for provider "echo" or model "echo"',
    ],
    [
      "that says that it can take nothing",
      { unavailable: "its runtime does not answer" },
      {},
      {},
      "unavailable: its runtime does not answer",
      'worker "w1" is unavailable: its runtime does not answer',
    ],
    [
      "outside the chain",
      {},
      {},
      openaiOnly,
      'provider "openai" is not in routing.chain',
      'no worker offers a provider of routing.chain ("anthropic")',
    ],
    [
      "that lacks tags",
      { tags: ["eu"] },
      { tags: ["gpu", "eu", "a100"] },
      {},
      "missing tag gpu, a100",
      'no worker offers tag "gpu", "a100"',
    ],
    [
      "that serves other models",
      { models: ["small"] },
      { model: "large" },
      {},
      'does not serve model "large"',
      'no matching worker serves model "large"',
    ],
    [
      "that serves no model",
      { models: [] },
      { model: "large" },
      {},
      'does not serve model "large"',
      'no matching worker serves model "large"',
    ],
    ["that fell silent", { lastHeartbeatAt: NOON - OFFLINE_AFTER_MS - 1 }, {}, {}, "offline", 'worker "w1" is offline'],
    ["whose socket dropped", { viaSocket: true }, {}, {}, "offline: its socket dropped", 'worker "w1" is offline'],
    [
      "that is paused",
      { pause: { reason: "mending", untilAt: null } },
      {},
      {},
      "paused: mending",
      'worker "w1" is paused: mending',
    ],
    [
      "that the killswitch paused",
      { isHalted: true },
      {},
      {},
      `paused: ${HALT_REASON}`,
      `worker "w1" is paused: ${HALT_REASON}`,
    ],
    ["that is full", { concurrency: 2, load: 2 }, {}, {}, "at capacity (2 of 2)", 'worker "w1" is at capacity'],
    ["that takes no jobs", { concurrency: 0 }, {}, {}, "at capacity (0 of 0)", 'worker "w1" is at capacity'],
    [
      "whose provider backs off",
      {},
      {},
      { closedProviders },
      `provider openai backs off until ${NOW_ISO}`,
      `provider openai backs off until ${NOW_ISO}`,
    ],
  ])("%s, and a job that waits for it says so", (_, spec, asked, rules, reason, waiting) => {
    const fleet = fleetOf([spec]);
    expect(explain(fleet, request(asked), policy(rules)).workers).toMatchObject([
      { instance: "w1", eligible: false, score: null, breakdown: {}, reasons: [reason] },
    ]);
    expect(choose(fleet, request(asked), policy(rules))).toBeNull();
    expect(whyWaiting(fleet, request(asked), policy(rules))).toBe(waiting);
  });

  test.each<[string, Spec, Partial<RouteRequest>, Partial<RoutePolicy>]>([
    ["heard of just in time", { lastHeartbeatAt: NOON - OFFLINE_AFTER_MS }, {}, {}],
    [
      "whose socket answered meanwhile",
      { lastHeartbeatAt: 0, socketAgeMs: 5, viaSocket: true, isConnected: true },
      {},
      {},
    ],
    ["that waits in a claim although its socket dropped", { viaSocket: true, isClaiming: true }, {}, {}],
    ["whose pause is over", { pause: { reason: "mending", untilAt: NOON } }, {}, {}],
    ["that names no models and so takes any", {}, { model: "large" }, {}],
    ["outside the chain, for a job that names its provider", {}, { provider: "openai" }, openaiOnly],
    ["with one place left", { concurrency: 3, load: 2 }, {}, {}],
    ["that lists the model with its default tag", { models: ["llama3.2:latest"] }, { model: "llama3.2" }, {}],
    ["that lists the model without its default tag", { models: ["llama3.2"] }, { model: "llama3.2:latest" }, {}],
    ["that failed the job before, where there is no other", {}, { avoidedWorkers: ["w1"] }, {}],
    ["whose provider failed it, under another strategy", {}, { excludedProviders: ["openai"] }, {}],
    [
      "whose provider failed it like the whole chain",
      {},
      { excludedProviders: ["openai"] },
      { strategy: "fallback", chain: ["openai"] },
    ],
    ["that is the built-in echo, first of all", { provider: "echo", models: ["echo"] }, {}, { isEchoAside: false }],
    ["that is the built-in echo, asked for by name", { provider: "echo" }, { provider: "echo" }, {}],
    ["that is the built-in echo, asked for its model", { provider: "echo", models: ["echo"] }, { model: "echo" }, {}],
    [
      "that is the built-in echo, where the chain names it",
      { provider: "echo" },
      {},
      { strategy: "fallback", chain: ["openai", "echo"] },
    ],
  ])("but not one %s", (_, spec, asked, rules) => {
    const { fleet, rules: live } = situation([{ ...spec, instance: "w1" }], policy(rules));
    expect(chosenOf(fleet, request(asked), live)).toBe("w1");
    expect(whyWaiting(fleet, request(asked), live)).toBeNull();
  });

  test("for everything that is wrong at once, all of it named, the lasting reasons first", () => {
    const spec = { tags: [], load: 1, pause: { reason: "mending", untilAt: null }, lastHeartbeatAt: 0 };
    const asked = request({ provider: "local", tags: ["gpu"] });
    expect(explain(fleetOf([spec]), asked, policy()).workers[0]?.reasons).toEqual([
      'provider is "openai", the job wants "local"',
      "missing tag gpu",
      "offline",
      "paused: mending",
      "at capacity (1 of 1)",
    ]);
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
    expect(why(three({ lastHeartbeatAt: 0 }))).toBe("all 3 matching workers are offline");
    expect(why(three({ isHalted: true }))).toBe("all 3 matching workers are paused");
  });

  test("tells a tag that nobody offers from tags that nobody offers together", () => {
    const given = [
      { instance: "a", tags: ["gpu"] },
      { instance: "b", tags: ["eu"] },
    ];
    expect(why(given, { tags: ["gpu", "a100"] })).toBe('no worker offers tag "a100"');
    expect(why(given, { tags: ["gpu", "eu"] })).toBe('no worker offers all of tags "gpu", "eu"');
  });
});
