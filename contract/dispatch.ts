// Dispatch and its explanation on the wire.

import * as z from "zod";
import type { Routing } from "../domain/routing/explanation.ts";
import type { WorkerVerdict } from "../domain/words/verdict.ts";
import { tagList } from "./fleet/worker.ts";
import { priority, tier } from "./jobs/job.ts";
import { count, digits, instanceName, modelName, providerName } from "./words/field.ts";

export const dispatchQuery = z.strictObject({ queue: z.enum(["true", "false"]).default("false") });

/** The most workers that a tenant may have. */
const MAX_EXPLAINED_WORKERS = 20_000;

const explained = {
  job_tags: tagList.optional(),
  urgency: priority.optional(),
  provider: providerName.optional(),
  model: modelName.optional(),
  tier: tier.optional(),
};
const EXPLAINED = Object.keys(explained);

export const explainQuery = z
  .strictObject({
    ...explained,
    job_id: z.string().max(64).optional(),
    worker: instanceName.optional().meta({ description: "names this worker alone" }),
    limit: digits(1, MAX_EXPLAINED_WORKERS)
      .optional()
      .meta({ description: "at most so many eligible workers, and as many refused ones; default: all" }),
  })
  .refine((query) => query.job_id === undefined || !EXPLAINED.some((name) => name in query), {
    path: ["job_id"],
    message: `the job itself says what it asks for: give no ${EXPLAINED.join(", ")} beside it`,
  });

export const workerVerdict = z
  .object({
    instance: z.string(),
    provider: z.string(),
    eligible: z.boolean(),
    score: z.number().nullable(),
    breakdown: z.record(z.string(), z.number()),
    reasons: z.array(z.string()),
    note: z.string().optional().meta({ description: "why it comes after others, whatever its score" }),
  })
  .meta({ id: "WorkerVerdict" });

export const explanation = z
  .object({
    request: z.object({
      provider: z.string().nullable(),
      model: z.string().nullable(),
      tags: z.array(z.string()),
      tier: tier.nullable(),
      urgency: priority,
    }),
    strategy: z.string(),
    selected: z.string().nullable(),
    weights: z
      .record(z.string(), z.number())
      .meta({ description: "points of each part (0 to 100 in all); score = sum of part x weight" }),
    notes: z.array(z.string()).meta({ description: "what applies to the whole request, e.g. an active killswitch" }),
    eligible: count.meta({ description: "number of workers that could take it" }),
    total: count.meta({ description: "number of workers considered" }),
    workers: z.array(workerVerdict),
  })
  .meta({ id: "Explanation" });

export type WorkerVerdictResource = z.infer<typeof workerVerdict>;
export type ExplainQuery = z.infer<typeof explainQuery>;
export type Explanation = z.infer<typeof explanation>;

export const presentVerdict = (verdict: WorkerVerdict): Omit<WorkerVerdictResource, "note"> => ({
  instance: verdict.instance,
  provider: verdict.provider,
  eligible: verdict.eligible,
  score: verdict.score,
  breakdown: { ...verdict.breakdown },
  reasons: [...verdict.reasons],
});

export const presentExplanation = (routing: Routing): Explanation => ({
  request: {
    provider: routing.request.provider,
    model: routing.request.model,
    tags: [...routing.request.tags],
    tier: routing.request.tier,
    urgency: routing.request.urgency,
  },
  strategy: routing.strategy,
  selected: routing.selected,
  weights: { ...routing.weights },
  notes: [...routing.notes],
  eligible: routing.eligibleCount,
  total: routing.totalCount,
  workers: routing.workers.map((verdict) => ({
    ...presentVerdict(verdict),
    ...(verdict.note === undefined ? {} : { note: verdict.note }),
  })),
});
