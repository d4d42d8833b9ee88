// The events of a complete answer, as the official clients and the AI SDK read them: none may lose a part of it.

import { createAnthropic } from "@ai-sdk/anthropic";
import Anthropic from "@anthropic-ai/sdk";
import { streamText } from "ai";
import OpenAI from "openai";
import { expect, test } from "vitest";
import type { Api } from "../../domain/words/api.ts";
import type { Json } from "../../domain/words/json.ts";
import { eventsOfResult } from "../../src/front-door/answer/from-result.ts";

const asked = { model: "m1", messages: [{ role: "user" as const, content: "hello" }] };

/** Clients that get the events of this answer. */
const clientsOf = (api: Api, result: Json) => {
  const fetch = () =>
    Promise.resolve(
      new Response(eventsOfResult(api, result, true), { headers: { "content-type": "text/event-stream" } }),
    );
  return {
    openai: new OpenAI({ apiKey: "k", fetch }),
    anthropic: new Anthropic({ apiKey: "k", fetch }),
    aiSdk: createAnthropic({ apiKey: "k", fetch }),
  };
};

const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
const call = (id: string) => ({ id, type: "function", function: { name: "weather", arguments: '{"city":"Bern"}' } });

test("a chat's choices, tool calls, ends and usage", async () => {
  const choices = [
    { index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "length" },
    {
      index: 1,
      message: { role: "assistant", content: null, tool_calls: [call("a"), call("b")] },
      finish_reason: "tool_calls",
    },
  ];
  const result = { id: "c", object: "chat.completion", created: 1, model: "m1", choices, usage };
  const told = await clientsOf("chat/completions", result).openai.chat.completions.stream(asked).finalChatCompletion();
  expect(told).toMatchObject({ choices, usage });
});

const blocks = [
  { type: "thinking", thinking: "it is cold", signature: "signed" },
  { type: "text", text: "hi" },
  { type: "tool_use", id: "t", name: "weather", input: { city: "Bern" } },
];
const message = {
  id: "m",
  type: "message",
  role: "assistant",
  model: "m1",
  content: blocks,
  stop_reason: "tool_use",
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 4 },
};

test("a message's blocks, reason to stop and usage", async () => {
  const { anthropic, aiSdk } = clientsOf("messages", message);
  expect(await anthropic.messages.stream({ ...asked, max_tokens: 9 }).finalMessage()).toMatchObject(message);
  const streamed = streamText({ model: aiSdk("m1"), prompt: "hello", maxOutputTokens: 9 });
  expect(await streamed.reasoningText).toBe("it is cold");
  expect((await streamed.reasoning)[0]?.providerMetadata?.anthropic).toEqual({ signature: "signed" });
  expect(await streamed.text).toBe("hi");
});

test("why a message was refused", async () => {
  const stop_details = { type: "refusal", category: "cyber", explanation: "no" };
  const refused = { ...message, content: [], stop_reason: "refusal", stop_details };
  const { anthropic } = clientsOf("messages", refused);
  expect(await anthropic.messages.stream({ ...asked, max_tokens: 9 }).finalMessage()).toMatchObject(refused);
});

test("a transcript's words, for a client that writes them as they come", async () => {
  const { openai } = clientsOf("audio/transcriptions", { text: "hello sound" });
  const file = new File(["sound"], "sound.wav");
  const events = await openai.audio.transcriptions.create({ model: "m1", file, stream: true });
  const told = [];
  for await (const event of events) told.push(event);
  expect(told).toEqual([
    { type: "transcript.text.delta", delta: "hello sound" },
    { type: "transcript.text.done", text: "hello sound" },
  ]);
});

const item = (text: string) => ({
  type: "message",
  id: "i",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
});
const functionCall = {
  type: "function_call",
  id: "f",
  call_id: "c",
  name: "weather",
  arguments: "{}",
  status: "completed",
};

test.each([
  ["completed", null],
  ["incomplete", { reason: "max_output_tokens" }],
])("a response that is %s", async (status, reason) => {
  const output = [item("hi"), functionCall];
  const response = {
    id: "r",
    object: "response",
    created_at: 1,
    model: "m1",
    status,
    incomplete_details: reason,
    output,
  };
  const { openai } = clientsOf("responses", response);
  const told = await openai.responses.stream({ model: "m1", input: "hello" }).finalResponse();
  expect(told).toMatchObject({ status, output });
  const types: string[] = [];
  for await (const event of await openai.responses.create({ model: "m1", input: "hello", stream: true }))
    types.push(event.type);
  expect(types.at(-1)).toBe(`response.${status}`);
  expect(types).toContain("response.function_call_arguments.done");
});

test("a response's events are those of OpenAI, in its order, and no item is without its words", async () => {
  const reasoning = {
    type: "reasoning",
    id: "r",
    summary: [{ type: "summary_text", text: "short" }],
    content: [{ type: "reasoning_text", text: "long" }],
  };
  const refused = { ...item(""), id: "n", content: [{ type: "refusal", refusal: "no" }] };
  const custom = { type: "custom_tool_call", id: "p", call_id: "d", name: "patch", input: "*** Begin" };
  const output = [reasoning, item("hi"), refused, functionCall, custom];
  const error = { code: "server_error", message: "it ended" };
  const response = { id: "r", object: "response", created_at: 1, model: "m1", status: "failed", error, output };
  const { openai } = clientsOf("responses", { ...response, usage: { input_tokens: 1, output_tokens: 2 } });
  const events: Record<string, Json>[] = [];
  for await (const event of await openai.responses.create({ model: "m1", input: "hello", stream: true }))
    events.push(event as unknown as Record<string, Json>);
  const text = (name: string) => [`${name}.delta`, `${name}.done`];
  const part = (name: string) => ["content_part.added", ...text(name), "content_part.done"];
  const told = (...types: string[]) => ["output_item.added", ...types, "output_item.done"];
  expect(events.map(({ type }) => String(type).slice("response.".length))).toEqual([
    "created",
    "in_progress",
    ...told(
      "reasoning_summary_part.added",
      ...text("reasoning_summary_text"),
      "reasoning_summary_part.done",
      ...part("reasoning_text"),
    ),
    ...told(...part("output_text")),
    ...told(...part("refusal")),
    ...told(...text("function_call_arguments")),
    ...told(...text("custom_tool_call_input")),
    "failed",
  ]);
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at));
  expect(events.flatMap(({ delta }) => delta ?? [])).toEqual(["short", "long", "hi", "no", "{}", "*** Begin"]);
  const begun = { status: "in_progress", output: [], error: null, usage: null };
  expect(events[0]?.response).toMatchObject(begun);
  expect(events.flatMap(({ type, item: added }) => (type === "response.output_item.added" ? [added] : []))).toEqual([
    { ...reasoning, status: "in_progress", summary: [], content: [] },
    { ...item("hi"), status: "in_progress", content: [] },
    { ...refused, status: "in_progress", content: [] },
    { ...functionCall, status: "in_progress", arguments: "" },
    { ...custom, status: "in_progress", input: "" },
  ]);
});
