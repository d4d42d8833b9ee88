// OpenAI's responses: typed events; the last one (completed, incomplete, failed) contains the whole answer.

import { isObject, type JsonObject, objectOf, parseJson } from "../../contract/text/json-object.ts";
import { type Assembly, CONTENT, type Dialect, NOT_JSON, type Noted, OTHER } from "./dialect.ts";
import { billedOf, spentOf } from "./spent.ts";
import type { Spent } from "./usage.ts";

const LAST = new Set(["response.completed", "response.incomplete"]);

class ResponseAssembly implements Assembly {
  #response: JsonObject = {};
  #size = 0;
  #isWhole = false;

  take(data: string): Noted {
    if (data === "" || data === "[DONE]") return OTHER;
    const event = parseJson(data);
    if (!isObject(event)) return NOT_JSON;
    const type = String(event.type ?? "");
    if (type === "error" || (event.error != null && type === "")) return { kind: "error", error: event };
    if (isObject(event.response)) this.#response = event.response;
    if (type === "response.failed") return { kind: "error", error: { error: this.#response.error }, isEnd: true };
    if (typeof event.delta === "string") this.#size += event.delta.length;
    this.#isWhole ||= LAST.has(type);
    return this.#isWhole || type.endsWith(".delta") ? CONTENT : OTHER;
  }

  isWhole(): boolean {
    return this.#isWhole;
  }

  isEnded(): boolean {
    return this.#isWhole;
  }

  isCounted(): boolean {
    return isObject(this.#response.usage);
  }

  closing(): string {
    return "";
  }

  size(): number {
    return this.#size;
  }

  result(): unknown {
    return this.#response;
  }
}

const responseSpent = (result: unknown): Spent => {
  const { usage, model } = objectOf(result);
  const told = objectOf(usage);
  const cached = objectOf(told.input_tokens_details).cached_tokens;
  const reasoning = objectOf(told.output_tokens_details).reasoning_tokens;
  const tokens = { input: told.input_tokens, output: told.output_tokens, cached, reasoning };
  return { ...spentOf(tokens, model), ...billedOf(told) };
};

export const responses: Dialect = {
  assemble: () => new ResponseAssembly(),
  spentOf: responseSpent,
  answerHas: ["output"],
};
