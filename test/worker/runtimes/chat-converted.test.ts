import { describe, expect, test } from "vitest";
import { hosted, KEY, run, serve } from "../calls/chat-fixture.ts";
import { type Answer, event } from "./fake-runtime.ts";

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

  test.each([
    [{ temperature: 0.5, top_p: 0.9 }, "top_p", "top_p is not supported when temperature is set"],
    [
      { max_tokens: 99_000 },
      "max_tokens",
      "99000 (max_tokens + thinkingBudget) is greater than claude-sonnet-4-5 64000 max output tokens",
    ],
  ])("what it does not take is named as the caller wrote it: %j", async (input, field, reason) => {
    const server = await serve(() => ({ body: events }));
    const backend = hosted("anthropic", "anthropic", `${server.url}/v1`);
    const message = `input.${field}: "${field}" cannot be carried: ${reason}`;
    expect(await run(backend, { model: "claude-sonnet-4-5", input })).toMatchObject({ ok: false, error: { message } });
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
