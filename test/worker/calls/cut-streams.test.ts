// What a worker says that a stream spent which was cut before its runtime told its counts: never nothing.

import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { Runtime } from "../../../worker/calls/runtime.ts";
import { openRuntime } from "../../../worker/runtimes/open-runtime.ts";
import { environmentKeys } from "../../../worker/runtimes/provider-keys.ts";
import { event } from "../runtimes/fake-runtime.ts";
import { MOCK_APIS } from "../runtimes/mock-answers.ts";
import { type Behaviour, MockRuntime } from "../runtimes/mock-runtime.ts";
import { quietRun, taskOf } from "../runtimes/quiet-run.ts";
import { hosted, run, serve } from "./chat-fixture.ts";

let mock: MockRuntime;
let vllm: Runtime;

beforeEach(async () => {
  mock = await new MockRuntime({ models: ["m1"] }).start();
  vllm = openRuntime("vllm", { keys: environmentKeys({}), keyRefs: [], runtimeUrl: mock.url });
});
afterEach(() => mock.stop());

const LONG = "a long question ".repeat(100);
const messages = [{ role: "user", content: LONG }];
const STREAMED: Record<Exclude<(typeof MOCK_APIS)[number], "embeddings">, object> = {
  "chat/completions": { messages, stream: true, stream_options: { include_usage: true } },
  completions: { prompt: LONG, stream: true, stream_options: { include_usage: true } },
  responses: { input: LONG, stream: true },
  messages: { messages, max_tokens: 9, stream: true },
};
const STREAMS = MOCK_APIS.filter((api) => api !== "embeddings");

/** Runs a request; halts it when its answer has this many events, or, with none, when the runtime has the request. */
const halted = async (
  api: Exclude<(typeof MOCK_APIS)[number], "embeddings">,
  behaviour: Behaviour,
  after: number | null,
) => {
  mock.behave = () => behaviour;
  const halt = new AbortController();
  let events = 0;
  const emit = (some: readonly string[]) => {
    events += some.length;
    if (after !== null && events >= after) halt.abort();
    return undefined;
  };
  const input = { model: "m1", ...STREAMED[api] } as never;
  const running = vllm.run(taskOf({ input, model: "m1", api, headers: {} }), quietRun({ emit, signal: halt.signal }));
  if (after === null) {
    await expect.poll(() => mock.calls.length).toBeGreaterThan(0);
    halt.abort();
  }
  return running;
};

const WORDS = Array.from({ length: 400 }, () => "word ");
const SAID = { words: WORDS, delayMs: 1 };

describe.each(STREAMS)("a stream of %s that is cut", (api) => {
  test("counts what was said, as an estimate", async () => {
    const outcome = await halted(api, SAID, 60);
    expect(outcome).toMatchObject({ ok: false, usage_estimated: true });
    expect(outcome.usage?.output_tokens).toBeGreaterThan(40);
    expect(outcome.usage?.output_tokens).toBeLessThan(600);
    expect(outcome.usage?.input_tokens).toBeGreaterThan(api === "messages" ? 0 : 300);
  });

  test("counts its input where it is taken back before it says anything", async () => {
    const outcome = await halted(api, { headersAfterMs: 10_000 }, null);
    expect(outcome).toMatchObject({ ok: false, usage_estimated: true, usage: { output_tokens: 0 } });
    expect(outcome.usage?.input_tokens).toBeGreaterThan(300);
  });

  test("by its runtime counts what was said; where nothing was, nothing", async () => {
    const broken = await halted(api, { ...SAID, cutAfter: 100 }, Number.POSITIVE_INFINITY);
    expect(broken).toMatchObject({ ok: false, usage_estimated: true });
    expect(broken.usage?.output_tokens).toBeGreaterThan(60);
    const silent = await halted(
      api,
      { status: 500, errorBody: { error: { message: "down" } } },
      Number.POSITIVE_INFINITY,
    );
    expect(silent.usage).toBeUndefined();
  });
});

test("an answer that breaks off before it is whole counts its input: it was written", async () => {
  const server = await serve(() => ({ body: '{"choices": [', breaksOff: true }));
  const input = { model: "m1", messages };
  const outcome = await run(hosted("groq", "openai", `${server.url}/v1`), { api: "chat/completions", input });
  expect(outcome).toMatchObject({ ok: false, usage_estimated: true, usage: { output_tokens: 0 } });
  expect(outcome.usage?.input_tokens).toBeGreaterThan(300);
});

test("a request that breaks off before its answer has cost nothing", async () => {
  const server = createServer((socket) => socket.once("data", () => socket.destroy())).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const task = { api: "chat/completions", input: { model: "m1", messages } } as const;
  const outcome = await run(hosted("groq", "openai", `http://127.0.0.1:${port}/v1`), task);
  expect(outcome).toMatchObject({ ok: false, error: { code: "runtime_unreachable" } });
  expect(outcome.usage).toBeUndefined();
});

test("a runtime's own counts are used where it told them before it failed", async () => {
  const outcome = await halted("responses", { words: ["a ", "b "], errorAfter: 1 }, Number.POSITIVE_INFINITY);
  expect(outcome).toMatchObject({ ok: false, usage_estimated: true });
  const whole = await halted("messages", { words: ["a "], usage: { input: 70, output: 20 } }, Number.POSITIVE_INFINITY);
  expect(whole).toMatchObject({ ok: true, usage: { input_tokens: 70, output_tokens: 20 } });
  expect(whole.usage_estimated).toBeUndefined();
});

test("a count before the output's is not the answer's, as Gemini's in each of its chunks", async () => {
  const chunk = (content: string, completion_tokens: number) =>
    event({
      model: "m1",
      choices: [{ index: 0, delta: { content }, finish_reason: null }],
      usage: { prompt_tokens: 500, completion_tokens, total_tokens: 500 + completion_tokens },
    });
  const cutAfter = async (...body: string[]) => {
    const server = await serve(() => ({ body }));
    return run(hosted("gemini", "openai", `${server.url}/v1`), { model: "m1" });
  };
  const early = await cutAfter(chunk("word ".repeat(100), 0));
  expect(early).toMatchObject({ ok: false, usage_estimated: true, usage: { input_tokens: 500 } });
  expect(early.usage?.output_tokens).toBeGreaterThan(60);
  const late = await cutAfter(chunk("word ".repeat(100), 0), chunk("word ", 101));
  expect(late).toMatchObject({ ok: false, usage: { input_tokens: 500, output_tokens: 101 } });
  expect(late.usage_estimated).toBeUndefined();
});
