// Batches on the wire: Signalbox's own form. OpenAI's form of the same batches is in `openai-batch.ts`, Anthropic's in
// `anthropic-batch.ts`.

import * as z from "zod";
import { BATCH_STATUSES, type BatchRecord } from "../domain/batch/batch.ts";
import { usdFromNano } from "../domain/money/price.ts";
import { count, identifier, instant, listQuery, page, toIso, toIsoOrNull } from "./words/field.ts";

/** Either name: see `ownBatchId`. */
export const batchId = identifier(
  /^(msg)?batch_[A-Za-z0-9]+$/,
  64,
  "`batch_` or `msgbatch_` and characters from A-Z a-z 0-9",
);
export const batchIdParam = z.object({ id: batchId });
export const batchListQuery = z.strictObject(listQuery);

export const batchResource = z
  .object({
    id: z.string(),
    status: z.enum(BATCH_STATUSES),
    endpoint: z.string(),
    total: count,
    waiting: count,
    running: count,
    completed: count,
    failed: count.meta({ description: "lines whose answer is an error" }),
    cancelled: count.meta({ description: "lines that got no answer: cancelled, or out of time" }),
    waiting_reason: z.string().nullable(),
    lines_per_minute: z.number(),
    eta: instant.nullable(),
    cost_usd: z.number(),
    unpriced: count.meta({ description: "attempts whose cost is not known" }),
    workers: z.array(z.object({ instance: z.string(), completed: count })),
    errors: z.array(z.object({ code: z.string(), count })).meta({
      description: "of failed lines; of a batch that is `failed`, what is wrong with its file",
    }),
    created_at: instant,
    expires_at: instant,
    ended_at: instant.nullable(),
    input_file: z.string(),
    output_file: z.string().nullable(),
    error_file: z.string().nullable(),
    key_id: z.string().nullable(),
    metadata: z.record(z.string(), z.string()).nullable(),
  })
  .meta({ id: "Batch" });

export const batchList = z.object({ batches: z.array(batchResource), ...page }).meta({ id: "BatchList" });

export type BatchResource = z.infer<typeof batchResource>;
export type BatchList = z.infer<typeof batchList>;

/** A batch, and what changes while it is read. */
export interface BatchFacts {
  readonly batch: BatchRecord;
  readonly waiting: number;
  readonly running: number;
  readonly waitingReason: string | null;
  readonly linesPerMinute: number;
  /** Epoch ms; null while nothing tells, or the batch is held. */
  readonly etaAt: number | null;
  /** The files that it has now. */
  readonly files: { readonly output: string | null; readonly errors: string | null };
}

const MOST_FIRST = (one: { count: number }, other: { count: number }): number => other.count - one.count;

const errorsOf = ({ errors, faults }: BatchRecord): BatchResource["errors"] => {
  const counts = new Map(Object.entries(errors));
  for (const { code } of faults) counts.set(code, (counts.get(code) ?? 0) + 1);
  return [...counts].map(([code, count]) => ({ code, count })).sort(MOST_FIRST);
};

/** Lines without an answer that will get none. */
export const cancelledLines = ({ batch, waiting, running }: BatchFacts): number =>
  batch.inProgressAt === null ? 0 : batch.total - batch.completed - batch.failed - waiting - running;

export const presentBatch = (facts: BatchFacts): BatchResource => {
  const { batch, files } = facts;
  return {
    id: batch.id,
    status: batch.status,
    endpoint: `/v1/${batch.api}`,
    total: batch.total,
    waiting: facts.waiting,
    running: facts.running,
    completed: batch.completed,
    failed: batch.failed,
    cancelled: cancelledLines(facts),
    waiting_reason: facts.waitingReason,
    lines_per_minute: Math.round(facts.linesPerMinute * 10) / 10,
    eta: toIsoOrNull(facts.etaAt),
    cost_usd: usdFromNano(batch.costNanoUsd),
    unpriced: batch.unpriced,
    workers: Object.entries(batch.workers)
      .map(([instance, completed]) => ({ instance, completed }))
      .sort((one, other) => other.completed - one.completed),
    errors: errorsOf(batch),
    created_at: toIso(batch.createdAt),
    expires_at: toIso(batch.expiresAt),
    ended_at: toIsoOrNull(batch.endedAt),
    input_file: batch.fileId,
    output_file: files.output,
    error_file: files.errors,
    key_id: batch.keyId,
    metadata: batch.metadata === null ? null : { ...batch.metadata },
  };
};
