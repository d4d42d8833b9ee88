// Images and sound: an answer that is JSON, or events of which the last says how it ended. What it spent is told in either
// of two forms, or not at all.

import { isObject, type JsonObject, objectOf, parseJson } from "../../contract/text/json-object.ts";
import { type Assembly, CONTENT, type Dialect, NOT_JSON, type Noted, OTHER } from "./dialect.ts";
import { spentOf } from "./spent.ts";
import type { Spent } from "./usage.ts";

const END = /\.(completed|done)$/;

class LastEventAssembly implements Assembly {
  #last: JsonObject = {};
  #size = 0;
  #isWhole = false;

  take(data: string): Noted {
    if (data === "" || data === "[DONE]") return OTHER;
    const event = parseJson(data);
    if (!isObject(event)) return NOT_JSON;
    if (event.type === "error" || event.error != null) return { kind: "error", error: event };
    this.#size += data.length;
    this.#isWhole ||= END.test(String(event.type ?? ""));
    if (this.#isWhole) this.#last = event;
    return CONTENT;
  }

  isWhole(): boolean {
    return this.#isWhole;
  }

  /** Each of several images has an end of its own. */
  isEnded(): boolean {
    return false;
  }

  isCounted(): boolean {
    return isObject(this.#last.usage);
  }

  closing(): string {
    return "";
  }

  size(): number {
    return this.#size;
  }

  result(): unknown {
    return this.#last;
  }
}

export const mediaSpent = (result: unknown): Spent => {
  const { usage, model } = objectOf(result);
  const told = objectOf(usage);
  const input = told.input_tokens ?? told.prompt_tokens ?? told.total_tokens;
  const output = told.output_tokens ?? told.completion_tokens ?? (input === undefined ? undefined : 0);
  return spentOf({ input, output }, model);
};

export const media: Dialect = {
  assemble: () => new LastEventAssembly(),
  spentOf: mediaSpent,
  answerHas: ["data"],
};
