// Hosted providers that speak OpenAI's API, each in its own way.

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openHosted } from "../../../worker/runtimes/open-runtime.ts";
import { environmentKeys } from "../../../worker/runtimes/provider-keys.ts";
import { HOSTED_PROVIDERS } from "../../../worker/runtimes/providers.ts";
import { MockRuntime } from "../runtimes/mock-runtime.ts";
import { quietRun, taskOf } from "../runtimes/quiet-run.ts";

const KEY = "sk-secret-key-of-the-test";
let mock: MockRuntime;

beforeEach(async () => {
  mock = await new MockRuntime({ models: ["org/m1"] }).start();
});
afterEach(() => mock.stop());

const messages = [{ role: "user", content: "one two three" }];

const opened = (name: string, path: string) => {
  const provider = HOSTED_PROVIDERS[name];
  if (provider === undefined) throw new Error(`there is no provider ${name}`);
  const keys = environmentKeys({ [`PROVIDER_${name.toUpperCase()}_KEY`]: KEY });
  const at = { ...provider, baseUrl: mock.url + path };
  return openHosted(name, at, { keys, keyRefs: [`provider:${name}`], runtimeUrl: null });
};

const streamed = (name: string, path: string) => {
  const input = { model: "org/m1", messages, stream_options: { include_usage: true }, stream: true } as never;
  return opened(name, path).run(taskOf({ input, model: "org/m1", api: "chat/completions", headers: {} }), quietRun({}));
};

test("Gemini is asked by its OpenAI surface", async () => {
  const outcome = await streamed("gemini", "/v1beta");
  expect(outcome).toMatchObject({ ok: true, result: { choices: [{ message: { content: "one two three" } }] } });
  expect(mock.calls[0]).toMatchObject({
    path: "/v1beta/openai/chat/completions",
    headers: { authorization: `Bearer ${KEY}` },
  });
});

describe("Mistral, which counts each stream and refuses to be asked for it,", () => {
  test("is not asked with a request", async () => {
    await streamed("mistral", "/v1");
    expect(mock.asked.at(-1)?.body).toEqual({ model: "org/m1", messages, stream: true });
  });

  test("is not asked with an ordinary job, whose seed has its name", async () => {
    await opened("mistral", "/v1").run(taskOf({ model: "org/m1", input: { seed: 7 } }), quietRun({}));
    expect(mock.asked.at(-1)?.body).toMatchObject({ stream: true, random_seed: 7 });
    expect(mock.asked.at(-1)?.body).not.toHaveProperty("stream_options");
  });
});
