// A text as an answer of an API: the events around it, and the event of a piece of it. For the echo and for programs
// that answer with text. The whole answer is assembled from the events, as for any other runtime.

import { type JsonObject, objectOf } from "../../contract/text/json-object.ts";
import { REMINDER } from "../../contract/text/reminder.ts";
import { type Api, entryOf } from "../../contract/words/values.ts";
import { writeEvent } from "./sse.ts";
import type { Usage } from "./usage.ts";

export type TextAnswer = {
  before: string[];
  piece: (text: string) => string;
  /** `text`: all of it. `usage`: null if nobody has counted. */
  after: (text: string, usage: Usage | null) => string[];
};
export type TextApi = Extract<Api, "chat/completions" | "completions" | "responses" | "messages">;

const UNCOUNTED: Usage = { input_tokens: 0, output_tokens: 0 };

const newId = (prefix: string): string => `${prefix}${crypto.randomUUID().replaceAll("-", "")}`;
const nowSeconds = (): number => Math.floor(Date.now() / 1000);

/** `hello`: what stands before the text. */
const chunked = (
  head: JsonObject,
  choice: (text: string | null) => JsonObject,
  hello: JsonObject | null,
): TextAnswer => {
  const chunk = (said: JsonObject, finish_reason: string | null) =>
    writeEvent({ ...head, choices: [{ index: 0, ...said, logprobs: null, finish_reason }] });
  const counted = ({ input_tokens: input, output_tokens: output }: Usage) => {
    const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
    return writeEvent({ ...head, choices: [], usage });
  };
  return {
    before: hello === null ? [] : [chunk(hello, null)],
    piece: (text) => chunk(choice(text), null),
    after: (_text, usage) => [
      chunk(choice(null), "stop"),
      ...(usage === null ? [] : [counted(usage)]),
      writeEvent("[DONE]"),
    ],
  };
};

const chat = (model: string): TextAnswer =>
  chunked(
    { id: newId("chatcmpl-"), object: "chat.completion.chunk", created: nowSeconds(), model },
    (text) => ({ delta: text === null ? {} : { content: text } }),
    { delta: { role: "assistant", content: "" } },
  );

const completions = (model: string): TextAnswer =>
  chunked(
    { id: newId("cmpl-"), object: "text_completion", created: nowSeconds(), model },
    (text) => ({ text: text ?? "" }),
    null,
  );

const responses = (model: string): TextAnswer => {
  const id = newId("resp_");
  const item = { id: newId("msg_"), type: "message", role: "assistant" };
  const at = { item_id: item.id, output_index: 0, content_index: 0 };
  const part = { type: "output_text", text: "", annotations: [] };
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
    after: (text, counted) => {
      const whole = { ...item, status: "completed", content: [{ ...part, text }] };
      const usage = responsesUsage(counted ?? UNCOUNTED);
      return [
        say("response.output_text.done", { ...at, text, logprobs: [] }),
        say("response.content_part.done", { ...at, part: { ...part, text } }),
        say("response.output_item.done", { output_index: 0, item: whole }),
        say("response.completed", { response: { ...response, status: "completed", output: [whole], usage } }),
      ];
    },
  };
};

const responsesUsage = ({ input_tokens, output_tokens, cached_input_tokens, reasoning_tokens }: Usage) => ({
  input_tokens,
  input_tokens_details: { cached_tokens: cached_input_tokens ?? 0 },
  output_tokens,
  output_tokens_details: { reasoning_tokens: reasoning_tokens ?? 0 },
  total_tokens: input_tokens + output_tokens,
});

const messages = (model: string): TextAnswer => {
  const say = (type: string, fields: JsonObject = {}) => writeEvent({ type, ...fields }, type);
  const message = {
    id: newId("msg_"),
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: UNCOUNTED,
  };
  return {
    before: [
      say("message_start", { message }),
      say("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    ],
    piece: (text) => say("content_block_delta", { index: 0, delta: { type: "text_delta", text } }),
    after: (_text, counted) => {
      const { input_tokens, output_tokens } = counted ?? UNCOUNTED;
      const delta = { stop_reason: "end_turn", stop_sequence: null };
      return [
        say("content_block_stop", { index: 0 }),
        say("message_delta", { delta, usage: { input_tokens, output_tokens } }),
        say("message_stop"),
      ];
    },
  };
};

/** An answer of a model, by the API. */
export const TEXT_ANSWERS: Readonly<Record<TextApi, (model: string) => TextAnswer>> = {
  "chat/completions": chat,
  completions,
  responses,
  messages,
};

/** Null if the API's answers are no text. */
export const textAnswerOf = (api: Api | null, model: string): TextAnswer | null =>
  api === null ? null : (entryOf(TEXT_ANSWERS, api)?.(model) ?? null);

/** Whether its answer has a choice for each of several prompts, none of which is what the user said last. */
export const asksSeveral = (api: Api | null, { prompt }: JsonObject): boolean =>
  api === "completions" && Array.isArray(prompt) && prompt.length > 1 && typeof prompt[0] !== "number";

const textsOf = (content: unknown): string[] => {
  if (typeof content === "string") return [content];
  const texts = Array.isArray(content) ? content.map((part) => objectOf(part).text) : [];
  return texts.filter((text) => typeof text === "string").filter((text) => !REMINDER.test(text));
};

/** All that the user wrote last in a request of any API, without reminders of its client. */
export const lastUserText = (body: JsonObject): string => {
  const turns = [body.messages ?? body.input ?? body.prompt ?? ""].flat();
  const said = turns.map((turn) => {
    if (typeof turn === "string") return turn;
    const { role, content } = objectOf(turn);
    return role === "user" ? textsOf(content).join("\n") : "";
  });
  return said.findLast((text) => text !== "") ?? "";
};
