// Batches in Anthropic's form. It has no `failed`: a batch whose requests are at fault is refused when it is created.

import * as z from "zod";
import { type BatchFacts, cancelledLines } from "../batch.ts";
import { count, digits, instant, place, toIso, toIsoOrNull } from "../words/field.ts";
import { pageOf } from "./page.ts";

export const newAnthropicBatch = z
  .object({
    requests: z.array(z.object({ custom_id: z.string(), params: z.looseObject({ model: z.string() }) })),
  })
  .meta({ id: "NewMessageBatch" });

export const anthropicBatch = z
  .object({
    id: z.string(),
    type: z.literal("message_batch"),
    processing_status: z.enum(["in_progress", "canceling", "ended"]),
    request_counts: z
      .object({ processing: count, succeeded: count, errored: count, canceled: count, expired: count })
      .meta({ description: "all are `processing` until the batch has ended" }),
    created_at: instant,
    expires_at: instant,
    ended_at: instant.nullable(),
    cancel_initiated_at: instant.nullable(),
    archived_at: instant.nullable(),
    results_url: z.string().nullable(),
  })
  .meta({ id: "MessageBatch" });

export const anthropicBatchQuery = z.object({
  limit: digits(1, 1_000).optional(),
  after_id: place,
  before_id: place,
});

export const anthropicBatchList = z.object(pageOf(anthropicBatch)).meta({ id: "MessageBatchList" });

export const anthropicBatchDeleted = z
  .object({ id: z.string(), type: z.literal("message_batch_deleted") })
  .meta({ id: "DeletedMessageBatch" });

export type AnthropicBatch = z.infer<typeof anthropicBatch>;

export const anthropicBatchId = (id: string): string => `msg${id}`;

/** `origin`: the address that the client used. */
export const toAnthropicBatch = (facts: BatchFacts, origin: string): AnthropicBatch => {
  const { batch } = facts;
  const isEnded = batch.endedAt !== null;
  const left = isEnded ? cancelledLines(facts) : 0;
  const id = anthropicBatchId(batch.id);
  return {
    id,
    type: "message_batch",
    processing_status: isEnded ? "ended" : batch.status === "cancelling" ? "canceling" : "in_progress",
    request_counts: {
      processing: isEnded ? 0 : batch.total,
      succeeded: isEnded ? batch.completed : 0,
      errored: isEnded ? batch.failed : 0,
      canceled: batch.status === "expired" ? 0 : left,
      expired: batch.status === "expired" ? left : 0,
    },
    created_at: toIso(batch.createdAt),
    expires_at: toIso(batch.expiresAt),
    ended_at: toIsoOrNull(batch.endedAt),
    cancel_initiated_at: toIsoOrNull(batch.cancellingAt),
    archived_at: null,
    results_url: isEnded ? `${origin}/v1/messages/batches/${id}/results` : null,
  };
};
