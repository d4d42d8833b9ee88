// Batches in OpenAI's form.

import * as z from "zod";
import { BATCH_STATUSES, OUTPUT_LIFE_MS, windowOf } from "../../domain/batch/batch.ts";
import { APIS, type Api } from "../../domain/words/api.ts";
import type { BatchFacts } from "../batch.ts";
import { fileId } from "../file.ts";
import { count, digits, isCleanText, place } from "../words/field.ts";
import { pageOf } from "./page.ts";

/** By the path below `/v1/`; Anthropic's messages have a form of their own. */
const BATCHED: ReadonlySet<string> = new Set(["chat/completions", "completions", "embeddings", "responses", "rerank"]);
const batchedApis = APIS.filter((api) => BATCHED.has(api));
const endpoints = batchedApis.map((api) => `/v1/${api}`);

const seconds = z.int().nullable().meta({ description: "seconds since 1970" });
const metadata = z
  .record(z.string().min(1).max(64).refine(isCleanText), z.string().max(512).refine(isCleanText))
  .refine((pairs) => Object.keys(pairs).length <= 16, "must have at most 16 pairs");

export const newOpenAiBatchRequest = z
  .object({
    input_file_id: fileId,
    endpoint: z.enum(endpoints as [string, ...string[]]),
    completion_window: z
      .string()
      .refine((text) => windowOf(text) !== null, "must be a number of hours or days from 1h to 7d, such as 24h"),
    metadata: metadata.nullish(),
    output_expires_after: z
      .object({
        anchor: z.literal("created_at"),
        seconds: z
          .int()
          .min(OUTPUT_LIFE_MS.shortest / 1000)
          .max(OUTPUT_LIFE_MS.longest / 1000),
      })
      .nullish(),
  })
  .meta({
    id: "NewOpenAiBatch",
    examples: [{ input_file_id: "file-01", endpoint: "/v1/chat/completions", completion_window: "24h" }],
  });

export const apiOfEndpoint = (endpoint: string): Api =>
  batchedApis.find((api) => endpoint === `/v1/${api}`) ?? "chat/completions";

const fault = z.object({
  code: z.string(),
  message: z.string(),
  param: z.string().nullable(),
  line: count.nullable(),
});

export const openAiBatch = z
  .object({
    id: z.string(),
    object: z.literal("batch"),
    endpoint: z.string(),
    model: z.string().nullable().meta({ description: "if all lines name the same" }),
    errors: z.object({ object: z.literal("list"), data: z.array(fault) }).nullable(),
    input_file_id: z.string(),
    completion_window: z.string(),
    status: z.enum(BATCH_STATUSES),
    output_file_id: z.string().nullable(),
    error_file_id: z.string().nullable(),
    created_at: z.int(),
    in_progress_at: seconds,
    expires_at: z.int(),
    finalizing_at: seconds,
    completed_at: seconds,
    failed_at: seconds,
    expired_at: seconds,
    cancelling_at: seconds,
    cancelled_at: seconds,
    request_counts: z.object({ total: count, completed: count, failed: count }),
    usage: z.object({
      input_tokens: count,
      input_tokens_details: z.object({ cached_tokens: count }),
      output_tokens: count,
      output_tokens_details: z.object({ reasoning_tokens: count }),
      total_tokens: count,
    }),
    metadata: z.record(z.string(), z.string()).nullable(),
  })
  .meta({ id: "OpenAiBatch" });

export const openAiBatchQuery = z.object({ after: place, limit: digits(1, 100).optional() });

export const openAiBatchList = z
  .object({
    object: z.literal("list"),
    ...pageOf(openAiBatch),
  })
  .meta({ id: "OpenAiBatchList" });

export type OpenAiBatch = z.infer<typeof openAiBatch>;

const inSeconds = (at: number): number => Math.floor(at / 1000);
const inSecondsOrNull = (at: number | null): number | null => (at === null ? null : inSeconds(at));

const usageOf = ({ usage }: BatchFacts["batch"]): OpenAiBatch["usage"] => ({
  input_tokens: usage.inputTokens,
  input_tokens_details: { cached_tokens: usage.cachedInputTokens ?? 0 },
  output_tokens: usage.outputTokens,
  output_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
  total_tokens: usage.inputTokens + usage.outputTokens,
});

export const toOpenAiBatch = ({ batch, files }: BatchFacts): OpenAiBatch => {
  const { status, models, faults } = batch;
  const endedAs = (as: OpenAiBatch["status"]): number | null => (status === as ? inSecondsOrNull(batch.endedAt) : null);
  return {
    id: batch.id,
    object: "batch",
    endpoint: `/v1/${batch.api}`,
    model: models.length === 1 ? (models[0]?.name ?? null) : null,
    errors: faults.length === 0 ? null : { object: "list", data: faults.map((one) => ({ ...one })) },
    input_file_id: batch.fileId,
    completion_window: batch.completionWindow,
    status,
    output_file_id: files.output,
    error_file_id: files.errors,
    created_at: inSeconds(batch.createdAt),
    in_progress_at: inSecondsOrNull(batch.inProgressAt),
    expires_at: inSeconds(batch.expiresAt),
    finalizing_at: inSecondsOrNull(batch.finalizingAt),
    completed_at: endedAs("completed"),
    failed_at: endedAs("failed"),
    expired_at: endedAs("expired"),
    cancelling_at: inSecondsOrNull(batch.cancellingAt),
    cancelled_at: endedAs("cancelled"),
    request_counts: { total: batch.total, completed: batch.completed, failed: batch.failed },
    usage: usageOf(batch),
    metadata: batch.metadata === null ? null : { ...batch.metadata },
  };
};
