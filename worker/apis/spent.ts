// What an answer spent, in the contract's form. Counts are never estimated, and parts never exceed the total, whatever a
// runtime claims.

import { MAX_TOKENS } from "../../contract/field.ts";
import type { Spent, Usage } from "../runtimes/runtime.ts";

type Told = { input: unknown; output: unknown; cached?: unknown; reasoning?: unknown };

/** Null if the runtime reported no tokens. */
function tokenUsage({ input, output, cached, reasoning }: Told): Usage | null {
  if (typeof input !== "number" && typeof output !== "number") return null;
  const input_tokens = count(input);
  const output_tokens = count(output);
  const cached_input_tokens = Math.min(count(cached), input_tokens);
  const reasoning_tokens = Math.min(count(reasoning), output_tokens);
  return {
    input_tokens,
    output_tokens,
    ...(cached_input_tokens > 0 ? { cached_input_tokens } : {}),
    ...(reasoning_tokens > 0 ? { reasoning_tokens } : {}),
  };
}

/** What an answer tells of its tokens and its model. */
export function spentOf(told: Told, model: unknown): Spent {
  const usage = tokenUsage(told);
  return { ...(usage === null ? {} : { usage }), ...(typeof model === "string" && model !== "" ? { model } : {}) };
}

/** The coordinator refuses a result whose counts are above its limit; the result is worth more than the counts. */
function count(tokens: unknown): number {
  return typeof tokens === "number" && tokens > 0 && tokens <= MAX_TOKENS ? Math.round(tokens) : 0;
}
