// What another program says in a runtime's place is no empty answer. What a model says is one, however little it is.

import { expect, test } from "vitest";
import type { Api } from "../../../contract/words/values.ts";
import { assignedJob } from "../job-fixture.ts";
import { event } from "../runtimes/fake-runtime.ts";
import { local, openai, run, serve } from "./chat-fixture.ts";

const PAGE = { headers: { "content-type": "text/html" }, body: "<html>Sign in to the network</html>" };
const INPUT = { model: "m1" };
const store = async () => ({ ok: true, file: { id: "file-1", bytes: 0 } }) as const;

const asked = async (api: Api, answer: object, stream = false) => {
  const server = await serve(openai(["m1"], () => answer));
  const emitted: string[] = [];
  const emit = (events: readonly string[]) => void emitted.push(...events);
  const job = assignedJob({ id: "j", api, stream });
  const outcome = await run(local("vllm", server.url), { api, input: INPUT, job }, { emit, store, isPassedOn: stream });
  return { outcome, events: emitted.join("") };
};

/** Of each API: what a model that says nothing answers with. */
const LEAST: Record<Api, readonly object[]> = {
  "chat/completions": [
    { choices: [{ index: 0, message: { role: "assistant", content: "" }, finish_reason: "stop" }] },
    { choices: [{ index: 0, message: { content: null, refusal: "No." }, finish_reason: "stop" }] },
    { choices: [{ index: 0, message: { content: null, tool_calls: [] }, finish_reason: "tool_calls" }] },
    { choices: [{ index: 0, finish_reason: "content_filter" }] },
  ],
  completions: [{ choices: [{ index: 0, text: "", finish_reason: "stop" }], usage: { completion_tokens: 0 } }],
  embeddings: [{ object: "list", data: [] }],
  responses: [{ object: "response", status: "incomplete", output: [] }],
  rerank: [{ results: [] }, { data: [] }, [{ index: 0, score: 1 }]],
  "images/generations": [{ created: 1, data: [] }],
  "images/edits": [{ created: 1, data: [] }],
  "audio/transcriptions": [{ text: "" }],
  "audio/translations": [{ text: "" }],
  "audio/speech": [{ audio: "" }],
  messages: [{ type: "message", content: [], stop_reason: "end_turn" }],
  "messages/count_tokens": [{ input_tokens: 0 }],
};

const EVERY_API = Object.entries(LEAST) as [Api, readonly object[]][];

test.each(EVERY_API)("of %s, what another program says is a failure that is tried elsewhere", async (api) => {
  for (const answer of [{ body: {} }, { body: { status: "ok" } }, { body: "[]" }, { body: "7" }, PAGE]) {
    const { outcome, events } = await asked(api, answer);
    const message = expect.stringMatching(/^The runtime answered with something unreadable: it/);
    expect(outcome).toMatchObject({ ok: false, error: { code: "internal", status: 502, retryable: true, message } });
    expect(events).toBe("");
  }
});

test.each(EVERY_API)("of %s, the least that a model says is an answer", async (api, answers) => {
  for (const body of answers) {
    const answer = { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    expect((await asked(api, answer)).outcome).toMatchObject({ ok: true, result: body });
  }
});

test("sound of no bytes is none, the text of silence is empty", async () => {
  const empty = (type: string) => ({ headers: { "content-type": type }, body: "" });
  for (const stream of [true, false]) {
    const { outcome, events } = await asked("audio/speech", empty("audio/mpeg"), stream);
    expect(outcome).toMatchObject({ ok: false, error: { message: expect.stringContaining("no audio") } });
    expect(events).toBe("");
  }
  expect((await asked("audio/transcriptions", empty("text/plain"))).outcome).toMatchObject({ ok: true });
});

test.each([
  ["chat/completions", event("[DONE]"), "no choices"],
  ["completions", event("[DONE]"), "no choices"],
  ["messages", event({ type: "message_stop" }, "message_stop"), "no content"],
  ["responses", event({ type: "response.created", response: { output: [] } }, "response.created"), "broke off"],
] as const)("a stream of %s that only ends is no answer", async (api, body, why) => {
  const { outcome, events } = await asked(api, { body: [body] }, true);
  const error = { status: 502, retryable: true, message: expect.stringContaining(why) };
  expect(outcome).toMatchObject({ ok: false, error });
  expect(events).toBe("");
});

test("what such an answer counts has been spent", async () => {
  const { outcome } = await asked("chat/completions", { body: { usage: { prompt_tokens: 7, completion_tokens: 2 } } });
  expect(outcome).toMatchObject({ ok: false, usage: { input_tokens: 7, output_tokens: 2 } });
});
