import { afterEach, describe, expect, test } from "vitest";
import { environmentKeys } from "../../worker/provider-keys.ts";
import { openHosted, openRuntime } from "../../worker/runtimes/open-runtime.ts";
import type { ApiKind } from "../../worker/runtimes/providers.ts";
import type { RunOptions, Runtime, Task } from "../../worker/runtimes/runtime.ts";
import { type Answer, type Asked, event, FakeRuntime, openaiStream } from "./fake-runtime.ts";
import { quietRun, taskOf } from "./quiet-run.ts";

const KEY = "sk-secret-key-of-the-test";
const USAGE = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };

const servers: FakeRuntime[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

async function serve(answer: (asked: Asked) => Answer): Promise<FakeRuntime> {
  const server = await new FakeRuntime(answer).start();
  servers.push(server);
  return server;
}

function local(name: string, url: string): Runtime {
  return openRuntime(name, { keys: environmentKeys({}), keyRefs: [`provider:${name}`], runtimeUrl: url });
}

function hosted(name: string, api: ApiKind, baseUrl: string, renames?: Record<string, string>): Runtime {
  const keys = environmentKeys({ PROVIDER_TESTED_KEY: KEY });
  const provider = renames ? { baseUrl, api, renames } : { baseUrl, api };
  return openHosted(name, provider, { keys, keyRefs: ["provider:other", "provider:tested"], runtimeUrl: null });
}

function run(runtime: Runtime, task: Partial<Task> = {}, options: Partial<RunOptions> = {}) {
  return runtime.run(taskOf(task), quietRun(options));
}

/** A local server with these models that answers like OpenAI, or as told. */
function openai(models: string[], chat: (asked: Asked) => Answer) {
  return (asked: Asked): Answer => {
    if (asked.path === "/api/tags") return { body: { models: models.map((name) => ({ name })) } };
    if (asked.path === "/v1/models") return { body: { object: "list", data: models.map((id) => ({ id })) } };
    return chat(asked);
  };
}

describe("an OpenAI-compatible runtime", () => {
  test("a job's prompt comes back as text with its token counts", async () => {
    const server = await serve(openai(["m1"], () => ({ body: openaiStream("m1", ["Hel", "lo"], USAGE) })));
    const seen: number[] = [];
    const onProgress = ({ output_chars }: { output_chars: number }) => seen.push(output_chars);
    const outcome = await run(local("vllm", server.url), { model: "m1" }, { onProgress });
    expect(outcome).toEqual({
      ok: true,
      result: { text: "Hello", finish_reason: "stop", model: "m1" },
      usage: { input_tokens: 7, output_tokens: 2 },
      model: "m1",
    });
    expect(seen.at(-1)).toBe(5);
    const asked = server.asked.at(-1);
    expect(asked?.path).toBe("/v1/chat/completions");
    expect(asked?.body).toMatchObject({ model: "m1", stream: true, stream_options: { include_usage: true } });
    expect(asked?.body.messages).toEqual([{ role: "user", content: "Say hello." }]);
  });

  test.each([
    ["another service's JSON", { status: "ok" }],
    ["no choices", { object: "chat.completion", choices: [] }],
    ["a choice that is none", { object: "chat.completion", choices: [null] }],
  ])("%s is no empty answer: the attempt fails, and may be tried again", async (_what, body) => {
    const server = await serve(openai(["m1"], () => ({ body })));
    const outcome = await run(local("vllm", server.url), { model: "m1" });
    expect(outcome).toMatchObject({ ok: false, error: { code: "internal", retryable: true } });
    expect(outcome.ok ? "" : outcome.error.message).toContain("no choices");
  });

  test("counts that no run can have do not cost the job its result", async () => {
    const usage = { prompt_tokens: 1e30, completion_tokens: 2 };
    const server = await serve(openai(["m1"], () => ({ body: openaiStream("m1", ["Hello"], usage) })));
    const outcome = await run(local("vllm", server.url));
    expect(outcome).toMatchObject({ result: { text: "Hello" }, usage: { input_tokens: 0, output_tokens: 2 } });
  });

  describe("whose content is in parts, as of Mistral's reasoning models", () => {
    const thinking = (text: string) => ({ type: "thinking", thinking: [{ type: "text", text }] });
    const text = (words: string) => ({ type: "text", text: words });
    const chunk = (content: unknown, finish_reason: string | null = null) =>
      event({ id: "c1", model: "m1", choices: [{ index: 0, delta: { content }, finish_reason }] });

    test("gives the text of its parts, whole", async () => {
      const message = { role: "assistant", content: [thinking("Hm."), text("Hel"), text("lo")] };
      const body = { model: "m1", choices: [{ index: 0, message, finish_reason: "stop" }] };
      const server = await serve(openai(["m1"], () => ({ body })));
      expect(await run(local("vllm", server.url))).toMatchObject({ ok: true, result: { text: "Hello" } });
    });

    test.each([
      ["text goes on after parts", [text("Hel")], "lo"],
      ["parts go on after text", "Hel", [text("lo")]],
    ])("gives their text while it is written: %s", async (_what, first, second) => {
      const body = [chunk([thinking("H")]), chunk([thinking("m.")]), chunk(first), chunk(second, "stop")];
      const server = await serve(openai(["m1"], () => ({ body: [...body, event("[DONE]")] })));
      const emitted: string[] = [];
      const emit = (events: readonly string[]) => void emitted.push(...events);
      const outcome = await run(local("vllm", server.url), {}, { emit });
      expect(outcome).toMatchObject({ ok: true, result: { text: "Hello" } });
      expect(emitted.join("")).toContain('"Hel');
      expect(emitted.join("")).not.toContain("Hm");
    });

    test("is kept as it was for a client of the front door, each part grown to its whole", async () => {
      const body = [
        chunk("Well: "),
        chunk([thinking("H")]),
        chunk([thinking("m.")]),
        chunk([text("Hel")]),
        chunk("lo", "stop"),
      ];
      const server = await serve(openai(["m1"], () => ({ body })));
      const input = { model: "m1", stream: true, messages: [{ role: "user", content: "hi" }] };
      const outcome = await run(local("vllm", server.url), { api: "chat/completions", input });
      const content = [text("Well: "), thinking("Hm."), text("Hello")];
      expect(outcome).toMatchObject({ ok: true, result: { choices: [{ message: { content } }] } });
    });
  });

  test("usage that the runtime did not report is left out, not guessed", async () => {
    const server = await serve(openai(["m1"], () => ({ body: openaiStream("m1", ["Hello"]) })));
    const outcome = await run(local("vllm", server.url));
    expect(outcome).toMatchObject({ ok: true, model: "m1" });
    expect(outcome).not.toHaveProperty("usage");
  });

  test("cached and reasoning tokens and the billed cost are passed on", async () => {
    const details = { prompt_tokens_details: { cached_tokens: 4 }, completion_tokens_details: { reasoning_tokens: 1 } };
    const server = await serve(() => ({
      body: openaiStream("openai/gpt-5", ["Hi"], { ...USAGE, ...details, cost: 0.00125 }),
    }));
    const outcome = await run(hosted("openrouter", "openai", `${server.url}/v1`), { model: "openai/gpt-5" });
    expect(outcome).toMatchObject({
      usage: { input_tokens: 7, output_tokens: 2, cached_input_tokens: 4, reasoning_tokens: 1 },
      cost_usd: 0.00125,
    });
    expect(server.asked[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
  });

  test("settings of the input reach the model, under the provider's own names", async () => {
    const server = await serve(() => ({ body: openaiStream("gpt-5", ["Hi"]) }));
    const runtime = hosted("openai", "openai", `${server.url}/v1`, { max_tokens: "max_completion_tokens" });
    await run(runtime, { model: "gpt-5", input: { system: "Be brief.", max_tokens: 5, temperature: 1 } });
    const body = server.asked[0]?.body;
    expect(body).toMatchObject({ max_completion_tokens: 5, temperature: 1 });
    expect(body).not.toHaveProperty("max_tokens");
    expect(body.messages[0]).toEqual({ role: "system", content: "Be brief." });
  });

  test("a refusal is classified, asked only once, and does not give the key away", async () => {
    const body = { error: { message: `Incorrect API key provided: ${KEY}`, code: "invalid_api_key" } };
    const server = await serve(() => ({ status: 401, body }));
    const outcome = await run(hosted("openai", "openai", `${server.url}/v1`), { model: "gpt-5" });
    expect(outcome).toMatchObject({ ok: false, error: { code: "unauthorized", status: 401, retryable: false } });
    expect(JSON.stringify(outcome)).not.toContain("secret");
    expect(server.asked.length).toBe(1);
  });

  test("a rate limit is told with its delay and not retried here", async () => {
    const server = await serve(() => ({ status: 429, headers: { "retry-after": "4" }, body: { error: "slow down" } }));
    const outcome = await run(hosted("xai", "openai", `${server.url}/v1`), { model: "grok-4" });
    const error = { code: "rate_limited", status: 429, retryable: true, retry_after_seconds: 4 };
    expect(outcome).toMatchObject({ ok: false, error });
    expect(server.asked.length).toBe(1);
  });

  test("an error inside a stream that began well fails the job", async () => {
    const words = openaiStream("m", ["Hel"], null, null).slice(0, 1);
    const server = await serve(() => ({
      body: [...words, event({ error: { code: 429, message: "upstream is busy" } })],
    }));
    const outcome = await run(hosted("openrouter", "openai", `${server.url}/v1`), { model: "m" });
    expect(outcome).toMatchObject({ ok: false, error: { code: "rate_limited" } });
  });

  test("an error inside a stream in a shape of its own is understood, too", async () => {
    const server = await serve(() => ({ body: [event({ error: "model 'm' not found" })] }));
    const outcome = await run(hosted("openrouter", "openai", `${server.url}/v1`), { model: "m" });
    expect(outcome).toMatchObject({ ok: false, error: { code: "model_not_found" } });
  });

  test.each([
    ["that ends without saying why", { body: openaiStream("m", ["Hel"], null, null) }],
    ["whose connection breaks", { body: openaiStream("m", ["Hel"], null, null).slice(0, 1), breaksOff: true }],
  ])("an answer %s is not taken for a whole one", async (_how, answer) => {
    const server = await serve(() => answer);
    const outcome = await run(hosted("groq", "openai", `${server.url}/v1`), { model: "m" });
    expect(outcome).toMatchObject({ ok: false, error: { code: "runtime_unreachable", retryable: true } });
  });

  test("a redirect is not followed, so that the key goes nowhere else, and is named", async () => {
    const elsewhere = await serve(() => ({ body: openaiStream("m1", ["Hi"]) }));
    const headers = { location: `${elsewhere.url}/v1/chat/completions` };
    const server = await serve(openai(["m1"], () => ({ status: 307, headers })));
    for (const runtime of [hosted("groq", "openai", `${server.url}/v1`), local("vllm", server.url)]) {
      const outcome = await run(runtime, { model: "m1" });
      expect(outcome).toMatchObject({ ok: false, error: { code: "runtime_unreachable" } });
      expect(outcome.ok ? "" : outcome.error.message).toContain("redirect");
    }
    expect(elsewhere.asked).toEqual([]);
  });

  test("an abort hangs up on the runtime", async () => {
    const server = await serve(() => ({ body: openaiStream("m", ["Hel"], null, null).slice(0, 1), hangs: true }));
    const halt = new AbortController();
    const onProgress = () => halt.abort();
    await run(hosted("groq", "openai", `${server.url}/v1`), { model: "m" }, { signal: halt.signal, onProgress }).catch(
      () => {},
    );
    await server.gone;
  });

  test("a hosted provider's alias may answer under another name, which is reported", async () => {
    const server = await serve(() => ({ body: openaiStream("gpt-5.4-nano", ["Hi"], USAGE) }));
    const outcome = await run(hosted("openrouter", "openai", `${server.url}/v1`), { model: "openrouter/auto" });
    expect(outcome).toMatchObject({ ok: true, model: "gpt-5.4-nano" });
  });
});

describe("the model of a job on a local runtime", () => {
  const answering = (models: string[]) =>
    openai(models, ({ body }) => ({ body: openaiStream(body.model, ["ok"], USAGE) }));

  test("is the job's own, else the configured one, else the first offered, else the first listed", async () => {
    const server = await serve(answering(["first:latest", "offered", "configured", "asked"]));
    const runtime = local("ollama", server.url);
    const offeredModels = ["offered"];
    const modelOf = async (model: string | null, options: Partial<RunOptions>) =>
      (await run(runtime, { model }, options)).model;
    expect(await modelOf("asked", { configuredModel: "configured", offeredModels })).toBe("asked");
    expect(await modelOf(null, { configuredModel: "configured", offeredModels })).toBe("configured");
    expect(await modelOf(null, { offeredModels })).toBe("offered");
    expect(await modelOf(null, {})).toBe("first:latest");
    expect(await modelOf("first", {})).toBe("first:latest");
  });

  test("that the runtime does not have fails the job, without asking it", async () => {
    const server = await serve(answering(["llama3.2:latest"]));
    const outcome = await run(local("ollama", server.url), { model: "qwen3" });
    expect(outcome).toMatchObject({ ok: false, error: { code: "model_not_found", retryable: false } });
    expect(outcome.ok || outcome.error.message).toBe('Model not found: ollama has no "qwen3"; it has llama3.2:latest');
    expect(server.asked.map(({ path }) => path)).toEqual(["/api/tags"]);
  });

  test("on a runtime with none is told as such", async () => {
    const server = await serve((asked) =>
      asked.path === "/v1/models" ? { body: { object: "list", data: null } } : {},
    );
    const outcome = await run(local("lmstudio", server.url));
    expect(outcome).toMatchObject({ ok: false, error: { code: "no_model_loaded" } });
    expect(outcome.ok || outcome.error.message).toMatch(/^No model loaded/);
  });

  test("is looked up once for a burst of jobs", async () => {
    const server = await serve(answering(["m"]));
    const runtime = local("vllm", server.url);
    await Promise.all([run(runtime), run(runtime), run(runtime)]);
    expect(server.asked.filter(({ path }) => path === "/v1/models").length).toBe(1);
  });

  test("that another one silently stood in for fails the job, and what it spent is reported", async () => {
    const chat = () => ({ body: openaiStream("llama-3.2-1b", ["ok"], USAGE) });
    const server = await serve(openai(["qwen3-4b", "llama-3.2-1b"], chat));
    const outcome = await run(local("lmstudio", server.url), { model: "qwen3-4b" });
    expect(outcome).toMatchObject({ ok: false, error: { code: "model_mismatch" }, usage: { input_tokens: 7 } });
  });

  test("is not proven by the answer of llama.cpp, which serves its one model under any name", async () => {
    const chat = () => ({ body: openaiStream("gpt-3.5-turbo", ["ok"], USAGE) });
    const server = await serve(openai(["/models/qwen3-4b.gguf"], chat));
    expect((await run(local("llamacpp", server.url), { model: "qwen3-4b" })).ok).toBe(true);
    expect(await run(local("llamacpp", server.url), { model: "llama3.2" })).toMatchObject({
      error: { code: "model_not_found" },
    });
  });

  test("a runtime that is not there is unreachable, and tried again with the next job", async () => {
    const server = await serve(answering(["m"]));
    const runtime = local("ollama", server.url);
    await servers.splice(0)[0]?.stop();
    expect(await run(runtime)).toMatchObject({ ok: false, error: { code: "runtime_unreachable", retryable: true } });
  });
});

describe("a hosted provider without a model in job, config and flags", () => {
  test("fails the job and says where to name one", async () => {
    const outcome = await run(hosted("groq", "openai", "http://127.0.0.1:9/v1"));
    expect(outcome.ok || outcome.error).toMatchObject({
      code: "no_model_loaded",
      message: expect.stringMatching(/^No model loaded: .*--models/),
    });
  });
});

describe("Anthropic", () => {
  const message = {
    id: "m1",
    type: "message",
    role: "assistant",
    content: [],
    model: "claude-sonnet-4-5-20250929",
    stop_reason: null,
    stop_sequence: null,
  };
  const events = [
    event(
      {
        type: "message_start",
        message: {
          ...message,
          usage: { input_tokens: 3, cache_read_input_tokens: 4, cache_creation_input_tokens: 0, output_tokens: 1 },
        },
      },
      "message_start",
    ),
    event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }, "content_block_start"),
    event(
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello" } },
      "content_block_delta",
    ),
    event({ type: "content_block_stop", index: 0 }, "content_block_stop"),
    event(
      { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 2 } },
      "message_delta",
    ),
    event({ type: "message_stop" }, "message_stop"),
  ];

  test("answers with text and with input counted whole, cache included", async () => {
    const server = await serve(() => ({ body: events }));
    const outcome = await run(hosted("anthropic", "anthropic", `${server.url}/v1`), { model: "claude-sonnet-4-5" });
    expect(outcome).toMatchObject({
      ok: true,
      result: { text: "Hello", finish_reason: "stop" },
      usage: { input_tokens: 7, output_tokens: 2, cached_input_tokens: 4 },
      model: "claude-sonnet-4-5-20250929",
    });
    expect(server.asked[0]).toMatchObject({ path: "/v1/messages", headers: { "x-api-key": KEY } });
    expect(server.asked[0]?.body.max_tokens).toBeGreaterThan(0);
  });

  test("an overload in the middle of a stream is one, and retryable", async () => {
    const overload = event({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, "error");
    const server = await serve(() => ({ body: [...events.slice(0, 3), overload] }));
    const outcome = await run(hosted("anthropic", "anthropic", `${server.url}/v1`), { model: "claude-sonnet-4-5" });
    expect(outcome).toMatchObject({ ok: false, error: { code: "overloaded", retryable: true } });
  });

  test("529 is an overload", async () => {
    const body = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    const server = await serve(() => ({ status: 529, body }));
    const outcome = await run(hosted("anthropic", "anthropic", `${server.url}/v1`), { model: "claude-sonnet-4-5" });
    expect(outcome).toMatchObject({ ok: false, error: { code: "overloaded", status: 529 } });
  });
});

describe("Gemini", () => {
  test("answers with text and with thoughts counted as output", async () => {
    const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 2, thoughtsTokenCount: 3, totalTokenCount: 10 };
    const content = { role: "model", parts: [{ text: "Hello" }] };
    const chunk = {
      candidates: [{ content, finishReason: "STOP", index: 0 }],
      usageMetadata,
      modelVersion: "gemini-2.5-flash",
    };
    const server = await serve(() => ({ body: [event(chunk)] }));
    const outcome = await run(hosted("gemini", "gemini", `${server.url}/v1beta`), { model: "gemini-2.5-flash" });
    expect(outcome).toMatchObject({
      ok: true,
      result: { text: "Hello", finish_reason: "stop" },
      usage: { input_tokens: 5, output_tokens: 5, reasoning_tokens: 3 },
    });
    expect(server.asked[0]).toMatchObject({ headers: { "x-goog-api-key": KEY } });
  });

  test("a bad key, which it answers with 400, is a refused key; a limit's delay is read from its details", async () => {
    const badKey = {
      error: {
        code: 400,
        message: "API key not valid.",
        status: "INVALID_ARGUMENT",
        details: [{ reason: "API_KEY_INVALID" }],
      },
    };
    const limit = {
      error: { code: 429, message: "quota", status: "RESOURCE_EXHAUSTED", details: [{ retryDelay: "26s" }] },
    };
    let answer: Answer = { status: 400, body: badKey };
    const server = await serve(() => answer);
    const runtime = hosted("gemini", "gemini", `${server.url}/v1beta`);
    expect(await run(runtime, { model: "g" })).toMatchObject({ error: { code: "unauthorized", retryable: false } });
    answer = { status: 429, body: limit };
    expect(await run(runtime, { model: "g" })).toMatchObject({
      error: { code: "rate_limited", retry_after_seconds: 26 },
    });
  });
});
