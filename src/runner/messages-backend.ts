// Anthropic's messages as a backend, without an SDK: a client's request passes through; an ordinary job's chat becomes
// a message, and its answer a completion. A field that cannot be carried is refused by its name.

import { dataOf } from "../../contract/text/event-text.ts";
import { isObject, type JsonObject, objectOf, parseJson } from "../../contract/text/json-object.ts";
import { entryOf } from "../../domain/words/entry-of.ts";
import { DIALECTS } from "../../worker/apis/dialects.ts";
import { ANTHROPIC_VERSION } from "../../worker/apis/provider-dialects.ts";
import { writeEvent } from "../../worker/apis/sse.ts";
import type { Answering, Backend } from "../../worker/calls/backend.ts";
import { type ChatBody, unsupportedInput } from "../../worker/calls/chat-body.ts";
import { type Exchange, exchange, type Way } from "../../worker/calls/exchange.ts";
import { classifyFailure } from "../../worker/calls/failure.ts";
import { inlineImage } from "../../worker/calls/inline-image.ts";
import { requestFailure } from "../../worker/calls/request-failure.ts";
import { failed, type Outcome } from "../../worker/calls/runtime.ts";

/** The API requires a bound. */
const DEFAULT_MAX_TOKENS = 4096;

interface MessagesOptions {
  readonly name: string;
  readonly baseUrl: string;
  readonly way: Way;
}

export const createMessagesBackend = ({ name, baseUrl, way }: MessagesOptions): Backend => {
  const ask = (body: JsonObject, headers: object, explain: Exchange["explain"], run: Answering): Promise<Outcome> =>
    exchange(
      {
        url: `${baseUrl}/messages`,
        headers: { "anthropic-version": ANTHROPIC_VERSION, ...headers },
        body: JSON.stringify(body),
        dialect: DIALECTS.messages,
        way,
        explain,
      },
      run,
    );
  return {
    chat: async (body, run) => {
      const asked = messageOf(body);
      if (typeof asked === "string") return failed(unsupportedInput(`input.${asked}: ${name} cannot be given this`));
      const emit: Answering["emit"] = (events) => run.emit(events.flatMap(toChunk));
      const explain: Exchange["explain"] = (failure) => classifyFailure(failure, Date.now());
      const outcome = await ask(asked, {}, explain, { ...run, emit });
      return outcome.ok ? { ...outcome, result: completionOf(outcome.result) } : outcome;
    },
    request: async ({ api, body, headers }, run) => {
      if (api !== "messages") {
        return failed({ code: "not_found", message: `${name} has no API "${api}"`, status: 404, retryable: false });
      }
      return ask(body, headers, (failure) => requestFailure(name, failure, Date.now()), run);
    },
  };
};

/** Fields of a chat that a message has under the same name or another. */
const CARRIED: Readonly<Record<string, string>> = {
  model: "model",
  max_tokens: "max_tokens",
  max_completion_tokens: "max_tokens",
  temperature: "temperature",
  top_p: "top_p",
  top_k: "top_k",
};

/** The request, or the field that it cannot have. */
const messageOf = (body: JsonObject & ChatBody): JsonObject | string => {
  const message: JsonObject = { max_tokens: DEFAULT_MAX_TOKENS, stream: true };
  const system: string[] = [];
  for (const [field, value] of Object.entries(body)) {
    if (value === undefined || value === null) continue;
    const carried = entryOf(CARRIED, field);
    if (carried !== undefined) message[carried] = value;
    else if (field === "stop") message.stop_sequences = Array.isArray(value) ? value : [value];
    else if (field === "tools") message.tools = toolsOf(value);
    else if (field === "tool_choice") message.tool_choice = toolChoiceOf(value);
    else if (field !== "messages") return field;
  }
  const turns: JsonObject[] = [];
  for (const turn of body.messages.map(objectOf)) {
    const { role, content } = turn;
    const blocks = typeof content === "string" ? content : role === "user" ? blocksOf(content) : null;
    if (blocks === null || (role !== "system" && role !== "user" && role !== "assistant")) return "messages";
    if (role === "system") system.push(String(blocks));
    else turns.push({ role, content: blocks });
  }
  return { ...message, ...(system.length === 0 ? {} : { system: system.join("\n\n") }), messages: turns };
};

/** A user's parts; null if one is neither text nor an image that comes along. */
const blocksOf = (content: unknown): JsonObject[] | null => {
  if (!Array.isArray(content)) return null;
  const blocks = content.map(objectOf).map(({ type, text, image_url }): JsonObject | null => {
    if (type === "text") return { type, text };
    const image = inlineImage(String(objectOf(image_url).url));
    return image && { type: "image", source: { type: "base64", media_type: image.type, data: image.data } };
  });
  return blocks.every((block) => block !== null) ? blocks : null;
};

const toolsOf = (tools: unknown): JsonObject[] =>
  (Array.isArray(tools) ? tools : []).map((tool) => {
    const { name, description, parameters } = objectOf(objectOf(tool).function);
    return { name, ...(description === undefined ? {} : { description }), input_schema: parameters ?? EMPTY_SCHEMA };
  });

const EMPTY_SCHEMA = { type: "object", properties: {} };

const toolChoiceOf = (choice: unknown): JsonObject => {
  if (isObject(choice)) return { type: "tool", name: objectOf(choice.function).name };
  return { type: choice === "required" ? "any" : choice === "none" ? "none" : "auto" };
};

/** The text that an event adds, as a chunk of a completion. */
const toChunk = (event: string): string[] => {
  const { delta } = objectOf(parseJson(dataOf(event)));
  const { type, text } = objectOf(delta);
  if (type !== "text_delta" || typeof text !== "string") return [];
  return [writeEvent(JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] }))];
};

const FINISH: Readonly<Record<string, string>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "content_filter",
};

const completionOf = (message: unknown): JsonObject => {
  const { content, model, stop_reason: reason } = objectOf(message);
  const blocks = (Array.isArray(content) ? content : []).map(objectOf);
  const text = blocks.map(({ type, text: said }) => (type === "text" ? String(said ?? "") : "")).join("");
  const calls = blocks
    .filter(({ type }) => type === "tool_use")
    .map(({ id, name, input }) => ({
      id,
      type: "function",
      // Of a call that was cut, the text that there is.
      function: { name, arguments: typeof input === "string" ? input : JSON.stringify(input ?? {}) },
    }));
  const finish_reason = entryOf(FINISH, String(reason)) ?? "stop";
  const said = { role: "assistant", content: text, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
  return { model, choices: [{ index: 0, message: said, finish_reason }] };
};
