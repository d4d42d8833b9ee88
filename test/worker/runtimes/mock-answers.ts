// A model runtime's answers in each of the five APIs: whole, and as the events of a stream.

import type { Api } from "../../../domain/words/api.ts";

type Said = {
  words: readonly string[];
  reasoning: readonly string[];
  toolCall: { id: string; name: string; arguments: string } | null;
  usage: { input: number; output: number; cached?: number } | null;
  model: string;
  // biome-ignore lint/suspicious/noExplicitAny: the request's body, whatever it holds
  body: any;
};

export type Answers = {
  whole: (said: Said) => unknown;
  stream: ((said: Said) => { before: string[]; word: (text: string) => string; after: () => string[] }) | null;
  error: (message: string) => unknown;
  errorEvent: (message: string) => string;
};

function event(data: unknown, name?: string): string {
  return `${name ? `event: ${name}\n` : ""}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}

const named = (data: { type: string; [field: string]: unknown }): string => event(data, data.type);
const openaiError = (message: string) => ({ error: { message, type: "server_error", param: null, code: null } });
const openaiErrors = { error: openaiError, errorEvent: (message: string) => event(openaiError(message)) };

const halves = (text: string): [string, string] => {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
};

const openaiUsage = ({ usage }: Said) =>
  usage && {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    ...(usage.cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: usage.cached } }),
  };

const chat: Answers = {
  ...openaiErrors,
  whole: (said) => {
    const { toolCall, words, reasoning } = said;
    const call = toolCall && {
      id: toolCall.id,
      type: "function",
      function: { name: toolCall.name, arguments: toolCall.arguments },
    };
    const message = {
      role: "assistant",
      content: call ? null : words.join(""),
      ...(reasoning.length > 0 ? { reasoning_content: reasoning.join("") } : {}),
      ...(call ? { tool_calls: [call] } : {}),
    };
    return {
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1,
      model: said.model,
      choices: [{ index: 0, message, logprobs: null, finish_reason: call ? "tool_calls" : "stop" }],
      ...(said.usage === null ? {} : { usage: openaiUsage(said) }),
    };
  },
  stream: (said) => {
    const base = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: said.model };
    const chunk = (delta: object, finish_reason: string | null = null) =>
      event({ ...base, choices: [{ index: 0, delta, finish_reason }] });
    const { toolCall } = said;
    const [head, tail] = halves(toolCall?.arguments ?? "");
    const callEvents = toolCall
      ? [
          chunk({
            tool_calls: [
              { index: 0, id: toolCall.id, type: "function", function: { name: toolCall.name, arguments: "" } },
            ],
          }),
          chunk({ tool_calls: [{ index: 0, function: { arguments: head } }] }),
          chunk({ tool_calls: [{ index: 0, function: { arguments: tail } }] }),
        ]
      : [];
    const wantsUsage = said.body.stream_options?.include_usage === true && said.usage !== null;
    return {
      before: [
        chunk({ role: "assistant", content: "" }),
        ...said.reasoning.map((reasoning_content) => chunk({ reasoning_content })),
        ...callEvents,
      ],
      word: (content) => chunk({ content }),
      after: () => [
        chunk({}, toolCall ? "tool_calls" : "stop"),
        ...(wantsUsage ? [event({ ...base, choices: [], usage: openaiUsage(said) })] : []),
        event("[DONE]"),
      ],
    };
  },
};

const completions: Answers = {
  ...openaiErrors,
  whole: (said) => ({
    id: "cmpl-1",
    object: "text_completion",
    created: 1,
    model: said.model,
    choices: [{ index: 0, text: said.words.join(""), logprobs: null, finish_reason: "stop" }],
    ...(said.usage === null ? {} : { usage: openaiUsage(said) }),
  }),
  stream: (said) => {
    const base = { id: "cmpl-1", object: "text_completion", created: 1, model: said.model };
    const chunk = (text: string, finish_reason: string | null = null) =>
      event({ ...base, choices: [{ index: 0, text, logprobs: null, finish_reason }] });
    const wantsUsage = said.body.stream_options?.include_usage === true && said.usage !== null;
    return {
      before: [],
      word: (text) => chunk(text),
      after: () => [
        chunk("", "stop"),
        ...(wantsUsage ? [event({ ...base, choices: [], usage: openaiUsage(said) })] : []),
        event("[DONE]"),
      ],
    };
  },
};

const embeddings: Answers = {
  ...openaiErrors,
  stream: null,
  whole: (said) => {
    const texts = Array.isArray(said.body.input) ? said.body.input : [said.body.input];
    const vector = [0.25, -0.5, 1];
    const embedding =
      said.body.encoding_format === "base64" ? Buffer.from(new Float32Array(vector).buffer).toString("base64") : vector;
    return {
      object: "list",
      model: said.model,
      data: texts.map((_: unknown, index: number) => ({ object: "embedding", index, embedding })),
      usage: { prompt_tokens: said.usage?.input ?? 0, total_tokens: said.usage?.input ?? 0 },
    };
  },
};

const responseOf = (said: Said, status: string) => {
  const { toolCall, usage } = said;
  const message = {
    id: "msg_1",
    type: "message",
    status: "completed",
    role: "assistant",
    content: [{ type: "output_text", text: said.words.join(""), annotations: [] }],
  };
  const call = toolCall && {
    id: "fc_1",
    type: "function_call",
    status: "completed",
    call_id: toolCall.id,
    name: toolCall.name,
    arguments: toolCall.arguments,
  };
  return {
    id: "resp_1",
    object: "response",
    created_at: 1,
    status,
    error: null,
    model: said.model,
    output: status === "completed" ? [call ?? message] : [],
    usage:
      status === "completed" && usage !== null
        ? {
            input_tokens: usage.input,
            input_tokens_details: { cached_tokens: usage.cached ?? 0 },
            output_tokens: usage.output,
            output_tokens_details: { reasoning_tokens: 0 },
            total_tokens: usage.input + usage.output,
          }
        : null,
  };
};

const responses: Answers = {
  error: openaiError,
  errorEvent: (message) =>
    named({
      type: "response.failed",
      response: { id: "resp_1", object: "response", status: "failed", error: { code: "server_error", message } },
    }),
  whole: (said) => responseOf(said, "completed"),
  stream: (said) => {
    // The first event is 0.
    let sequence_number = -1;
    const say = (type: string, fields: object) => {
      sequence_number += 1;
      return named({ type, sequence_number, ...fields });
    };
    const at = { item_id: "msg_1", output_index: 0, content_index: 0 };
    const { toolCall } = said;
    const item = { id: "msg_1", type: "message", status: "in_progress", role: "assistant", content: [] };
    const part = { type: "output_text", text: "", annotations: [] };
    const text = said.words.join("");
    const whole = responseOf(said, "completed");
    const begin = [
      say("response.created", { response: responseOf(said, "in_progress") }),
      say("response.in_progress", { response: responseOf(said, "in_progress") }),
    ];
    if (toolCall) {
      const [head, tail] = halves(toolCall.arguments);
      const call = { item_id: "fc_1", output_index: 0 };
      const empty = { id: "fc_1", type: "function_call", call_id: toolCall.id, name: toolCall.name, arguments: "" };
      return {
        before: [
          ...begin,
          say("response.output_item.added", { output_index: 0, item: empty }),
          say("response.function_call_arguments.delta", { ...call, delta: head }),
          say("response.function_call_arguments.delta", { ...call, delta: tail }),
          say("response.function_call_arguments.done", { ...call, arguments: toolCall.arguments }),
          say("response.output_item.done", { output_index: 0, item: whole.output[0] }),
        ],
        word: () => "",
        after: () => [say("response.completed", { response: whole })],
      };
    }
    return {
      before: [
        ...begin,
        say("response.output_item.added", { output_index: 0, item }),
        say("response.content_part.added", { ...at, part }),
      ],
      word: (delta) => say("response.output_text.delta", { ...at, delta, logprobs: [] }),
      after: () => [
        say("response.output_text.done", { ...at, text, logprobs: [] }),
        say("response.content_part.done", { ...at, part: { ...part, text } }),
        say("response.output_item.done", { output_index: 0, item: whole.output[0] }),
        say("response.completed", { response: whole }),
      ],
    };
  },
};

const anthropicError = (message: string) => ({ type: "error", error: { type: "api_error", message } });

const messageOf = (said: Said, isWhole: boolean) => {
  const { toolCall, usage, reasoning } = said;
  const thinking = reasoning.length > 0 ? [{ type: "thinking", thinking: reasoning.join(""), signature: "sig" }] : [];
  const block = toolCall
    ? { type: "tool_use", id: toolCall.id, name: toolCall.name, input: JSON.parse(toolCall.arguments) }
    : { type: "text", text: said.words.join("") };
  return {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: said.model,
    content: isWhole ? [...thinking, block] : [],
    stop_reason: isWhole ? (toolCall ? "tool_use" : "end_turn") : null,
    stop_sequence: null,
    usage: {
      input_tokens: usage?.input ?? 0,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: usage?.cached ?? 0,
      output_tokens: isWhole ? (usage?.output ?? 0) : 1,
    },
  };
};

const messages: Answers = {
  error: anthropicError,
  errorEvent: (message) => named(anthropicError(message)),
  whole: (said) => messageOf(said, true),
  stream: (said) => {
    const { toolCall, reasoning } = said;
    const index = reasoning.length > 0 ? 1 : 0;
    const delta = (at: number, one: object) => named({ type: "content_block_delta", index: at, delta: one });
    const start = (at: number, content_block: object) =>
      named({ type: "content_block_start", index: at, content_block });
    const stop = (at: number) => named({ type: "content_block_stop", index: at });
    const thinking =
      reasoning.length === 0
        ? []
        : [
            start(0, { type: "thinking", thinking: "", signature: "" }),
            ...reasoning.map((text) => delta(0, { type: "thinking_delta", thinking: text })),
            delta(0, { type: "signature_delta", signature: "sig" }),
            stop(0),
          ];
    const block = toolCall
      ? { type: "tool_use", id: toolCall.id, name: toolCall.name, input: {} }
      : { type: "text", text: "" };
    return {
      before: [
        named({ type: "message_start", message: messageOf(said, false) }),
        named({ type: "ping" }),
        ...thinking,
        start(index, block),
        ...(toolCall
          ? halves(toolCall.arguments).map((partial_json) => delta(index, { type: "input_json_delta", partial_json }))
          : []),
      ],
      word: (text) => delta(index, { type: "text_delta", text }),
      after: () => [
        stop(index),
        named({
          type: "message_delta",
          delta: { stop_reason: toolCall ? "tool_use" : "end_turn", stop_sequence: null },
          usage: { output_tokens: said.usage?.output ?? 0 },
        }),
        named({ type: "message_stop" }),
      ],
    };
  },
};

/** The APIs of the mock runtime; `test/front-door/media.test.ts` has one for the others. */
export const MOCK_APIS = [
  "chat/completions",
  "completions",
  "embeddings",
  "responses",
  "messages",
] as const satisfies readonly Api[];
export type MockApi = (typeof MOCK_APIS)[number] | "messages/count_tokens";

export const answers: Record<MockApi, Answers> = {
  "chat/completions": chat,
  completions,
  embeddings,
  responses,
  messages,
  "messages/count_tokens": {
    error: anthropicError,
    errorEvent: (message) => named(anthropicError(message)),
    whole: ({ usage }) => ({ input_tokens: usage?.input ?? 0 }),
    stream: null,
  },
};
