// What hosted calls cost: exact where the provider counts, an estimate that says so where it does not, never nothing.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { send } from "../support/requests.ts";
import { folderForAllTests } from "../support/temporary-folder.ts";
import type { Behaviour } from "../worker/runtimes/mock-runtime.ts";
import { type Hosted, KEY, startHosted } from "./hosted.ts";

/** A dollar for an input token, a thousand for an output token: each can be read off the sum. */
const PRICE = { input_per_mtok: 1, output_per_mtok: 1_000, cached_input_per_mtok: 0.5 };
const usd = (input: number, output: number, cached = 0) =>
  (PRICE.input_per_mtok * (input - cached) + PRICE.cached_input_per_mtok * cached + PRICE.output_per_mtok * output) /
  1e6;

const data = folderForAllTests();
let hosted: Hosted;

beforeAll(async () => {
  hosted = await startHosted(data.path);
  await hosted.api("PUT", "/api/provider-keys/acme", { key: KEY });
  await hosted.enable({}, { jobs: { max_attempts: 1 } }, { pricing: { "*": PRICE } });
}, 120_000);

afterAll(() => hosted?.stop());

const CALLS = {
  "chat/completions": {
    provider: "acme",
    body: { model: "m1", messages: [{ role: "user", content: "x".repeat(40) }] },
  },
  completions: { provider: "acme", body: { model: "m1", prompt: "x".repeat(40) } },
  responses: { provider: "acme", body: { model: "m1", input: "x".repeat(40) } },
  messages: {
    provider: "claudia",
    body: { model: "c1", max_tokens: 99, messages: [{ role: "user", content: "x".repeat(40) }] },
  },
} as const;
type Api = keyof typeof CALLS;
const APIS = Object.keys(CALLS) as Api[];

const call = async (api: Api, behaviour: Behaviour, stream: boolean): Promise<string> => {
  const { provider, body } = CALLS[api];
  hosted[provider].behave = () => behaviour;
  const response = await fetch(`${hosted.server.url}/v1/${api}`, {
    method: "POST",
    headers: { authorization: `Bearer ${hosted.server.adminKey}`, "content-type": "application/json" },
    body: JSON.stringify({ ...body, stream }),
  });
  await response.text();
  return response.headers.get("x-signalbox-job") ?? "";
};

const attemptOf = async (job: string) => (await hosted.api("GET", `/api/jobs/${job}/attempts`)).attempts[0];

describe.each(APIS)("a call of %s", (api) => {
  test.each([true, false])("costs what its provider counts (stream: %s)", async (stream) => {
    const usage = { input: 100, output: 7, cached: 40 };
    const attempt = await attemptOf(await call(api, { usage, words: ["one", "two"] }, stream));
    // Anthropic counts what it reads from its cache beside the input.
    const input = api === "messages" ? attempt.usage.input_tokens : usage.input;
    expect(attempt).toMatchObject({ price_source: "config", usage: { input_tokens: input, output_tokens: 7 } });
    expect(attempt.cost_usd).toBeCloseTo(usd(input, 7, attempt.usage.cached_input_tokens ?? 0), 9);
  });
});

describe.each(["chat/completions", "completions"] as const)("a call of %s whose provider does not count", (api) => {
  test.each([true, false])("costs an estimate that says so (stream: %s)", async (stream) => {
    const attempt = await attemptOf(await call(api, { usage: null, words: ["x".repeat(80)] }, stream));
    expect(attempt).toMatchObject({ outcome: "completed", price_source: "estimate" });
    expect(attempt.usage.input_tokens).toBeGreaterThanOrEqual(10);
    expect(attempt.usage.output_tokens).toBeGreaterThanOrEqual(20);
    expect(attempt.cost_usd).toBeCloseTo(usd(attempt.usage.input_tokens, attempt.usage.output_tokens), 9);
  });
});

test.each([
  ["its input", { input: -5, output: 7 }, { output_tokens: 7 }],
  ["what was said", { input: 9, output: 1e300 }, { input_tokens: 9 }],
  ["anything", { input: 0, output: 0 }, {}],
])("a call whose provider does not count %s costs an estimate of that", async (_what, usage, told) => {
  const attempt = await attemptOf(await call("completions", { usage, words: ["x".repeat(80)] }, true));
  expect(attempt).toMatchObject({ outcome: "completed", price_source: "estimate", usage: told });
  expect(attempt.usage.input_tokens).toBeGreaterThanOrEqual(9);
  expect(attempt.usage.output_tokens).toBeGreaterThanOrEqual(7);
});

describe.each(APIS)("a call of %s that was cut", (api) => {
  test("costs its input and what was said, as an estimate", async () => {
    const attempt = await attemptOf(await call(api, { words: ["x".repeat(80), "y"], cutAfter: 1, delayMs: 20 }, true));
    expect(attempt).toMatchObject({ outcome: "failed", price_source: "estimate" });
    expect(attempt.usage.input_tokens).toBeGreaterThanOrEqual(7);
    expect(attempt.usage.output_tokens).toBeGreaterThanOrEqual(20);
    expect(attempt.cost_usd).toBeCloseTo(usd(attempt.usage.input_tokens, attempt.usage.output_tokens), 9);
  });
});

test("a job that is cancelled while its provider thinks costs its input", async () => {
  hosted.acme.behave = () => ({ headersAfterMs: 60_000 });
  const prompt = "x".repeat(400);
  const { id } = await hosted.api("POST", "/api/jobs", { prompt, provider: "acme", model: "m1" });
  await hosted.acme.until(() => hosted.acme.asked.at(-1)?.text.includes(prompt) === true);
  await send({ url: hosted.server.url, key: hosted.server.adminKey }, "POST", `/api/jobs/${id}/cancel`);
  await eventually(async () => {
    const attempt = await attemptOf(id);
    expect(attempt).toMatchObject({ price_source: "estimate", usage: { output_tokens: 0 } });
    expect(attempt.usage.input_tokens).toBeGreaterThanOrEqual(100);
  });
});

test("what the calls cost is what the tenant is told that it spent", async () => {
  const { jobs } = await hosted.api("GET", "/api/jobs?limit=100");
  const attempts = await Promise.all(jobs.map(({ id }: { id: string }) => attemptOf(id)));
  const sum = attempts.reduce((total, { cost_usd }) => total + cost_usd, 0);
  const told = await hosted.api("GET", "/api/cost?period=day");
  expect(told.total_usd).toBeCloseTo(sum, 6);
  expect(told.unpriced_jobs).toBe(0);
});
