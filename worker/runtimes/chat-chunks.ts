// Converts the parts of an AI SDK stream to chunks of a chat completion.

import type { JsonObject } from "../../contract/text/json-object.ts";
import type { ConvertibleModel } from "./convertible.ts";

type Stream = Awaited<ReturnType<ConvertibleModel["doStream"]>>["stream"];
type StreamPart = Stream extends ReadableStream<infer P> ? P : never;
type Finish = Extract<StreamPart, { type: "finish" }>;

/** The contract's reasons (OpenAI's words) for the end of an answer. */
const FINISH_REASONS: ReadonlyMap<string, string> = new Map([
  ["tool-calls", "tool_calls"],
  ["content-filter", "content_filter"],
]);

export class ChatChunks {
  #head: JsonObject;
  readonly #calls = new Map<string, number>();
  /** The calls of which no input has come; a tool without parameters has its `{}` only at the end. */
  readonly #bare = new Set<string>();

  constructor(model: string) {
    this.#head = { id: "chatcmpl-converted", object: "chat.completion.chunk", created: 0, model };
  }

  of(part: StreamPart): JsonObject[] {
    switch (part.type) {
      case "response-metadata": {
        const { id, modelId, timestamp } = part;
        const created = Math.floor((timestamp?.getTime() ?? Date.now()) / 1000);
        this.#head = { ...this.#head, created, ...(id ? { id } : {}), ...(modelId ? { model: modelId } : {}) };
        return [this.#chunk({ role: "assistant", content: "" })];
      }
      case "text-delta":
        return part.delta === "" ? [] : [this.#chunk({ content: part.delta })];
      case "reasoning-delta":
        return part.delta === "" ? [] : [this.#chunk({ reasoning_content: part.delta })];
      case "tool-input-start":
        this.#bare.add(part.id);
        return [this.#startCall(part.id, part.toolName, "")];
      case "tool-input-delta":
        return part.delta === "" ? [] : [this.#continueCall(part.id, part.delta)];
      case "tool-call":
        if (!this.#calls.has(part.toolCallId)) return [this.#startCall(part.toolCallId, part.toolName, part.input)];
        return this.#bare.has(part.toolCallId) ? [this.#continueCall(part.toolCallId, part.input)] : [];
      case "finish":
        return this.#finish(part);
      default:
        return [];
    }
  }

  #startCall(id: string, name: string, given: string): JsonObject {
    const index = this.#calls.size;
    this.#calls.set(id, index);
    return this.#chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: given } }] });
  }

  #continueCall(id: string, given: string): JsonObject {
    this.#bare.delete(id);
    return this.#chunk({ tool_calls: [{ index: this.#calls.get(id) ?? 0, function: { arguments: given } }] });
  }

  /** Without a reason from the provider the end is not genuine: the stream broke off. */
  #finish({ finishReason, usage }: Finish): JsonObject[] {
    const { unified, raw } = finishReason;
    const told = { ...this.#head, choices: [], usage: usageOf(usage) };
    const spent = usage.inputTokens.total === undefined && usage.outputTokens.total === undefined ? [] : [told];
    if (raw === undefined) return spent;
    return [this.#chunk({}, FINISH_REASONS.get(unified) ?? unified), ...spent];
  }

  #chunk(delta: JsonObject, finish_reason: string | null = null): JsonObject {
    return { ...this.#head, choices: [{ index: 0, delta, finish_reason }] };
  }
}

const usageOf = ({ inputTokens, outputTokens }: Finish["usage"]): JsonObject => {
  const [input, output] = [inputTokens.total ?? 0, outputTokens.total ?? 0];
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: inputTokens.cacheRead ?? 0 },
    completion_tokens_details: { reasoning_tokens: outputTokens.reasoning ?? 0 },
  };
};
