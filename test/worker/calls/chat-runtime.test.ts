import { describe, expect, test } from "vitest";
import { MAX_RESULT_BYTES } from "../../../contract/words/field.ts";
import type { Progress } from "../../../worker/calls/runtime.ts";
import { assignedJob } from "../job-fixture.ts";
import { event, openaiStream } from "../runtimes/fake-runtime.ts";
import { hosted, KEY, local, openai, run, serve, USAGE } from "./chat-fixture.ts";

describe("an OpenAI-compatible runtime", () => {
  test("a job's prompt comes back as text with its token counts", async () => {
    const server = await serve(openai(["m1"], () => ({ body: openaiStream("m1", ["Hel", "lo"], USAGE) })));
    const seen: number[] = [];
    const onProgress = (progress: Progress) => "output_chars" in progress && seen.push(progress.output_chars);
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

  test("is read as it is written, whatever other lines its events have", async () => {
    const text = JSON.stringify({ model: "m1", choices: [{ index: 0, delta: { content: "Hello" } }] }, null, 1);
    const chunk = `: hi\nevent: chunk\nid: 1\ndata: ${text.replaceAll("\n", "\ndata: ")}\n\n`;
    const server = await serve(openai(["m1"], () => ({ body: [chunk, ...openaiStream("m1", ["!"])] })));
    const emitted: string[] = [];
    await run(local("vllm", server.url), { model: "m1" }, { emit: (events) => void emitted.push(...events) });
    expect(emitted.join("")).toContain('"Hello');
  });

  test("that answers whole, although it was asked for a stream, may say as much as in events", async () => {
    const content = "x".repeat(MAX_RESULT_BYTES);
    const body = { model: "m1", choices: [{ index: 0, message: { content }, finish_reason: "stop" }], usage: USAGE };
    const server = await serve(openai(["m1"], () => ({ body })));
    const emitted: string[] = [];
    const emit = (events: readonly string[]) => void emitted.push(...events);
    const outcome = await run(local("vllm", server.url), { model: "m1" }, { emit });
    expect(outcome).toMatchObject({ ok: true, result: { text: content }, usage: { output_tokens: 2 } });
    expect(emitted).toEqual([]);
    const job = assignedJob({ id: "j", stream: true });
    await run(local("vllm", server.url), { model: "m1", job }, { emit });
    expect(emitted.join("")).toContain(`{"text":"${content}"}`);
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

  test.each([
    ["openrouter", { cost: 0.0001, is_byok: true, cost_details: { upstream_inference_cost: 0.0123 } }, 0.0124],
    ["openrouter", { cost: 0.002, is_byok: false, cost_details: { upstream_inference_cost: 0.002 } }, 0.002],
    ["openrouter", { cost: 0, is_byok: true, cost_details: { upstream_inference_cost: null } }, undefined],
    ["perplexity", { cost: { input_tokens_cost: 0.00001, request_cost: 0.005, total_cost: 0.00503 } }, 0.00503],
    ["xai", { cost_in_usd_ticks: 37_756_000 }, 0.0037756],
    ["xai", { cost_in_usd_ticks: "many" }, undefined],
    ["openrouter", { cost: 1e9 }, undefined],
    ["vllm", {}, undefined],
  ])("what %s bills is passed on: %j", async (name, billed, usd) => {
    const server = await serve(() => ({ body: openaiStream("m1", ["Hi"], { ...USAGE, ...billed }) }));
    const { cost_usd } = await run(hosted(name, "openai", `${server.url}/v1`), { model: "m1" });
    expect(cost_usd).toEqual(usd === undefined ? undefined : expect.closeTo(usd, 12));
  });

  test.each([{ prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 3 }, { cached_tokens: 4 }])(
    "cached tokens are known by the names of DeepSeek and Moonshot: %j",
    async (named) => {
      const server = await serve(() => ({ body: openaiStream("m1", ["Hi"], { ...USAGE, ...named }) }));
      const outcome = await run(hosted("deepseek", "openai", `${server.url}/v1`), { model: "m1" });
      expect(outcome).toMatchObject({ usage: { input_tokens: 7, cached_input_tokens: 4 } });
    },
  );

  test("what was thought counts as output where a runtime says it only in its total, as Gemini does", async () => {
    const usage = { prompt_tokens: 20, completion_tokens: 198, total_tokens: 623 };
    const server = await serve(() => ({ body: openaiStream("gemini-2.5-flash", ["36"], usage) }));
    const outcome = await run(hosted("gemini", "openai", `${server.url}/v1`), { model: "gemini-2.5-flash" });
    expect(outcome).toMatchObject({ usage: { input_tokens: 20, output_tokens: 603 } });
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

  test("settings of the input reach a local model under its runtime's own names, where it ignores OpenAI's", async () => {
    const server = await serve(openai(["m"], () => ({ body: openaiStream("m", ["Hi"]) })));
    await run(local("llamacpp", server.url), { input: { repetition_penalty: 1.2, top_k: 5 } });
    const body = server.asked.at(-1)?.body;
    expect(body).toMatchObject({ repeat_penalty: 1.2, top_k: 5 });
    expect(body).not.toHaveProperty("repetition_penalty");
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
      // It was reached: with a status a request is not tried for as long as one that waits for its runtime.
      expect(outcome).toMatchObject({ ok: false, error: { code: "runtime_unreachable", status: 502 } });
      expect(outcome.ok ? "" : outcome.error.message).toContain("redirect");
    }
    expect(elsewhere.asked).toEqual([]);
  });

  test.each([
    ["hosted", (url: string) => hosted("groq", "openai", `${url}/v1`)],
    ["local", (url: string) => local("vllm", url)],
  ])("an abort hangs up on a %s runtime", async (_where, runtimeAt) => {
    const server = await serve(
      openai(["m"], () => ({ body: openaiStream("m", ["Hel"], null, null).slice(0, 1), hangs: true })),
    );
    const halt = new AbortController();
    const onProgress = () => halt.abort();
    await run(runtimeAt(server.url), { model: "m" }, { signal: halt.signal, onProgress }).catch(() => {});
    await server.gone;
  });

  test("a local runtime is asked for its answer as it is, which a proxy might compress", async () => {
    const server = await serve(openai(["m"], () => ({ body: openaiStream("m", ["Hi"]) })));
    expect(await run(local("vllm", server.url), { model: "m" })).toMatchObject({ ok: true });
    expect(server.asked.at(-1)?.headers["accept-encoding"]).toBe("identity");
  });

  test("a hosted provider's alias may answer under another name, which is reported", async () => {
    const server = await serve(() => ({ body: openaiStream("gpt-5.4-nano", ["Hi"], USAGE) }));
    const outcome = await run(hosted("openrouter", "openai", `${server.url}/v1`), { model: "openrouter/auto" });
    expect(outcome).toMatchObject({ ok: true, model: "gpt-5.4-nano" });
  });
});
