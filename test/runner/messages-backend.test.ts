// What an ordinary job gets of a message that was cut: nothing of it looks whole.

import { expect, test } from "vitest";
import { createMessagesBackend } from "../../src/runner/messages-backend.ts";
import type { Way } from "../../worker/calls/exchange.ts";
import { classifyFailure } from "../../worker/calls/failure.ts";
import { event } from "../worker/runtimes/fake-runtime.ts";

const chatWith = async (events: readonly object[]) => {
  const text = events.map((one) => event(one)).join("");
  const way: Way = {
    fetch: async () => new Response(text, { headers: { "content-type": "text/event-stream" } }),
    classify: (error) => classifyFailure({ body: String(error) }, 0),
    streamOf: () => null,
  };
  const backend = createMessagesBackend({ name: "claudia", baseUrl: "https://claudia.example/v1", way });
  const asked = { model: "c1", messages: [{ role: "user", content: "hi" }] };
  return backend.chat(asked, { signal: new AbortController().signal, emit: () => undefined, isRead: true });
};

const cutBy = (stop_reason: string) => [
  { type: "message_start", message: { model: "c1", content: [], usage: { input_tokens: 1, output_tokens: 1 } } },
  { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "t", name: "find", input: {} } },
  { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '{"words": "a' } },
  { type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 9 } },
  { type: "message_stop" },
];

test.each(["max_tokens", "model_context_window_exceeded"])("a message that ends by %s is cut", async (reason) => {
  const outcome = await chatWith(cutBy(reason));
  const called = { function: { name: "find", arguments: '{"words": "a' } };
  expect(outcome).toMatchObject({
    ok: true,
    result: { choices: [{ finish_reason: "length", message: { tool_calls: [called] } }] },
  });
});
