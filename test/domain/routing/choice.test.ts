// The choice of a worker, compared with the contract for any fleet, request and policy.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { STRATEGIES } from "../../../domain/config.ts";
import { choose } from "../../../domain/routing/choice.ts";
import { explain, whyWaiting } from "../../../domain/routing/explanation.ts";
import type { RoutePolicy, RouteRequest } from "../../../domain/routing/filter.ts";
import { firstRefusal, refusalsOf } from "../../../domain/routing/filters.ts";
import { scoreParts, weightsFor } from "../../../domain/routing/scoring.ts";
import { SCORE_PARTS } from "../../../domain/words/score-part.ts";
import { chosenOf, OFFLINE_AFTER_MS, policies, requests, type Spec, situation, specs } from "../fleet/sample-fleet.ts";
import { NOON } from "../job/sample-jobs.ts";
import { scoreOf } from "./score-of.ts";

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

/** The names that decide; null if none do. */
const namedBy = ({ models, runtimeModels }: Spec): readonly string[] | null =>
  models ?? (runtimeModels?.length ? runtimeModels : null);

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
    asked.model === null || namedBy(one)?.some((name) => sameModel(name, asked.model ?? "")) !== false,
    asked.model === null ||
      !one.missingModels?.some(({ key, untilAt }) => untilAt > NOON && sameModel(key, asked.model ?? "")),
    NOON - heardAt <= OFFLINE_AFTER_MS,
    one.isConnected || (!one.isLockedOut && (!one.viaSocket || one.isClaiming)),
    one.pause == null || (one.pause.untilAt !== null && one.pause.untilAt <= NOON),
    !one.isHalted,
    one.unavailable == null,
    one.opening == null || one.opening.isOpen === (one.opening.changesAt === null || one.opening.changesAt > NOON),
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
    ["model", /^does not serve model |^its runtime does not list model /],
    ["missing_model", /^its runtime answered that it does not have model /],
    ["offline", /^offline|^disconnected: /],
    ["paused", /^paused: /],
    ["capacity", /^(at capacity|takes no jobs)/],
    ["provider_limit", /backs off$/],
  ];
  return words.find(([, form]) => form.test(reason))?.[0] ?? `unknown: ${reason}`;
};

const tally = (names: readonly string[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
};

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
