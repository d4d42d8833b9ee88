// chat/completions and completions: chunks with choices, each a delta or a piece of text, then `[DONE]`.

import { isObject, type JsonObject, objectOf, parseJson } from "../../contract/text/json-object.ts";
import { type Assembly, CONTENT, type Dialect, NOT_JSON, type Noted, OTHER } from "./dialect.ts";
import { hasContent, mergeDelta } from "./merge-delta.ts";
import { billedOf, spentOf } from "./spent.ts";
import { writeEvent } from "./sse.ts";
import type { Spent } from "./usage.ts";

const MAX_CHOICES = 128;
const DONE = "[DONE]";

class ChunkAssembly implements Assembly {
  readonly #object: string;
  readonly #head: JsonObject = {};
  readonly #choices = new Map<number, JsonObject>();
  #size = 0;
  #isDone = false;

  constructor(object: string) {
    this.#object = object;
  }

  take(data: string): Noted {
    if (data === "") return OTHER;
    if (data === DONE) {
      this.#isDone = true;
      return OTHER;
    }
    const chunk = parseJson(data);
    // Gemini writes an error as a list of one.
    if (Array.isArray(chunk)) return { kind: "error", error: chunk };
    if (!isObject(chunk)) return NOT_JSON;
    // Older releases of vLLM write their error as the chunk itself, and `[DONE]` after it.
    if (chunk.error != null || chunk.object === "error") return { kind: "error", error: chunk };
    // `obfuscation` hides the length of an event.
    const { choices, object: _object, obfuscation: _padding, __proto__: _, ...head } = chunk;
    for (const [field, value] of Object.entries(head)) if (value !== null) this.#head[field] = value;
    const rows = Array.isArray(choices) ? choices.filter(isObject) : [];
    return rows.map((row) => this.#takeChoice(row)).some((isContent) => isContent) ? CONTENT : OTHER;
  }

  #takeChoice(row: JsonObject): boolean {
    const index = typeof row.index === "number" ? row.index : 0;
    const { index: _index, delta, message: soFar, finish_reason, ...rest } = row;
    const choice = this.#choices.get(index) ?? { index };
    if (this.#choices.size < MAX_CHOICES) this.#choices.set(index, choice);
    this.#size += mergeDelta(choice, rest);
    // Beside each delta Perplexity writes the message as far as it goes.
    const said = isObject(delta) ? delta : objectOf(soFar);
    choice.message ??= {};
    this.#size += mergeDelta(objectOf(choice.message), said);
    if (finish_reason != null) choice.finish_reason = finish_reason;
    return isReason(finish_reason) || hasContent(said) || (typeof rest.text === "string" && rest.text !== "");
  }

  /** Some runtimes give no reason, and some no `[DONE]`: either is their own end. */
  isWhole(): boolean {
    const choices = [...this.#choices.values()];
    const isEnded = this.#isDone || choices.every(({ finish_reason: reason }) => isReason(reason));
    return choices.length > 0 && isEnded;
  }

  isEnded(): boolean {
    return this.#isDone;
  }

  /** Gemini counts in each chunk, and the output for the first time in the last. */
  isCounted(): boolean {
    const { usage } = this.#head;
    return isObject(usage) && (this.#size === 0 || usage.completion_tokens !== 0);
  }

  closing(): string {
    return this.#isDone ? "" : writeEvent(DONE);
  }

  size(): number {
    return this.#size;
  }

  forget(): void {
    for (const [index, { finish_reason }] of this.#choices) this.#choices.set(index, { index, finish_reason });
  }

  result(): unknown {
    const isChat = this.#object === "chat.completion";
    const { id, ...head } = this.#head;
    const choices = [...this.#choices.values()]
      .sort((a, b) => Number(a.index) - Number(b.index))
      .map(({ index, message, text, logprobs, finish_reason, ...rest }) => ({
        index,
        ...(isChat ? { message: wholeMessage(objectOf(message)) } : { text: text ?? "" }),
        logprobs: logprobs ?? null,
        finish_reason: finish_reason ?? null,
        ...rest,
      }));
    return { id, object: this.#object, ...head, choices };
  }
}

/** An empty one ends nothing: some runtimes write it in each chunk before the last. */
const isReason = (reason: unknown): boolean => reason != null && reason !== "";

/** Rows of a whole message have no `index`; only deltas do. */
const wholeMessage = ({ tool_calls: calls, ...message }: JsonObject): JsonObject => {
  const whole = { role: "assistant", content: null, ...message };
  if (!Array.isArray(calls) || calls.length === 0) return whole;
  const ordered = calls.map(objectOf).sort((a, b) => Number(a.index ?? 0) - Number(b.index ?? 0));
  return { ...whole, content: whole.content || null, tool_calls: ordered.map(({ index: _index, ...call }) => call) };
};

/**
 * What was generated. Gemini and xAI leave what the model thought out of `completion_tokens`, and bill it; their total
 * has it.
 */
const outputOf = ({ prompt_tokens: input, completion_tokens: output, total_tokens: total }: JsonObject): unknown => {
  if (typeof total !== "number") return output;
  if (typeof output !== "number") return output ?? 0;
  return typeof input === "number" ? Math.max(output, total - input) : output;
};

/** Usage in OpenAI's format: totals include cached and reasoning tokens. DeepSeek and Moonshot name the cached their way. */
export const openaiSpent = (result: unknown): Spent => {
  const { usage, model } = objectOf(result);
  const told = objectOf(usage);
  const tokens = {
    input: told.prompt_tokens,
    output: outputOf(told),
    cached: objectOf(told.prompt_tokens_details).cached_tokens ?? told.prompt_cache_hit_tokens ?? told.cached_tokens,
    reasoning: objectOf(told.completion_tokens_details).reasoning_tokens ?? told.reasoning_tokens,
  };
  return { ...spentOf(tokens, model), ...billedOf(told) };
};

/** Of a refused prompt some tell nothing but the reason. */
const CHOICE = ["choices.0.message", "choices.0.text", "choices.0.finish_reason"];

export const chatCompletions: Dialect = {
  assemble: () => new ChunkAssembly("chat.completion"),
  spentOf: openaiSpent,
  answerHas: CHOICE,
};

export const completions: Dialect = {
  assemble: () => new ChunkAssembly("text_completion"),
  spentOf: openaiSpent,
  answerHas: CHOICE,
};
