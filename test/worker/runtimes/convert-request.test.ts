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
    expect(converted({ temperature: null, tools: null, seed: null })).toEqual(converted({}));
    expect(converted({ n: 1, logprobs: false, logit_bias: {}, modalities: ["text"] })).toEqual(converted({}));
  });

  test.each([
    ["a tool of the provider's own", { type: "web_search" }],
    ["a tool without a name", { type: "function", function: {} }],
    ["a name without a tool's type", { function: { name: "look" } }],
  ])("with %s is refused", (_what, tool) => {
    expect(() => converted({ tools: [tool] })).toThrow(`only tools of type "function" with a name are supported`);
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

describe("the turns of a chat", () => {
  const promptOf = (turns: JsonObject[]) => convertRequest({ messages: turns }, "anthropic").prompt;
  const part = (image_url: unknown) => promptOf([{ role: "user", content: [{ type: "image_url", image_url }] }]);

  test("carry an image that is in them, and the address of another", () => {
    const [inline] = part({ url: "data:image/png;base64,QUJD" });
    expect(inline?.content).toEqual([{ type: "file", mediaType: "image/png", data: { type: "data", data: "QUJD" } }]);
    const [linked] = part("https://images.example/a.png");
    expect(linked?.content).toMatchObject([
      { type: "file", data: { type: "url", url: new URL("https://images.example/a.png") } },
    ]);
  });

  test.each([
    ["an image without an address", { type: "image_url", image_url: {} }, `has a part of type "image_url"`],
    ["an image with no address", { type: "image_url", image_url: "cat.png" }, "has an image with an invalid address"],
    ["sound", { type: "input_audio", input_audio: {} }, `has a part of type "input_audio"`],
  ])("are refused for %s, which would be lost", (_what, content, why) => {
    expect(() => promptOf([{ role: "user", content: [content] }])).toThrow(`messages[0] ${why}`);
  });

  test("carry a tool's call without words, and its answer under the tool's name", () => {
    const call = { id: "c1", type: "function", function: { name: "look", arguments: '{"at": 1}' } };
    const turns = [{ role: "assistant", content: null, tool_calls: [call] }];
    expect(promptOf([...turns, { role: "tool", tool_call_id: "c1", content: "red" }])).toEqual([
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "c1", toolName: "look", input: { at: 1 } }] },
      {
        role: "tool",
        content: [{ type: "tool-result", toolCallId: "c1", toolName: "look", output: { type: "text", value: "red" } }],
      },
    ]);
    expect(() => promptOf([...turns, { role: "tool", tool_call_id: "c2", content: "red" }])).toThrow(
      "messages[1] answers a tool call that does not exist",
    );
  });
});

test("which tools a model may or must call is carried, or refused by name", () => {
  const { toolChoice } = converted({ tool_choice: { type: "function", function: { name: "look" } } });
  expect(toolChoice).toEqual({ type: "tool", toolName: "look" });
  expect(converted({ tool_choice: "none" }).toolChoice).toEqual({ type: "none" });
  expect(() => converted({ tool_choice: "any" })).toThrow("tool_choice has an unknown value");
  const one = { messages, parallel_tool_calls: false };
  expect(convertRequest(one, "anthropic").providerOptions).toEqual({ anthropic: { disableParallelToolUse: true } });
  expect(() => convertRequest(one, "gemini")).toThrow(`gemini does not support "parallel_tool_calls"`);
  expect(converted({ parallel_tool_calls: true })).toEqual(converted({}));
});

test("a schema of the answer is carried with its name and description; a form without one only where there is one", () => {
  const schema = { type: "object" };
  const format = { type: "json_schema", json_schema: { schema, name: "person", description: "who" } };
  const told = { type: "json", schema, name: "person", description: "who" };
  expect(convertRequest({ messages, response_format: format }, "anthropic").responseFormat).toEqual(told);
  expect(converted({ response_format: { type: "json_object" } }).responseFormat).toEqual({ type: "json" });
  for (const response_format of [{ type: "json_object" }, { type: "json_schema" }])
    expect(() => convertRequest({ messages, response_format }, "anthropic")).toThrow(
      `anthropic does not support a response_format of type "${response_format.type}"`,
    );
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
      chunks.of({ type: "tool-call", toolCallId: "b", toolName: "find", input: "{}" }),
    ].flatMap(([chunk]) => deltasOf(chunk));
    const whole: JsonObject = {};
    for (const delta of deltas) mergeDelta(whole, structuredClone(delta));
    expect(whole.tool_calls).toEqual([
      { index: 0, id: "a", type: "function", function: { name: "look", arguments: "[]" } },
      { index: 1, id: "b", type: "function", function: { name: "find", arguments: "{}" } },
    ]);
  });
});

test("the last chunk counts input and output together, what was cached and thought of it", () => {
  const tokens = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined };
  const finish = (inputTokens: object, outputTokens: object, raw?: string) =>
    new ChatChunks("m").of({
      type: "finish",
      finishReason: { unified: "stop", raw },
      usage: { inputTokens: { ...tokens, ...inputTokens }, outputTokens },
    } as Parameters<ChatChunks["of"]>[0]);
  expect(finish({ total: 7, cacheRead: 5 }, { total: 11, reasoning: 4 }, "stop").at(-1)).toMatchObject({
    choices: [],
    usage: {
      prompt_tokens: 7,
      completion_tokens: 11,
      total_tokens: 18,
      prompt_tokens_details: { cached_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 4 },
    },
  });
  // What a stream that broke off has told is counted, too; one that told nothing tells no zeros.
  expect(finish({ total: 7 }, {})).toMatchObject([{ usage: { prompt_tokens: 7, completion_tokens: 0 } }]);
  expect(finish({}, {})).toEqual([]);
});
