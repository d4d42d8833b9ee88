// A chat request for another kind of model: what could change the answer is carried, or refused by name.

import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../contract/text/json-object.ts";
import { mergeDelta } from "../../../worker/apis/merge-delta.ts";
import { ChatChunks } from "../../../worker/runtimes/chat-chunks.ts";
import { convertRequest } from "../../../worker/runtimes/convert-request.ts";

const messages = [{ role: "user", content: "hi" }];
const converted = (more: JsonObject) => convertRequest({ messages, ...more }, "gemini");

describe("a request", () => {
  test("stops at a text as at a list of one", () => {
    expect(converted({ stop: "END" }).stopSequences).toEqual(["END"]);
    expect(converted({ stop: ["END", "FIN"] }).stopSequences).toEqual(["END", "FIN"]);
  });

  test.each([
    ["two answers", { n: 2 }],
    ["the probabilities", { logprobs: true }],
    ["a bias", { logit_bias: { "50256": -100 } }],
    ["audio", { modalities: ["text", "audio"] }],
  ])("for %s is refused by that name", (_what, more) => {
    const [field] = Object.keys(more);
    expect(() => converted(more)).toThrow(`gemini does not support "${field}"`);
  });

  test("for one answer, or for what is the default anyway, is taken", () => {
    expect(converted({ n: 1, logprobs: false, logit_bias: {}, modalities: ["text"] })).toEqual(converted({}));
  });

  test("is taken whatever it says of OpenAI's cache, which another kind of model does not have", () => {
    const cache = { prompt_cache_key: "a", prompt_cache_options: { mode: "explicit" }, prompt_cache_retention: "24h" };
    expect(converted(cache)).toEqual(converted({}));
  });

  // Anthropic's newest models take neither, and the others not both.
  test("whose sampling is Anthropic's default anyway does not ask Anthropic for it", () => {
    const body = { messages, temperature: 1, top_p: 1 };
    expect(convertRequest(body, "anthropic")).toEqual(convertRequest({ messages }, "anthropic"));
    expect(convertRequest({ ...body, temperature: 0.3 }, "anthropic")).toMatchObject({ temperature: 0.3 });
    expect(convertRequest(body, "gemini")).toMatchObject({ temperature: 1, topP: 1 });
  });

  test.each([true, false])("says of a tool whether its schema is strict: %s", (strict) => {
    const tool = { type: "function", function: { name: "look", parameters: { type: "object" }, strict } };
    expect(converted({ tools: [tool] }).tools).toEqual([
      { type: "function", name: "look", inputSchema: { type: "object" }, strict },
    ]);
  });
});

const deltasOf = (chunk: JsonObject | undefined) =>
  (chunk?.choices as { delta: JsonObject }[] | undefined)?.map(({ delta }) => delta) ?? [];

test("a call of a tool without parameters has an empty object as arguments, which clients parse", () => {
  const chunks = new ChatChunks("m");
  const parts = [
    { type: "tool-input-start", id: "a", toolName: "ping" },
    { type: "tool-input-delta", id: "a", delta: "" },
    { type: "tool-input-end", id: "a" },
    { type: "tool-call", toolCallId: "a", toolName: "ping", input: "{}" },
  ] as const;
  const whole: JsonObject = {};
  for (const delta of parts.flatMap((part) => chunks.of(part)).flatMap(deltasOf)) mergeDelta(whole, delta);
  expect(whole.tool_calls).toEqual([
    { index: 0, id: "a", type: "function", function: { name: "ping", arguments: "{}" } },
  ]);
});

describe("two tool calls side by side", () => {
  test("have an index each, which their later parts repeat", () => {
    const chunks = new ChatChunks("m");
    const deltas = [
      chunks.of({ type: "tool-input-start", id: "a", toolName: "look" }),
      chunks.of({ type: "tool-input-start", id: "b", toolName: "find" }),
      chunks.of({ type: "tool-input-delta", id: "b", delta: "{}" }),
      chunks.of({ type: "tool-input-delta", id: "a", delta: "[]" }),
    ].flatMap(([chunk]) => deltasOf(chunk));
    const whole: JsonObject = {};
    for (const delta of deltas) mergeDelta(whole, structuredClone(delta));
    expect(whole.tool_calls).toEqual([
      { index: 0, id: "a", type: "function", function: { name: "look", arguments: "[]" } },
      { index: 1, id: "b", type: "function", function: { name: "find", arguments: "{}" } },
    ]);
  });
});
