// Cost on the wire: decimal US dollars, calendar periods in UTC.

import * as z from "zod";
import { PERIODS } from "../domain/period.ts";
import { count, instant } from "./field.ts";

export const costQuery = z.strictObject({ period: z.enum(PERIODS).default("day") });

/** Sums of what attempts reported: what bounds one of them does not bound their sum. */
const usage = z
  .object({
    input_tokens: count,
    output_tokens: count,
    cached_input_tokens: count.optional(),
    reasoning_tokens: count.optional(),
  })
  .meta({ id: "UsageTotal" });

const bounds = { period: z.enum(PERIODS), from: instant, to: instant };
const sums = {
  usd: z.number(),
  jobs: count,
  unpriced_jobs: count.meta({ description: "jobs with an attempt of unknown cost; not in the sums" }),
  usage,
};

/** The tenant's budget; `reached_at_pace` is when it is reached if spending goes on as it has in its period so far. */
export const budgetState = z
  .object({
    day_usd: z.number().nullable(),
    month_usd: z.number().nullable(),
    day_spent_usd: z.number(),
    month_spent_usd: z.number(),
    reached: z.boolean(),
    reached_at_pace: instant
      .nullable()
      .meta({ description: "null where it is reached already, or would not be before its period ends" }),
  })
  .meta({ id: "BudgetState" });

export const costSummary = z
  .object({
    ...bounds,
    budget: budgetState,
    total_usd: z.number(),
    jobs: count,
    unpriced_jobs: count,
    usage,
    previous_total_usd: z.number(),
    series: z.array(z.object({ at: instant, usd: z.number(), jobs: count })),
  })
  .meta({ id: "CostSummary" });

export const costByProvider = z
  .object({
    ...bounds,
    budget: budgetState,
    total_usd: z.number(),
    providers: z.array(
      z.object({
        provider: z.string(),
        ...sums,
        models: z.array(z.object({ model: z.string(), usd: z.number(), jobs: count, usage })),
      }),
    ),
  })
  .meta({ id: "CostByProvider" });

export type BudgetState = z.infer<typeof budgetState>;
export type CostSummary = z.infer<typeof costSummary>;
export type CostByProvider = z.infer<typeof costByProvider>;
