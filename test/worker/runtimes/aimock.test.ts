// Against an independent mock server of OpenAI's, Anthropic's and Gemini's APIs.

import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Runtime } from "../../../worker/calls/runtime.ts";
import { runJob } from "../../../worker/run-job.ts";
import { openHosted, openRuntime } from "../../../worker/runtimes/open-runtime.ts";
import { environmentKeys } from "../../../worker/runtimes/provider-keys.ts";
import { assignedJob } from "../job-fixture.ts";
import { quietRun } from "./quiet-run.ts";

const mock = new LLMock({ port: 0, latency: 0 });
beforeAll(async () => {
  mock.onMessage("capital of France", { content: "The capital of France is Paris." });
  await mock.start();
});
afterAll(() => mock.stop());

const keys = environmentKeys({ PROVIDER_MOCK_KEY: "mock" });
const options = { keys, keyRefs: ["provider:mock"], runtimeUrl: null };

function ask(runtime: Runtime, model: string | null) {
  const job = assignedJob({ id: "j1", prompt: "What is the capital of France?", model });
  const loadInput = async () => ({ ok: true as const, input: null });
  const settings = { ...quietRun(), runtime, timeoutSeconds: 30, loadInput, onFirstToken: () => {} };
  return runJob(job, settings, new AbortController().signal);
}

const answered = {
  type: "job.completed",
  result: { text: "The capital of France is Paris.", finish_reason: "stop" },
  usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
};

test("a job completes on an OpenAI-compatible server with text and token counts", async () => {
  const outcome = await ask(openHosted("openai", { baseUrl: `${mock.url}/v1`, api: "openai" }, options), "gpt-4o");
  expect(outcome).toMatchObject(answered);
  const usage = outcome.type === "job.completed" ? outcome.usage : undefined;
  expect(usage?.input_tokens).toBeGreaterThan(0);
  expect(usage?.output_tokens).toBeGreaterThan(0);
});

test("the same server as a local runtime is asked for its models, and one of them runs the job", async () => {
  const runtime = openRuntime("openai-compatible", { ...options, runtimeUrl: `${mock.url}/v1/` });
  const outcome = await ask(runtime, null);
  expect(outcome).toMatchObject(answered);
});

test("a hosted provider is asked at SERVICE_RUNTIME_URL instead of its own address, whose path a bare host gets", async () => {
  for (const runtimeUrl of [mock.url, `${mock.url}/v1/`]) {
    const runtime = openRuntime("openai", { ...options, runtimeUrl });
    expect(runtime.address).toBe(`${mock.url}/v1`);
    expect(await ask(runtime, "gpt-4o")).toMatchObject(answered);
  }
});

test("a job completes over Anthropic's API", async () => {
  const runtime = openHosted("anthropic", { baseUrl: `${mock.url}/v1`, api: "anthropic" }, options);
  expect(await ask(runtime, "claude-sonnet-4-5")).toMatchObject(answered);
});

test("a job completes over Gemini's API", async () => {
  const runtime = openHosted("gemini", { baseUrl: `${mock.url}/v1beta`, api: "gemini" }, options);
  expect(await ask(runtime, "gemini-2.5-flash")).toMatchObject(answered);
});
