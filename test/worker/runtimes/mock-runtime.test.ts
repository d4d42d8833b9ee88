// The mock is only useful if real clients accept it.

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterEach, beforeEach, expect, test } from "vitest";
import { MockRuntime } from "./mock-runtime.ts";

let runtime: MockRuntime;
let openai: OpenAI;
let anthropic: Anthropic;

beforeEach(async () => {
  runtime = await new MockRuntime().start();
  openai = new OpenAI({ baseURL: `${runtime.url}/v1`, apiKey: "k", maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: runtime.url, apiKey: "k", maxRetries: 0 });
});
afterEach(() => runtime.stop());

const messages = [{ role: "user" as const, content: "one two three" }];

test("OpenAI's client reads its chat, whole and streamed", async () => {
  const whole = await openai.chat.completions.create({ model: "m1", messages });
  expect(whole.choices[0]?.message.content).toBe("one two three");
  runtime.behave = () => ({ splits: true, crlf: true, comments: true, words: ["é", "ü"] });
  const stream = openai.chat.completions.stream({ model: "m1", messages, stream_options: { include_usage: true } });
  const final = await stream.finalChatCompletion();
  expect(final.choices[0]?.message.content).toBe("éü");
  expect(final.usage?.prompt_tokens).toBe(7);
});

test("a tool call arrives whole", async () => {
  runtime.behave = () => ({ toolCall: { id: "call_1", name: "weather", arguments: '{"city":"Bern"}' } });
  const final = await openai.chat.completions.stream({ model: "m1", messages }).finalChatCompletion();
  expect(final.choices[0]?.message.tool_calls?.[0]).toMatchObject({ function: { arguments: '{"city":"Bern"}' } });
  const message = await anthropic.messages.stream({ model: "m1", max_tokens: 9, messages }).finalMessage();
  expect(message.content).toMatchObject([{ type: "tool_use", input: { city: "Bern" } }]);
});

test("responses, completions and embeddings are theirs, too", async () => {
  const stream = await openai.responses.create({ model: "m1", input: "a b", stream: true });
  let text = "";
  for await (const event of stream) if (event.type === "response.output_text.delta") text += event.delta;
  expect(text).toBe("a b");
  const completion = await openai.completions.create({ model: "m1", prompt: "a b" });
  expect(completion.choices[0]?.text).toBe("a b");
  const embedding = await openai.embeddings.create({ model: "m1", input: ["a", "b"] });
  expect(embedding.data.map((row) => row.embedding)).toEqual([
    [0.25, -0.5, 1],
    [0.25, -0.5, 1],
  ]);
});

test("Anthropic's client reads its messages, with thinking", async () => {
  runtime.behave = () => ({ reasoning: ["let me ", "see"], words: ["ok"] });
  const message = await anthropic.messages.stream({ model: "m1", max_tokens: 9, messages }).finalMessage();
  expect(message.content).toMatchObject([
    { type: "thinking", thinking: "let me see", signature: "sig" },
    { type: "text", text: "ok" },
  ]);
});

test("it cuts, errs and stalls when told", async () => {
  const read = async () => {
    const seen = [];
    const stream = await openai.chat.completions.create({ model: "m1", messages, stream: true });
    for await (const chunk of stream) seen.push(chunk);
    return seen;
  };
  for (const behaviour of [{ cutAfter: 1 }, { errorAfter: 1 }, { status: 503 }]) {
    runtime.behave = () => behaviour;
    await expect(read()).rejects.toThrow();
  }
  runtime.behave = () => ({ stallAfter: 1 });
  const halt = new AbortController();
  const stalled = openai.chat.completions
    .create({ model: "m1", messages, stream: true }, { signal: halt.signal })
    .then(async (stream) => {
      for await (const _ of stream) setTimeout(() => halt.abort(), 20);
    });
  await Promise.allSettled([stalled]);
  await runtime.untilAborted();
});
