// The echo runtime's answers in each API: the events around the text, and the event of a piece of text. The whole
// answer is assembled from them, as for any other runtime.

import { randomUUID } from "node:crypto";
import type { JsonObject } from "../../contract/text/json-object.ts";
import type { Api } from "../../contract/words/values.ts";
import { writeEvent } from "../apis/sse.ts";

export type Echoed = { text: string; model: string; words: number };
type Answer = { before: string[]; piece: (text: string) => string; after: string[] };
export type StreamedApi = Extract<Api, "chat/completions" | "completions" | "responses" | "messages">;

const newId = (prefix: string): string => `${prefix}${randomUUID().replaceAll("-", "")}`;
const nowSeconds = (): number => Math.floor(Date.now() / 1000);

const chunked = (
  object: string,
  id: string,
  { model, words }: Echoed,
  choice: (text: string | null) => JsonObject,
): Answer => {
  const head = { id, object, created: nowSeconds(), model };
  const chunk = (text: string | null, finish_reason: string | null) =>
    writeEvent({ ...head, choices: [{ index: 0, ...choice(text), logprobs: null, finish_reason }] });
  const usage = { prompt_tokens: words, completion_tokens: words, total_tokens: 2 * words };
  return {
    before: [],
    piece: (text) => chunk(text, null),
    after: [chunk(null, "stop"), writeEvent({ ...head, choices: [], usage }), writeEvent("[DONE]")],
  };
};

const chat = (echoed: Echoed): Answer => {
  const id = newId("chatcmpl-");
  const delta = (text: string | null) => ({ delta: text === null ? {} : { content: text } });
  const answer = chunked("chat.completion.chunk", id, echoed, delta);
  const head = { id, object: "chat.completion.chunk", created: nowSeconds(), model: echoed.model };
  const hello = { index: 0, delta: { role: "assistant", content: "" }, logprobs: null, finish_reason: null };
  return { ...answer, before: [writeEvent({ ...head, choices: [hello] })] };
};

const responses = ({ text, model, words }: Echoed): Answer => {
  const id = newId("resp_");
  const item = { id: newId("msg_"), type: "message", role: "assistant" };
  const at = { item_id: item.id, output_index: 0, content_index: 0 };
  const part = { type: "output_text", text: "", annotations: [] };
  const whole = { ...item, status: "completed", content: [{ ...part, text }] };
  const usage = {
    input_tokens: words,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: words,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 2 * words,
  };
  const response = {
    id,
    object: "response",
    created_at: nowSeconds(),
    status: "in_progress",
    error: null,
    model,
    output: [],
  };
  let sequence_number = -1;
  const say = (type: string, fields: JsonObject) => {
    sequence_number += 1;
    return writeEvent({ type, sequence_number, ...fields }, type);
  };
  return {
    before: [
      say("response.created", { response }),
      say("response.in_progress", { response }),
      say("response.output_item.added", { output_index: 0, item: { ...item, status: "in_progress", content: [] } }),
      say("response.content_part.added", { ...at, part }),
    ],
    piece: (delta) => say("response.output_text.delta", { ...at, delta, logprobs: [] }),
    get after() {
      return [
        say("response.output_text.done", { ...at, text, logprobs: [] }),
        say("response.content_part.done", { ...at, part: { ...part, text } }),
        say("response.output_item.done", { output_index: 0, item: whole }),
        say("response.completed", { response: { ...response, status: "completed", output: [whole], usage } }),
      ];
    },
  };
};

const messages = ({ model, words }: Echoed): Answer => {
  const say = (type: string, fields: JsonObject = {}) => writeEvent({ type, ...fields }, type);
  const usage = { input_tokens: words, output_tokens: 0 };
  const message = {
    id: newId("msg_"),
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  };
  return {
    before: [
      say("message_start", { message }),
      say("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    ],
    piece: (text) => say("content_block_delta", { index: 0, delta: { type: "text_delta", text } }),
    after: [
      say("content_block_stop", { index: 0 }),
      say("message_delta", {
        delta: { stop_reason: "end_turn", stop_sequence: null },
        usage: { output_tokens: words },
      }),
      say("message_stop"),
    ],
  };
};

export const ECHO_ANSWERS: Record<StreamedApi, (echoed: Echoed) => Answer> = {
  "chat/completions": chat,
  completions: (echoed) => chunked("text_completion", newId("cmpl-"), echoed, (text) => ({ text: text ?? "" })),
  responses,
  messages,
};
