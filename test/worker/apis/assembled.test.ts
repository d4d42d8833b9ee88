// A hosted provider's answer always comes as events; a client that wants none gets what they make.

import { expect, test } from "vitest";
import type { Api } from "../../../domain/words/api.ts";
import { DIALECTS } from "../../../worker/apis/dialects.ts";

const assembled = (api: Api, events: readonly object[]): unknown => {
  const assembly = DIALECTS[api].assemble?.();
  for (const event of events) assembly?.take(JSON.stringify(event));
  return assembly?.result();
};

test("a message keeps its summary of the conversation, and what its API did to the context", () => {
  const context = { applied_edits: [{ type: "clear_tool_uses_20250919", cleared_tool_uses: 2 }] };
  const summary = { content: "We spoke of trains.", encrypted_content: "c2VhbGVk" };
  const made = assembled("messages", [
    { type: "message_start", message: { id: "msg_1", type: "message", content: [], usage: { output_tokens: 1 } } },
    { type: "content_block_start", index: 0, content_block: { type: "compaction", content: null } },
    { type: "content_block_delta", index: 0, delta: { type: "compaction_delta", ...summary } },
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: "compaction" },
      usage: { output_tokens: 9 },
      context_management: context,
      input_transformations: null,
    },
    { type: "message_stop" },
  ]);
  expect(made).toEqual({
    id: "msg_1",
    type: "message",
    content: [{ type: "compaction", ...summary }],
    stop_reason: "compaction",
    usage: { output_tokens: 9 },
    context_management: context,
  });
});

test("a message that another model finishes after a refusal is of that model", () => {
  const hop = {
    type: "fallback",
    from: { model: "claude-a" },
    to: { model: "claude-b" },
    trigger: { type: "refusal" },
  };
  const usage = { input_tokens: 3, output_tokens: 9 };
  const made = assembled("messages", [
    { type: "message_start", message: { id: "msg_1", model: "claude-a", usage } },
    { type: "content_block_start", index: 0, content_block: hop },
    { type: "content_block_stop", index: 0 },
    { type: "content_block_start", index: 1, content_block: { type: "text", text: "Yes." } },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage },
  ]);
  expect(made).toMatchObject({ model: "claude-b", content: [hop, { type: "text", text: "Yes." }] });
  expect(DIALECTS.messages.spentOf(made)).toEqual({ model: "claude-b", usage });
});

test("a message tells what it wrote to the cache, and for how long", () => {
  const told = {
    input_tokens: 3,
    cache_read_input_tokens: 20,
    cache_creation_input_tokens: 100,
    cache_creation: { ephemeral_5m_input_tokens: 60, ephemeral_1h_input_tokens: 40 },
  };
  const made = assembled("messages", [
    { type: "message_start", message: { id: "msg_1", model: "claude", usage: { ...told, output_tokens: 1 } } },
    { type: "message_delta", delta: {}, usage: { output_tokens: 9, cache_creation_input_tokens: 100 } },
  ]);
  const usage = { input_tokens: 123, output_tokens: 9, cached_input_tokens: 20 };
  const written = { cache_write_tokens: 100, cache_write_1h_tokens: 40 };
  expect(DIALECTS.messages.spentOf(made)).toEqual({ model: "claude", usage: { ...usage, ...written } });
  const plain = { usage: { input_tokens: 3, output_tokens: 9, cache_creation_input_tokens: 0 } };
  expect(DIALECTS.messages.spentOf(plain)).toEqual({ usage: { input_tokens: 3, output_tokens: 9 } });
});

test("a message counts the compaction of its context, and no turn of its own twice", () => {
  const [beside, own] = [
    { input_tokens: 1_000, output_tokens: 100 },
    { input_tokens: 3, output_tokens: 9 },
  ];
  const iterations = [
    { type: "compaction", ...beside, cache_read_input_tokens: 10, cache_creation_input_tokens: 5 },
    { type: "message", ...own },
    null,
  ];
  const cache = { cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
  const made = assembled("messages", [
    {
      type: "message_start",
      message: { id: "msg_1", model: "claude", usage: { ...cache, input_tokens: 3, output_tokens: 1 } },
    },
    { type: "message_delta", delta: {}, usage: { output_tokens: 9, iterations } },
  ]);
  const usage = { input_tokens: 1_018, output_tokens: 109, cached_input_tokens: 10, cache_write_tokens: 5 };
  expect(DIALECTS.messages.spentOf(made)).toEqual({ model: "claude", usage });
  expect(DIALECTS.messages.spentOf({ usage: { ...own, iterations: "none" } })).toEqual({ usage: own });
});

test("a chat's names are not written once for each event that repeats them", () => {
  const details = (more: object) => [{ type: "reasoning.text", format: "anthropic-claude-v1", index: 0, ...more }];
  const chunk = (delta: object, reason: string | null) => ({
    choices: [{ index: 0, delta, finish_reason: reason, native_finish_reason: reason }],
  });
  const { choices } = assembled("chat/completions", [
    chunk({ role: "assistant", content: "", reasoning_details: details({ text: "Which " }) }, null),
    chunk({ content: "", reasoning_details: details({ text: "one?" }) }, null),
    chunk({ content: "This.", reasoning_details: details({ signature: "c2ln" }) }, "stop"),
    chunk({ content: "" }, "stop"),
  ]) as { choices: object[] };
  expect(choices).toMatchObject([
    {
      message: { content: "This.", reasoning_details: details({ text: "Which one?", signature: "c2ln" }) },
      native_finish_reason: "stop",
    },
  ]);
});

test("a chat has the verdict of its filters once, and no padding of its events", () => {
  const filters = { hate: { filtered: false, severity: "safe" } };
  const chunk = (content: string, reason: string | null) => ({
    id: "chatcmpl-1",
    obfuscation: "x7Qm",
    choices: [{ index: 0, delta: { content }, content_filter_results: filters, finish_reason: reason }],
  });
  expect(assembled("chat/completions", [chunk("The", null), chunk(" cat", "stop")])).toEqual({
    id: "chatcmpl-1",
    object: "chat.completion",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: "The cat" },
        logprobs: null,
        finish_reason: "stop",
        content_filter_results: filters,
      },
    ],
  });
});

test("a chat's message is not written again beside each of its deltas", () => {
  const chunk = (content: string, soFar: string, reason: string | null) => ({
    choices: [
      {
        index: 0,
        delta: { role: "assistant", content },
        message: { role: "assistant", content: soFar },
        finish_reason: reason,
      },
    ],
  });
  const chunks = [chunk("The", "The", null), chunk(" cat", "The cat", null), chunk("", "The cat", "stop")];
  expect(assembled("chat/completions", chunks)).toMatchObject({
    choices: [{ message: { role: "assistant", content: "The cat" }, finish_reason: "stop" }],
  });
  const whole = [{ choices: [{ index: 0, message: { content: "The cat" }, finish_reason: "stop" }] }];
  expect(assembled("chat/completions", whole)).toMatchObject({ choices: [{ message: { content: "The cat" } }] });
});
