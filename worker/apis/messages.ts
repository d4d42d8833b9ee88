// Anthropic's messages: a message that starts empty, blocks that grow by index, a delta of the message, its stop.

import { isObject, type JsonObject, objectOf, parseJson } from "../../contract/text/json-object.ts";
import { type Assembly, CONTENT, type Dialect, NOT_JSON, type Noted, OTHER } from "./dialect.ts";
import { spentOf } from "./spent.ts";
import type { Spent } from "./usage.ts";

const MAX_BLOCKS = 10_000;

/** By type of delta: the delta's field, and the field of the block that it extends. */
const GROWS: ReadonlyMap<string, readonly [string, string]> = new Map([
  ["text_delta", ["text", "text"]],
  ["thinking_delta", ["thinking", "thinking"]],
  ["signature_delta", ["signature", "signature"]],
  ["input_json_delta", ["partial_json", "partial_json"]],
] as const);

class MessageAssembly implements Assembly {
  #message: JsonObject = {};
  readonly #blocks = new Map<number, JsonObject>();
  #size = 0;
  #isStarted = false;
  #isEnded = false;
  #isCounted = false;

  take(data: string): Noted {
    if (data === "") return OTHER;
    const event = parseJson(data);
    if (!isObject(event)) return NOT_JSON;
    switch (event.type) {
      case "error":
        return { kind: "error", error: event };
      case "message_start":
        this.#message = { ...objectOf(event.message) };
        this.#isStarted = true;
        return OTHER;
      case "content_block_start":
        return this.#startBlock(event);
      case "content_block_delta":
        this.#growBlock(event);
        return CONTENT;
      case "message_delta":
        this.#growMessage(event);
        return CONTENT;
      case "message_stop":
        this.#isEnded = true;
        return OTHER;
      default:
        return event.error == null ? OTHER : { kind: "error", error: event };
    }
  }

  /** Fields of the whole message stand in its `delta` and beside it, as `context_management` does. */
  #growMessage({ type: _type, delta, usage, ...beside }: JsonObject): void {
    Object.assign(this.#message, known(beside), objectOf(delta));
    // The count that a message starts with is of its first token.
    this.#isCounted ||= typeof objectOf(usage).output_tokens === "number";
    this.#message.usage = { ...objectOf(this.#message.usage), ...known(objectOf(usage)) };
  }

  #startBlock({ index, content_block: block }: JsonObject): Noted {
    if (typeof index !== "number" || this.#blocks.size >= MAX_BLOCKS) return OTHER;
    this.#blocks.set(index, { ...objectOf(block) });
    this.#size += lengthOf(block);
    const { type, text, to } = objectOf(block);
    // Another model took over after a refusal, and the message is its: the start names the one that was asked.
    if (type === "fallback") this.#message = { ...this.#message, ...known({ model: objectOf(to).model ?? null }) };
    return (type === "text" || type === "thinking") && !text ? OTHER : CONTENT;
  }

  #growBlock({ index, delta }: JsonObject): void {
    const block = this.#blocks.get(Number(index));
    const { type, ...told } = objectOf(delta);
    if (block === undefined) return;
    // It comes whole: without it the client would send an empty summary of its conversation.
    if (type === "compaction_delta") {
      Object.assign(block, told);
      this.#size += lengthOf(told);
      return;
    }
    if (type === "citations_delta") {
      const citations = Array.isArray(block.citations) ? block.citations : [];
      citations.push(told.citation);
      block.citations = citations;
      this.#size += lengthOf(told.citation);
      return;
    }
    const [from, into] = GROWS.get(String(type)) ?? [];
    const text = from === undefined ? undefined : told[from];
    if (into === undefined || typeof text !== "string") return;
    block[into] = `${block[into] ?? ""}${text}`;
    this.#size += text.length;
  }

  isWhole(): boolean {
    return this.#isStarted && this.#isEnded;
  }

  isEnded(): boolean {
    return this.#isEnded;
  }

  isCounted(): boolean {
    return this.#isCounted;
  }

  closing(): string {
    return "";
  }

  size(): number {
    return this.#size;
  }

  forget(): void {
    for (const [index, { type }] of this.#blocks) this.#blocks.set(index, { type });
  }

  result(): unknown {
    const content = [...this.#blocks].sort(([a], [b]) => a - b).map(([, block]) => wholeBlock(block));
    return { ...this.#message, content };
  }
}

const lengthOf = (value: unknown): number => JSON.stringify(value ?? null).length;

/** A tool's input arrives as text; in the whole message it is an object. */
const wholeBlock = ({ partial_json: text, ...block }: JsonObject): JsonObject => {
  if (typeof text !== "string" || text === "") return block;
  return { ...block, input: parseJson(text) ?? text };
};

const known = (fields: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

/** The counts of a message, with those of the compactions of its context, which its own leave out. */
const countsOf = (usage: JsonObject): JsonObject => {
  const counts = { ...usage };
  for (const run of [usage.iterations].flat().map(objectOf))
    for (const [name, count] of run.type === "compaction" ? Object.entries(run) : [])
      if (typeof count === "number") counts[name] = Number(counts[name] ?? 0) + count;
  return counts;
};

/** Input tokens include what was read from or written to the cache. */
const messageSpent = (result: unknown): Spent => {
  const { usage, model } = objectOf(result);
  const told = countsOf(objectOf(usage));
  const [fresh, read, written] = [told.input_tokens, told.cache_read_input_tokens, told.cache_creation_input_tokens];
  const input = typeof fresh === "number" ? fresh + (Number(read) || 0) + (Number(written) || 0) : undefined;
  const reasoning = objectOf(told.output_tokens_details).thinking_tokens;
  const writtenForHour = objectOf(told.cache_creation).ephemeral_1h_input_tokens;
  return spentOf({ input, output: told.output_tokens, cached: read, reasoning, written, writtenForHour }, model);
};

export const messages: Dialect = {
  assemble: () => new MessageAssembly(),
  spentOf: messageSpent,
  answerHas: ["content"],
};
