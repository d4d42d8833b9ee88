// Which workers the filters refuse, in which words.

import { describe, expect, test } from "vitest";
import { HALT_PAUSE } from "../../../domain/fleet/pause.ts";
import type { BatchRules } from "../../../domain/routing/batch-room.ts";
import { choose } from "../../../domain/routing/choice.ts";
import { explain, whyWaiting } from "../../../domain/routing/explanation.ts";
import type { RoutePolicy, RouteRequest } from "../../../domain/routing/filter.ts";
import { chosenOf, fleetOf, OFFLINE_AFTER_MS, policy, request, type Spec, situation } from "../fleet/sample-fleet.ts";
import { NOON } from "../job/sample-jobs.ts";

const AGAIN = new Date(NOON + 60_000).toISOString();
const CUT_LIST = Array.from({ length: 500 }, (_, at) => `model-${at}`);

/** Rules of batches that refuse nothing but a worker's last place. */
const batches = (given: Partial<BatchRules> = {}): BatchRules => ({
  keepFree: 1,
  quietUntil: () => null,
  backsOffUntil: () => null,
  holds: () => null,
  ...given,
});
const HOLDING = { quietUntil: () => NOON + 1, backsOffUntil: () => NOON + 1, holds: () => "held" };

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
      "whose runtime lists other models",
      { runtimeModels: ["small"] },
      { model: "large" },
      {},
      'its runtime does not list model "large"',
      'no matching worker serves model "large"',
    ],
    [
      "whose runtime lists the model, while it names others itself",
      { models: ["small"], runtimeModels: ["large"] },
      { model: "large" },
      {},
      'does not serve model "large"',
      'no matching worker serves model "large"',
    ],
    [
      "whose runtime lists a file of that name in another folder",
      { runtimeModels: ["/models/large.gguf"] },
      { model: "/other/large.gguf" },
      {},
      'its runtime does not list model "/other/large.gguf"',
      'no matching worker serves model "/other/large.gguf"',
    ],
    [
      "whose runtime answered that it lacks the model, whatever it lists",
      { runtimeModels: ["large"], missingModels: [{ key: "large", untilAt: NOON + 60_000 }] },
      { model: "large:latest" },
      {},
      `its runtime answered that it does not have model "large:latest"; it is asked again after ${AGAIN}, or when its list changes`,
      `worker "w1": its runtime answered that it does not have model "large:latest"; it is asked again after ${AGAIN}, or when its list changes`,
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
    [
      "whose socket dropped",
      { viaSocket: true },
      {},
      {},
      "disconnected: its socket dropped",
      'worker "w1" is disconnected: its socket dropped',
    ],
    [
      "whose socket dropped so long ago that its status is offline",
      { viaSocket: true, lastHeartbeatAt: NOON - OFFLINE_AFTER_MS - 1 },
      {},
      {},
      "offline",
      'worker "w1" is offline',
    ],
    [
      "whose key was revoked, although a claim waits",
      { isLockedOut: true, isClaiming: true },
      {},
      {},
      "disconnected: its key has ended",
      'worker "w1" is disconnected: its key has ended',
    ],
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
      `paused: ${HALT_PAUSE.reason}`,
      `worker "w1" is paused: ${HALT_PAUSE.reason}`,
    ],
    ["that is full", { concurrency: 2, load: 2 }, {}, {}, "at capacity (2 of 2)", 'worker "w1" is at capacity'],
    [
      "that takes no jobs",
      { concurrency: 0 },
      {},
      {},
      "takes no jobs: concurrency 0",
      'worker "w1" is set to take no jobs: concurrency 0',
    ],
    [
      "whose provider backs off",
      {},
      {},
      { closedProviders },
      `provider openai backs off until ${NOW_ISO}`,
      `provider openai backs off until ${NOW_ISO}`,
    ],
    [
      "that reports that it is busy",
      { busy: "own" },
      {},
      {},
      "reports that it is busy",
      'worker "w1" is busy, as reported',
    ],
    [
      "that the coordinator calls itself, where the job is not to go there",
      { isEdge: true },
      { edge: false },
      {},
      "the job is not to go to a provider that the coordinator calls itself (edge: false)",
      `worker "w1" is the coordinator's own, and the job is not to go to a provider that the coordinator calls itself (edge: false)`,
    ],
    [
      "whose last place is not for batches",
      { concurrency: 2, load: 1 },
      { batch: "b1" },
      { batchRules: batches() },
      "keeps 1 of 2 places free for other work than batches",
      'worker "w1": keeps 1 of 2 places free for other work than batches',
    ],
    [
      "that does other work than batches",
      {},
      { batch: "b1" },
      { batchRules: batches({ quietUntil: () => NOON + 1 }) },
      "does other work, or did a moment ago: lines of batches wait until it is quiet",
      'worker "w1": does other work, or did a moment ago: lines of batches wait until it is quiet',
    ],
    [
      "whose provider has no room for batches",
      {},
      { batch: "b1" },
      { batchRules: batches({ backsOffUntil: () => NOON }) },
      `provider openai backs off until ${NOW_ISO}`,
      `worker "w1": provider openai backs off until ${NOW_ISO}`,
    ],
    [
      "like every other while the batch is held",
      {},
      { batch: "b1" },
      { batchRules: batches({ holds: (batch) => `batch ${batch} is held` }) },
      "batch b1 is held",
      "batch b1 is held",
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
    ["that connected with another key after its own was revoked", { isLockedOut: true, isConnected: true }, {}, {}],
    ["whose pause is over", { pause: { reason: "mending", untilAt: NOON } }, {}, {}],
    ["that names no models and so takes any", {}, { model: "large" }, {}],
    ["whose runtime lists nothing", { runtimeModels: [] }, { model: "large" }, {}],
    ["whose runtime lists so much that the list may be cut", { runtimeModels: CUT_LIST }, { model: "large" }, {}],
    ["whose runtime lists it with its default tag", { runtimeModels: ["large:latest"] }, { model: "large" }, {}],
    ["whose runtime lists others, for a job that names none", { runtimeModels: ["small"] }, {}, {}],
    ["whose runtime lists it as a file", { runtimeModels: ["/models/large.gguf"] }, { model: "large" }, {}],
    ["whose runtime lists its file", { runtimeModels: ["C:\\m\\large.gguf"] }, { model: "large.gguf" }, {}],
    ["whose runtime lists its folder", { runtimeModels: ["/m/large.gguf"] }, { model: "/m/large" }, {}],
    ["whose runtime lists its whole path", { runtimeModels: ["/m/large.gguf"] }, { model: "/m/large.gguf" }, {}],
    [
      "whose runtime lacked it some time ago",
      { missingModels: [{ key: "large", untilAt: NOON }] },
      { model: "large" },
      {},
    ],
    ["whose runtime lacks another", { missingModels: [{ key: "small", untilAt: NOON + 1 }] }, { model: "large" }, {}],
    ["outside the chain, for a job that names its provider", {}, { provider: "openai" }, openaiOnly],
    ["with one place left", { concurrency: 3, load: 2 }, {}, {}],
    ["with one place left beside that", { concurrency: 3, load: 1 }, { batch: "b1" }, { batchRules: batches() }],
    ["with its only place free for a batch", {}, { batch: "b1" }, { batchRules: batches() }],
    ["with its last place free for other work", { concurrency: 2, load: 1 }, {}, { batchRules: batches(HOLDING) }],
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

describe("a job of the front door", () => {
  test("waits while no worker offers its API, and goes to a worker that does", () => {
    const fleet = fleetOf([{ instance: "old" }, { instance: "new", apis: ["messages"] }]);
    const asked = request({ api: "messages" });
    expect(chosenOf(fleet, asked, policy())).toBe("new");
    expect(whyWaiting(fleet, request({ api: "responses" }), policy())).toBe('no worker offers the API "responses"');
    expect(chosenOf(fleet, request({ api: "responses" }), policy())).toBeNull();
  });

  test("is told which APIs there are for its model where another model's worker offers its own", () => {
    const fleet = fleetOf([
      { instance: "claude", models: ["claude-x"], apis: ["messages", "chat/completions"] },
      { instance: "old", models: ["old"] },
      { instance: "local", models: ["llama"], apis: ["responses"], tags: ["gpu"] },
    ]);
    const why = (asked: Partial<RouteRequest>) => whyWaiting(fleet, request({ api: "responses", ...asked }), policy());
    expect([why({ model: "claude-x" }), why({ model: "old" }), why({ model: "nobodys" })]).toEqual([
      'no worker that serves model "claude-x" offers the API "responses", only "chat/completions", "messages"',
      'no worker that serves model "old" offers the API "responses", only ordinary jobs',
      'no matching worker serves model "nobodys"',
    ]);
  });
});
