// What an answer spent, in the contract's form. Parts never exceed the total, whatever a runtime claims. Counts are
// estimated only for an answer that was cut before its runtime reported them, and are marked then.

import { type JsonObject, objectOf } from "../../contract/text/json-object.ts";
import { writtenIn } from "../../contract/text/said-text.ts";
import { MAX_TOKENS, MAX_USD } from "../../contract/words/field.ts";
import { tokensOf } from "../../contract/words/token-estimate.ts";
import type { Assembly, Dialect } from "./dialect.ts";
import type { Spent, Usage } from "./usage.ts";

type Told = {
  input: unknown;
  output: unknown;
  cached?: unknown;
  reasoning?: unknown;
  written?: unknown;
  writtenForHour?: unknown;
};

/** The coordinator refuses a result whose counts are above its limit; the result is worth more than the counts. */
const isCount = (told: unknown): told is number => typeof told === "number" && told >= 0 && told <= MAX_TOKENS;

const count = (told: unknown): number => (isCount(told) ? Math.round(told) : 0);

/** Null if the runtime reported no tokens that can be true. */
const tokenUsage = ({ input, output, cached, reasoning, written, writtenForHour }: Told): Usage | null => {
  if (!isCount(input) && !isCount(output)) return null;
  const input_tokens = count(input);
  const output_tokens = count(output);
  const cached_input_tokens = Math.min(count(cached), input_tokens);
  const reasoning_tokens = Math.min(count(reasoning), output_tokens);
  const cache_write_tokens = Math.min(count(written), input_tokens - cached_input_tokens);
  const cache_write_1h_tokens = Math.min(count(writtenForHour), cache_write_tokens);
  return {
    input_tokens,
    output_tokens,
    ...(cached_input_tokens > 0 ? { cached_input_tokens } : {}),
    ...(reasoning_tokens > 0 ? { reasoning_tokens } : {}),
    ...(cache_write_tokens > 0 ? { cache_write_tokens } : {}),
    ...(cache_write_1h_tokens > 0 ? { cache_write_1h_tokens } : {}),
  };
};

/** The tokens and the model that an answer names. */
export const spentOf = (told: Told, model: unknown): Spent => {
  const usage = tokenUsage(told);
  return { ...(usage === null ? {} : { usage }), ...(typeof model === "string" && model !== "" ? { model } : {}) };
};

const USD_PER_TICK = 1e-10;

/**
 * What the provider billed, where it says so: OpenRouter `cost` (with a key of one's own at the model's provider only
 * its fee, beside what that provider bills), Perplexity `cost.total_cost`, xAI ticks.
 */
export const billedOf = ({ cost, cost_details, is_byok, cost_in_usd_ticks }: JsonObject): Pick<Spent, "cost_usd"> => {
  const told = objectOf(cost).total_cost ?? cost ?? Number(cost_in_usd_ticks) * USD_PER_TICK;
  const beside = is_byok === true ? objectOf(cost_details).upstream_inference_cost : 0;
  const cost_usd = typeof told === "number" && typeof beside === "number" ? told + beside : -1;
  return cost_usd >= 0 && cost_usd <= MAX_USD ? { cost_usd } : {};
};

/** What an answer that was cut spent: the runtime's own counts if it reported them, else an estimate by its text. */
export const spentSoFar = (dialect: Dialect, assembly: Assembly, inputTokens: () => number): Spent => {
  const told = dialect.spentOf(assembly.result());
  if (assembly.isCounted() && told.usage !== undefined) return told;
  const input_tokens = told.usage?.input_tokens || inputTokens();
  const output_tokens = Math.max(told.usage?.output_tokens ?? 0, tokensOf(assembly.size()));
  return { ...told, ...estimated({ ...told.usage, input_tokens, output_tokens }) };
};

/**
 * Estimates what an answer spent if its runtime counts nothing, or input or output as zero. `chars`: the length of a
 * stream, whose text may be dropped. Vectors do not count as output.
 */
export const spentOnAnswer = (
  told: Usage | undefined,
  inputTokens: () => number,
  answer: unknown,
  chars: number | null,
): Spent => {
  const said = (told === undefined ? chars : null) ?? writtenIn(answer);
  const input_tokens = told?.input_tokens || inputTokens();
  const output_tokens = told?.output_tokens || tokensOf(said);
  const isTold = told?.input_tokens === input_tokens && told.output_tokens === output_tokens;
  return isTold ? {} : estimated({ ...told, input_tokens, output_tokens });
};

const estimated = (usage: Usage): Spent => ({
  usage: {
    ...usage,
    input_tokens: Math.min(usage.input_tokens, MAX_TOKENS),
    output_tokens: Math.min(usage.output_tokens, MAX_TOKENS),
  },
  usage_estimated: true,
});
