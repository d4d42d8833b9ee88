// The tokens of an attempt on the wire: as a worker reports them, and as answers have them.

import * as z from "zod";
import type { Usage } from "../../domain/job/job.ts";
import { tokenCount } from "../words/field.ts";

export const usage = z
  .strictObject({
    input_tokens: tokenCount,
    output_tokens: tokenCount,
    cached_input_tokens: tokenCount.optional(),
    reasoning_tokens: tokenCount.optional(),
  })
  .meta({ id: "Usage" });

const cacheWrite = tokenCount.optional();

/** The writes to a cache have their price; no answer repeats them. */
export const reportedUsage = usage
  .extend({
    cache_write_tokens: cacheWrite.meta({ description: "of the input tokens, those written to the provider's cache" }),
    cache_write_1h_tokens: cacheWrite.meta({ description: "of the written ones, those kept for an hour" }),
  })
  .meta({ id: "ReportedUsage" });

export type UsageResource = z.infer<typeof usage>;

export const toUsage = (body: z.infer<typeof reportedUsage>): Usage => ({
  inputTokens: body.input_tokens,
  outputTokens: body.output_tokens,
  ...(body.cached_input_tokens === undefined ? {} : { cachedInputTokens: body.cached_input_tokens }),
  ...(body.reasoning_tokens === undefined ? {} : { reasoningTokens: body.reasoning_tokens }),
  ...(body.cache_write_tokens === undefined ? {} : { cacheWriteTokens: body.cache_write_tokens }),
  ...(body.cache_write_1h_tokens === undefined ? {} : { cacheWrite1hTokens: body.cache_write_1h_tokens }),
});

export const presentUsage = (spent: Usage): UsageResource => ({
  input_tokens: spent.inputTokens,
  output_tokens: spent.outputTokens,
  ...(spent.cachedInputTokens === undefined ? {} : { cached_input_tokens: spent.cachedInputTokens }),
  ...(spent.reasoningTokens === undefined ? {} : { reasoning_tokens: spent.reasoningTokens }),
});
