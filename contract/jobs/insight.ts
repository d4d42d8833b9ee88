// The operator's first questions: what waits and why, what fails and where, and how a job's attempts ended.

import * as z from "zod";
import type { Attempt } from "../../domain/job/attempt.ts";
import { usdFromNano } from "../../domain/money/price.ts";
import { CAPACITY_REASONS } from "../../domain/routing/filter.ts";
import { APIS } from "../../domain/words/api.ts";
import { count, instant, toIso, toIsoOrNull } from "../words/field.ts";
import { jobError, priority } from "./job.ts";
import { presentUsage, usage } from "./usage.ts";

export const MAX_QUEUE_GROUPS = 200;
export const MAX_QUEUE_FLOWS = 20;
export const MAX_FAILURES = 200;
/** More of a kind would have to be read job by job. */
export const RETRIES_LOOKED_AT = 20;

export const queueFlow = z
  .object({
    key_id: z.string().nullable().meta({ description: "the key whose jobs they are; null for schedules" }),
    fairness_key: z
      .string()
      .nullable()
      .meta({ description: "what tells the flow apart from others of the key; null for the key's own" }),
    priority,
    waiting: count,
    weight: z.number(),
    share: z.number().meta({ description: "of what is served of the group and priority, from 0 to 1" }),
  })
  .meta({ id: "QueueFlow" });

export const queueGroup = z
  .object({
    provider: z.string().nullable(),
    model: z.string().nullable(),
    tags: z.array(z.string()),
    api: z.enum(APIS).nullable(),
    excluded_providers: z.array(z.string()).meta({ description: "providers that a fallback has already tried" }),
    count,
    oldest_at: instant.meta({ description: "when the oldest job of the group was created" }),
    waiting_since: instant.meta({ description: "since when the oldest job could run" }),
    reason: z.string().meta({ description: "what the oldest job of the group waits for" }),
    flows: z
      .array(queueFlow)
      .meta({ description: `those whose turn is next, by priority, at most ${MAX_QUEUE_FLOWS}` }),
    flows_total: count,
    capacity: z
      .enum(CAPACITY_REASONS)
      .nullable()
      .meta({ description: "why a machine that is started would help, as `capacity.wanted` says it; else null" }),
    priority_max: priority,
  })
  .meta({ id: "QueueGroup" });

export const queueView = z
  .object({
    groups: z.array(queueGroup).meta({ description: `oldest first, at most ${MAX_QUEUE_GROUPS}` }),
    groups_total: count,
    total: count.meta({ description: "jobs that wait and could run now" }),
    delayed: count.meta({ description: "other pending jobs, which may not run yet (`run_at`, or a back-off)" }),
  })
  .meta({ id: "Queue" });

export const failuresQuery = z.strictObject({
  since: instant.optional().meta({ description: "at most 92 days before `until`; default: an hour" }),
  until: instant.optional().meta({ description: "default: now" }),
});

export const failure = z
  .object({
    code: z.string(),
    provider: z.string().nullable(),
    model: z.string().nullable(),
    count,
    previous_count: count.meta({ description: "failures in the span of the same length before" }),
    last_at: instant,
    message: z.string().meta({ description: "message of the last failure" }),
    job_id: z.string().meta({ description: "the job that failed last" }),
    batch: z.string().nullable().meta({ description: "the batch that it is a line of" }),
    retryable: z.boolean().meta({ description: `whether one of the last ${RETRIES_LOOKED_AT} can be retried` }),
  })
  .meta({ id: "Failure" });

export const failureList = z
  .object({ since: instant, until: instant, failures: z.array(failure) })
  .meta({ id: "FailureList" });

export const attemptResource = z
  .object({
    lease: count,
    worker: z.string().nullable(),
    provider: z.string().nullable(),
    model: z.string().nullable(),
    assigned_at: instant,
    started_at: instant.nullable(),
    first_token_at: instant.nullable(),
    finished_at: instant.nullable(),
    outcome: z.string().nullable().meta({ description: "the event that ended the attempt; null while it runs" }),
    error: jobError.nullable(),
    usage: usage.nullable(),
    cost_usd: z.number().nullable(),
    price_source: z.string().nullable().meta({
      description:
        "where the price comes from: reported, config, catalog, table, local or unknown; estimate: the attempt was cut, and its tokens are estimated",
    }),
  })
  .meta({ id: "Attempt" });

export const attemptList = z.object({ attempts: z.array(attemptResource) }).meta({ id: "AttemptList" });

export type QueueView = z.infer<typeof queueView>;
export type FailuresQuery = z.infer<typeof failuresQuery>;
export type FailureList = z.infer<typeof failureList>;
export type AttemptResource = z.infer<typeof attemptResource>;
export type AttemptList = z.infer<typeof attemptList>;

export const presentAttempt = (attempt: Attempt): AttemptResource => {
  const { lease, worker, provider, model, outcome, error, spending } = attempt;
  return {
    lease,
    worker,
    provider,
    model,
    assigned_at: toIso(attempt.assignedAt),
    started_at: toIsoOrNull(attempt.startedAt),
    first_token_at: toIsoOrNull(attempt.firstTokenAt),
    finished_at: toIsoOrNull(attempt.finishedAt),
    outcome,
    error: error === null ? null : { ...error },
    usage: spending === null || spending.usage === null ? null : presentUsage(spending.usage),
    cost_usd: spending === null || spending.costNanoUsd === null ? null : usdFromNano(spending.costNanoUsd),
    price_source: spending?.source ?? null,
  };
};
