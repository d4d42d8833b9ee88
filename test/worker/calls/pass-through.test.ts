import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MAX_RESULT_BYTES } from "../../../contract/words/field.ts";
import { type Api, MAX_LARGE_RESULT_BYTES } from "../../../contract/words/values.ts";
import type { Outcome, RunOptions, Runtime } from "../../../worker/calls/runtime.ts";
import { openHosted, openRuntime } from "../../../worker/runtimes/open-runtime.ts";
import { environmentKeys } from "../../../worker/runtimes/provider-keys.ts";
import type { ApiKind } from "../../../worker/runtimes/providers.ts";
import { answers, MOCK_APIS, type MockApi } from "../runtimes/mock-answers.ts";
import { MockRuntime } from "../runtimes/mock-runtime.ts";
import { quietRun, taskOf } from "../runtimes/quiet-run.ts";

const KEY = "sk-secret-key-of-the-test";
let mock: MockRuntime;
let vllm: Runtime;

beforeEach(async () => {
  mock = await new MockRuntime({ models: ["org/m1"] }).start();
  vllm = openRuntime("vllm", { keys: environmentKeys({}), keyRefs: [], runtimeUrl: mock.url });
});
afterEach(() => mock.stop());

const messages = [{ role: "user", content: "one two three" }];
const BODIES: Record<MockApi, object> = {
  "chat/completions": { messages, stream_options: { include_usage: true } },
  completions: { prompt: "one two three", stream_options: { include_usage: true } },
  embeddings: { input: ["one two three"] },
  responses: { input: "one two three" },
  messages: { messages, max_tokens: 9 },
  "messages/count_tokens": { messages },
};

const USAGE_OF_NINE = { input_tokens: 9, output_tokens: 0 };

/** Keeps what a runtime has stored. */
function storing() {
  const kept: Uint8Array[] = [];
  const types: string[] = [];
  const stored = {
    text: () => Buffer.concat(kept).toString(),
    get pieces() {
      return kept.length;
    },
    types,
  };
  const store: RunOptions["store"] = async (pieces, type) => {
    types.push(type);
    for await (const piece of pieces) kept.push(piece);
    return { ok: true, file: { id: "file-1", bytes: Buffer.concat(kept).byteLength } };
  };
  return { stored, store };
}

async function ask(runtime: Runtime, api: Api, body: object, options: Partial<RunOptions> = {}, headers = {}) {
  const events: string[] = [];
  const emit = (some: readonly string[]) => {
    events.push(...some);
    return undefined;
  };
  const input = { model: "org/m1", ...body } as never;
  const outcome = await runtime.run(taskOf({ input, model: "org/m1", api, headers }), quietRun({ emit, ...options }));
  return { outcome, events };
}

function hosted(name: string, api: ApiKind): Runtime {
  const keys = environmentKeys({ PROVIDER_TESTED_KEY: KEY });
  return openHosted(name, { baseUrl: `${mock.url}/v1`, api }, { keys, keyRefs: ["provider:tested"], runtimeUrl: null });
}

describe("a client's request", () => {
  test.each(MOCK_APIS)("of %s reaches the runtime as it came, and the answer comes back as it is", async (api) => {
    const { outcome, events } = await ask(vllm, api, BODIES[api]);
    expect(mock.calls[0]?.text).toBe(JSON.stringify({ model: "org/m1", ...BODIES[api] }));
    expect(mock.calls[0]?.path).toBe(`/v1/${api}`);
    expect(events).toEqual([]);
    const said = { words: ["one two three"], reasoning: [], toolCall: null, usage: { input: 7, output: 2 } };
    expect(outcome).toMatchObject({ ok: true, usage: { input_tokens: 7 }, model: "org/m1" });
    if (!outcome.ok) return;
    expect(outcome.result).toEqual(answers[api].whole({ ...said, model: "org/m1", body: mock.calls[0]?.body }));
  });

  test.each(MOCK_APIS.filter((api) => api !== "embeddings"))(
    "of %s, streamed, comes back event by event, and as a whole answer at the end",
    async (api) => {
      mock.behave = () => ({ splits: true, comments: true, reasoning: api === "completions" ? [] : ["hm"] });
      const { outcome, events } = await ask(vllm, api, { ...BODIES[api], stream: true });
      const whole = await ask(vllm, api, BODIES[api]);
      if (!outcome.ok || !whole.outcome.ok) throw new Error(JSON.stringify([outcome, whole]));
      expect(outcome.result).toEqual(whole.outcome.result);
      expect(outcome.usage).toEqual(whole.outcome.usage);
      expect(events.length).toBeGreaterThan(3);
      expect(events.every((event) => event.endsWith("\n\n"))).toBe(true);
    },
  );

  test("to count tokens reaches the runtime as it came, and spends nothing", async () => {
    const { outcome } = await ask(vllm, "messages/count_tokens", BODIES["messages/count_tokens"]);
    expect(mock.calls[0]?.path).toBe("/v1/messages/count_tokens");
    expect(outcome).toEqual({ ok: true, result: { input_tokens: 7 }, usage: { input_tokens: 0, output_tokens: 0 } });
  });

  test("has its tool calls put together, whichever API it speaks", async () => {
    mock.behave = () => ({ toolCall: { id: "call_1", name: "weather", arguments: '{"city":"Bern"}' } });
    for (const api of ["chat/completions", "responses", "messages"] as const) {
      const streamed = await ask(vllm, api, { ...BODIES[api], stream: true });
      const whole = await ask(vllm, api, BODIES[api]);
      expect(streamed.outcome).toEqual(whole.outcome);
    }
  });

  test("gets the model's name as the runtime's own list writes it", async () => {
    await vllm.run(
      taskOf({ input: { model: "m1", messages } as never, model: "m1", api: "chat/completions" }),
      quietRun(),
    );
    expect(mock.calls[0]?.body.model).toBe("org/m1");
  });

  test("that the runtime refuses keeps its status, message and code; what is about the key is the worker's trouble", async () => {
    const error = { message: "too long", type: "invalid_request_error", code: "context_length_exceeded" };
    mock.behave = () => ({ status: 400, errorBody: { error } });
    expect((await ask(vllm, "chat/completions", BODIES["chat/completions"])).outcome).toMatchObject({
      ok: false,
      error: { status: 400, message: "too long", code: "context_length_exceeded", retryable: false },
    });
    mock.behave = () => ({ status: 401, errorBody: { error: { message: `bad key ${KEY}` } } });
    const refused = (await ask(hosted("groq", "openai"), "chat/completions", BODIES["chat/completions"])).outcome;
    expect(refused).toMatchObject({ ok: false, error: { status: 502, code: "provider_refused", retryable: false } });
    expect(JSON.stringify(refused)).not.toContain("secret");
    mock.behave = () => ({ status: 503 });
    expect((await ask(vllm, "messages", BODIES.messages)).outcome).toMatchObject({
      error: { code: "overloaded", status: 503, retryable: true },
    });
    mock.behave = () => ({ status: 429, headers: { "retry-after": "3" } });
    expect((await ask(vllm, "responses", BODIES.responses)).outcome).toMatchObject({
      error: { status: 429, retryable: true, retry_after_seconds: 3 },
    });
  });

  test.each([
    ["vLLM", 404, "The model `m1` does not exist.", "NotFoundError", 404, "model_not_found"],
    [
      "vLLM",
      400,
      "This model's maximum context length is 9 tokens.",
      "BadRequestError",
      400,
      "context_length_exceeded",
    ],
    [
      "llama.cpp",
      400,
      "it exceeds the available context size",
      "exceed_context_size_error",
      400,
      "context_length_exceeded",
    ],
    [
      "Anthropic",
      400,
      "prompt is too long: 9 tokens > 8",
      "invalid_request_error",
      undefined,
      "context_length_exceeded",
    ],
    ["vLLM", 400, "temperature must be positive", "BadRequestError", 400, "BadRequestError"],
    ["Ollama", 404, 'model "m1" not found', "api_error", null, "model_not_found"],
  ])(
    "that %s refuses with %i and no code (%s) gets the code that clients know",
    async (_who, status, message, type, code, told) => {
      mock.behave = () => ({ status, errorBody: { error: { message, type, code } } });
      const { outcome } = await ask(vllm, "chat/completions", BODIES["chat/completions"]);
      expect(outcome).toMatchObject({ ok: false, error: { status, message, code: told, retryable: false } });
    },
  );

  test("that fails in its stream, in the runtime's own words, fails in these words", async () => {
    mock.behave = () => ({ errorAfter: 2 });
    const error = { code: "server_error", message: "the mock was told to fail", retryable: true };
    for (const api of ["chat/completions", "responses"] as const) {
      const { outcome } = await ask(vllm, api, { ...BODIES[api], stream: true });
      expect(outcome).toMatchObject({ ok: false, error });
    }
  });

  test("that fails before its first word has said nothing, so that another worker can take it", async () => {
    for (const behaviour of [{ errorAfter: 0 }, { cutAfter: 0 }, { endAfter: 0 }]) {
      mock.behave = () => behaviour;
      for (const api of ["chat/completions", "messages", "responses"] as const) {
        const { outcome, events } = await ask(vllm, api, { ...BODIES[api], stream: true });
        expect([outcome.ok, events]).toEqual([false, []]);
      }
    }
  });

  test.each([{ errorAfter: 2 }, { cutAfter: 2 }, { endAfter: 2 }])(
    "that breaks off in the middle is never taken for a whole answer: %j",
    async (behaviour) => {
      mock.behave = () => ({ ...behaviour, delayMs: 5 });
      for (const api of ["chat/completions", "completions", "messages", "responses"] as const) {
        const { outcome, events } = await ask(vllm, api, { ...BODIES[api], stream: true });
        expect(outcome).toMatchObject({ ok: false, error: { retryable: true } });
        expect(events.join("")).toContain("two");
        // Responses clients know how the API itself fails; of the others the coordinator writes the error.
        expect(events.join("").includes("was told to fail")).toBe(api === "responses" && "errorAfter" in behaviour);
      }
    },
  );

  test("whose runtime never stops is stopped where a result could not be kept, and little of it is in memory", async () => {
    mock.behave = () => ({ floods: true, words: ["x".repeat(1000)] });
    const before = process.memoryUsage().rss;
    const { outcome } = await ask(vllm, "chat/completions", { ...BODIES["chat/completions"], stream: true });
    expect(outcome).toMatchObject({ ok: false, error: { code: "result_too_large", retryable: false } });
    await mock.untilAborted();
    expect(process.memoryUsage().rss - before).toBeLessThan(5 * MAX_LARGE_RESULT_BYTES);
    // One event that does not end.
    mock.behave = () => ({ words: ["x".repeat(MAX_LARGE_RESULT_BYTES)] });
    expect((await ask(vllm, "messages", { ...BODIES.messages, stream: true })).outcome).toMatchObject({
      error: { code: "result_too_large" },
    });
  });

  /** Of 120 KB each as JSON. */
  const WORDS = 20;

  test.each(["chat/completions", "completions", "messages"] as const)(
    "of %s over 1 MiB keeps little of what its client has had as events, and counts all of it",
    async (api) => {
      mock.behave = () => ({ words: new Array(WORDS).fill('ä\n"'.repeat(20_000)) });
      const body = { ...BODIES[api], stream: true };
      const kept = (await ask(vllm, api, body)).outcome as Extract<Outcome, { ok: true }>;
      const { outcome, events } = await ask(vllm, api, body, { isPassedOn: true });
      const { passedOnBytes = 0, result, ...spent } = outcome as typeof kept;
      expect(JSON.stringify(result).length).toBeLessThan(2 * MAX_RESULT_BYTES);
      expect(Math.abs(passedOnBytes - Buffer.byteLength(JSON.stringify(kept.result)))).toBeLessThan(50);
      expect({ ...spent, result: kept.result }).toEqual(kept);
      expect(events.join("").split("ä").length - 1).toBe(WORDS * 20_000);
    },
  );

  test("that its client has had as events is kept up to 1 MiB", async () => {
    mock.behave = () => ({ words: new Array(20_000).fill("word ") });
    const body = { ...BODIES["chat/completions"], stream: true };
    const { outcome } = await ask(vllm, "chat/completions", body, { isPassedOn: true });
    expect(outcome).toMatchObject({ result: { choices: [{ message: { content: "word ".repeat(20_000) } }] } });
    expect(outcome).not.toHaveProperty("passedOnBytes");
  });

  test("may say more than 1 MiB in one event, such as an image", async () => {
    const image = "x".repeat(2 * MAX_RESULT_BYTES);
    mock.behave = () => ({ words: [image] });
    const { outcome, events } = await ask(vllm, "chat/completions", { ...BODIES["chat/completions"], stream: true });
    expect(outcome).toMatchObject({ ok: true, result: { choices: [{ message: { content: image } }] } });
    expect(events.join("")).toContain(image);
  });

  test("whose answer is over 1 MiB has it stored as it arrives, byte by byte as the runtime wrote it", async () => {
    const vectors = Array.from({ length: 200 }, (_, index) => ({ index, embedding: Array(1_024).fill(0.125) }));
    const whole = { object: "list", data: vectors, model: "org/m1", usage: { prompt_tokens: 9, total_tokens: 9 } };
    mock.behave = () => ({ status: 200, errorBody: whole });
    const { store, stored } = storing();
    const { outcome } = await ask(vllm, "embeddings", BODIES.embeddings, { store });
    const bytes = JSON.stringify(whole).length;
    const file = { id: "file-1", bytes };
    expect(outcome).toEqual({ ok: true, result: null, stored: file, model: "org/m1", usage: USAGE_OF_NINE });
    expect(stored.text()).toBe(JSON.stringify(whole));
    expect(stored.pieces).toBeGreaterThan(1);
    // Where nobody would read it.
    expect((await ask(vllm, "embeddings", BODIES.embeddings)).outcome).toMatchObject({
      error: { code: "result_too_large" },
    });
  });

  test("whose answer is over 64 MiB is stopped there, and its input counts", async () => {
    mock.behave = () => ({ status: 200, errorBody: { data: "x".repeat(MAX_LARGE_RESULT_BYTES) } });
    const { outcome } = await ask(vllm, "embeddings", BODIES.embeddings, { store: storing().store });
    expect(outcome).toMatchObject({ ok: false, error: { code: "result_too_large", retryable: false } });
    expect(outcome).toMatchObject({ usage_estimated: true, usage: { input_tokens: expect.any(Number) } });
  });

  test("whose large answer is an error of its runtime fails in the runtime's words", async () => {
    mock.behave = () => ({ status: 200, errorBody: { data: "x".repeat(MAX_RESULT_BYTES), error: { message: "oh" } } });
    const { outcome } = await ask(vllm, "embeddings", BODIES.embeddings, { store: storing().store });
    expect(outcome).toMatchObject({ ok: false, error: { message: expect.stringContaining("oh") } });
  });

  test("whose reader has left is dropped by the runtime at once, and what it had spent is told", async () => {
    mock.behave = () => ({ stallAfter: 1 });
    const halt = new AbortController();
    const emit = () => {
      halt.abort();
      return undefined;
    };
    const { outcome } = await ask(
      vllm,
      "messages",
      { ...BODIES.messages, stream: true },
      { signal: halt.signal, emit },
    );
    await mock.untilAborted();
    expect(outcome).toMatchObject({ ok: false, usage: { input_tokens: 7 } });
  });
});

describe("Anthropic", () => {
  test("gets its own API as it came, with the client's headers of that API and the worker's key", async () => {
    const headers = { "anthropic-version": "2024-01-01", "anthropic-beta": "tools-1" };
    const { outcome } = await ask(hosted("anthropic", "anthropic"), "messages", BODIES.messages, {}, headers);
    expect(outcome.ok).toBe(true);
    expect(mock.calls[0]?.headers).toMatchObject({ ...headers, "x-api-key": KEY });
  });

  test("hears the trace of the job", async () => {
    const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
    await ask(hosted("anthropic", "anthropic"), "messages", BODIES.messages, { traceparent });
    expect(mock.calls[0]?.headers.traceparent).toBe(traceparent);
  });

  test("answers chat, converted, streamed and with tools", async () => {
    mock.behave = () => ({ toolCall: { id: "call_1", name: "weather", arguments: '{"city":"Bern"}' } });
    const tools = [{ type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } }];
    const turns = [
      { role: "system", content: "Be brief." },
      { role: "user", content: [{ type: "text", text: "weather?" }] },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "call_0", type: "function", function: { name: "weather", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "call_0", content: "no city" },
    ];
    const body = { messages: turns, tools, tool_choice: "auto", stream: true, max_tokens: 50 };
    const { outcome, events } = await ask(hosted("anthropic", "anthropic"), "chat/completions", body);
    expect(mock.calls[0]?.body).toMatchObject({ system: [{ text: "Be brief." }], tools: [{ name: "weather" }] });
    expect(outcome).toMatchObject({
      ok: true,
      usage: { input_tokens: 7, output_tokens: 2 },
      result: {
        object: "chat.completion",
        choices: [
          {
            finish_reason: "tool_calls",
            message: { tool_calls: [{ id: "call_1", function: { name: "weather", arguments: '{"city":"Bern"}' } }] },
          },
        ],
      },
    });
    expect(events.at(-1)).toBe("data: [DONE]\n\n");
  });

  test.each([
    ["n", 2],
    ["seed", 1],
    ["logprobs", true],
    ["logit_bias", { 50256: -100 }],
    ["presence_penalty", 0.5],
    ["frequency_penalty", 0.5],
    ["temperature", 1.5],
    ["response_format", { type: "json_object" }],
    ["made_up_tomorrow", 1],
  ])("refuses a chat with %s, which it cannot carry, without being asked", async (field, value) => {
    const body = { messages, max_tokens: 9, [field]: value };
    const { outcome } = await ask(hosted("anthropic", "anthropic"), "chat/completions", body);
    expect(outcome).toMatchObject({ error: { code: "unsupported_parameter", status: 400, retryable: false } });
    expect(outcome.ok ? "" : outcome.error.message).toContain(field);
    expect(mock.calls).toEqual([]);
  });

  test("fails an ordinary job whose input it cannot carry, by name", async () => {
    const task = taskOf({ input: { seed: 1 } as never, model: "claude" });
    expect(await hosted("anthropic", "anthropic").run(task, quietRun())).toMatchObject({
      error: { code: "unsupported_input", message: expect.stringContaining("input.seed") },
    });
  });
});

describe("a look at a runtime", () => {
  test("finds the APIs that it answers, and its models", async () => {
    mock.apis = ["chat/completions", "embeddings", "messages"];
    expect(await vllm.probe(null)).toEqual({ unavailable: null, apis: mock.apis, models: ["org/m1"] });
  });

  test("says why it cannot be used", async () => {
    await mock.stop();
    expect((await vllm.probe(null)).unavailable).toMatch(/^the runtime at http.* cannot be reached: .*ECONNREFUSED/);
    expect(await ask(vllm, "chat/completions", BODIES["chat/completions"])).toMatchObject({
      outcome: { ok: false, neverReached: true },
    });
    await mock.start();
    expect((await vllm.probe(null)).unavailable).toBeNull();
  });
});
