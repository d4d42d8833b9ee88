// When the coordinator's own calls may have a job, and which model of a list is asked.

import { describe, expect, test } from "vitest";
import { modelSetOf } from "../../../domain/fleet/model-set.ts";
import { isEdgeInstance } from "../../../domain/fleet/worker.ts";
import { choicesOf, type ModelOffer } from "../../../domain/front-door/door-model.ts";
import { isForTheNext } from "../../../domain/job/next-choice.ts";
import { groupKeyOf, requirementsOf } from "../../../domain/job/queue.ts";
import { explain, isElsewhere, whyWaiting } from "../../../domain/routing/explanation.ts";
import { canOthers } from "../../../domain/routing/filters.ts";
import { chosenOf, fleetOf, policy, request, type Spec } from "../fleet/sample-fleet.ts";
import { NOON } from "../job/sample-jobs.ts";

const AFTER_MS = 20_000;
const WORDS = "edge-openai-0 waits: a worker of your own can take this within 20 s";
const rules = policy({ edgeAfterMs: new Map([["openai", AFTER_MS]]) });
const edge: Spec = { instance: "edge-openai-0", provider: "openai", isEdge: true };
const home: Spec = { instance: "home", provider: "local" };
const fresh = request({ waitingSinceAt: NOON });
const waited = request({ waitingSinceAt: NOON - AFTER_MS });

describe("a fallback of the coordinator", () => {
  test("leaves a job to a worker of one's own, also to one that is full, and says so", () => {
    const fleet = fleetOf([edge, { ...home, load: 1, concurrency: 1 }]);
    expect(chosenOf(fleet, fresh, rules)).toBe(null);
    expect(whyWaiting(fleet, fresh, rules)).toBe(WORDS);
    const verdict = explain(fleet, fresh, rules).workers.find(({ instance }) => instance === "edge-openai-0");
    expect(verdict?.reasons).toEqual([WORDS]);
  });

  test("takes it once it has waited", () => {
    const fleet = fleetOf([edge, { ...home, load: 1, concurrency: 1 }]);
    expect(chosenOf(fleet, waited, rules)).toBe("edge-openai-0");
  });

  test.each<[string, Spec]>([
    ["is paused", { pause: { reason: "by hand", untilAt: null } }],
    ["can take nothing", { unavailable: "its runtime does not answer" }],
    ["has another model", { models: ["other"] }],
    ["takes no jobs at all", { concurrency: 0 }],
  ])("takes it at once where the other worker %s", (_what, spec) => {
    const asked = request({ waitingSinceAt: NOON, model: "m1" });
    const fleet = fleetOf([
      { ...edge, models: ["m1"] },
      { ...home, models: ["m1"], ...spec },
    ]);
    expect(chosenOf(fleet, asked, rules)).toBe("edge-openai-0");
    expect(canOthers(fleet, asked, rules)).toBe(false);
  });

  test("takes at once what the other worker has failed", () => {
    const fleet = fleetOf([edge, home]);
    expect(chosenOf(fleet, { ...fresh, avoidedWorkers: ["home"] }, rules)).toBe("edge-openai-0");
  });

  test("as a peer is a worker like any other", () => {
    const fleet = fleetOf([edge, { ...home, load: 1, concurrency: 1 }]);
    expect(chosenOf(fleet, fresh, policy())).toBe("edge-openai-0");
  });
});

test("the coordinator's own workers of a provider are one to a job that one of them has failed", () => {
  const own = [edge, { ...edge, instance: "edge-openai-1" }];
  const fleet = fleetOf([...own, { ...home, load: 1, concurrency: 2 }]);
  const failed = { ...fresh, avoidedWorkers: ["edge-openai-0"] };
  expect(chosenOf(fleet, failed, policy())).toBe("home");
  const verdict = explain(fleet, failed, policy()).workers.find(({ instance }) => instance === "edge-openai-1");
  expect(verdict?.reasons).toEqual(["failed this job, and another worker may have it"]);
  expect(isElsewhere(fleet, fresh, policy(), ["edge-openai-0"])).toBe(true);
  expect(isElsewhere(fleetOf(own), fresh, policy(), ["edge-openai-0"])).toBe(false);
  expect(chosenOf(fleetOf(own), failed, policy())).not.toBe(null);
});

describe("a job that is not to leave the fleet", () => {
  test("never goes to the coordinator's own calls, however long it waits", () => {
    const fleet = fleetOf([edge]);
    expect(chosenOf(fleet, { ...waited, edge: false }, rules)).toBe(null);
    expect(whyWaiting(fleet, { ...waited, edge: false }, rules)).toContain("edge: false");
  });

  test("has a group of its own; the keys of all other groups stay as they were", () => {
    const { waitingSinceAt: _, tier: __, urgency: ___, ...asked } = request();
    expect(requirementsOf(groupKeyOf({ ...asked, edge: false })).edge).toBe(false);
    expect(groupKeyOf({ ...asked, edge: true })).toBe(groupKeyOf(asked));
    expect(requirementsOf(groupKeyOf(asked)).edge).toBe(undefined);
  });
});

test("only names of the coordinator's form are its own", () => {
  const names = ["edge-openai-0", "edge-together-ai-12", "edge-box", "edge-0", "my-edge-openai-0"];
  expect(names.filter(isEdgeInstance)).toEqual(["edge-openai-0", "edge-together-ai-12"]);
});

describe("a list of models", () => {
  const entry = (model: string, weight: number | null = null) => ({
    model,
    provider: null,
    tags: [],
    tier: null,
    weight,
  });
  const offers: ModelOffer[] = [
    { provider: "local", listed: modelSetOf(["a:latest"]), names: () => ["a:latest"], missing: [], takesAny: false },
  ];
  const orderOf = (entries: ReturnType<typeof entry>[], seed: string) =>
    choicesOf("fast", { fast: entries }, offers, seed).map(({ model }) => model);

  test("is tried in order, under the names that workers have", () => {
    expect(orderOf([entry("a"), entry("b")], "x")).toEqual(["a:latest", "b"]);
  });

  test("with weights begins with the same entry for a conversation, and as often as they say", () => {
    const entries = [entry("b", 3), entry("c", 1)];
    const firsts = Array.from({ length: 400 }, (_, at) => orderOf(entries, `conversation ${at}`)[0]);
    expect(firsts).toEqual(Array.from({ length: 400 }, (_, at) => orderOf(entries, `conversation ${at}`)[0]));
    const share = firsts.filter((model) => model === "b").length / firsts.length;
    expect(share).toBeGreaterThan(0.65);
    expect(share).toBeLessThan(0.85);
    expect(orderOf(entries, "x").toSorted()).toEqual(["b", "c"]);
  });

  test.each([
    [{ code: "rate_limited", status: 429 }, true],
    [{ code: "quota_exhausted", status: 402 }, true],
    [{ code: "overloaded", status: 503 }, true],
    [{ code: "runtime_unreachable" }, true],
    [{ code: "model_not_found", status: 404 }, true],
    [{ code: "not_found_error", status: 404, message: "model 'm1' not found" }, true],
    [{ code: "invalid_request", status: 400 }, false],
    [{ code: "context_length", status: 400 }, false],
    [{ code: "result_too_large" }, false],
  ])("goes on after what another model may answer: %j", (error, goesOn) => {
    expect(isForTheNext({ message: "", retryable: false, ...error })).toBe(goesOn);
  });
});
