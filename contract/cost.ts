// Cost on the wire: decimal US dollars, calendar periods in UTC.

import * as z from "zod";
import { MAX_SPAN_DAYS, PERIODS } from "../domain/money/period.ts";
import { DAY_MS } from "../domain/words/duration.ts";
import { count, fromIso, instant } from "./words/field.ts";

export const costQuery = z
  .strictObject({
    period: z.enum(PERIODS).optional().meta({ description: "a calendar period in UTC; default: day" }),
    from: instant.optional().meta({ description: "start of the span, rounded down to the hour; instead of a period" }),
    to: instant
      .optional()
      .meta({ description: "end of the span, rounded up to the hour; only with `from`; default: now" }),
  })
  .superRefine(({ period, from, to }, ctx) => {
    const refuse = (path: string, message: string): void => ctx.addIssue({ code: "custom", path: [path], message });
    if (period !== undefined && (from !== undefined || to !== undefined))
      refuse("period", "give period or from and to");
    if (from === undefined && to !== undefined) refuse("from", "is required with to");
    const [fromAt, toAt] = [fromIso(from ?? ""), to === undefined ? Date.now() : fromIso(to)];
    const [bound, late, long] =
      to === undefined
        ? ["from", "must be in the past: without to, the span ends now", "ago: without to, the span ends now"]
        : ["to", "must be later than from", "after from"];
    if (fromAt >= toAt) refuse(bound, late);
    if (toAt - fromAt > MAX_SPAN_DAYS * DAY_MS) refuse(bound, `must be at most ${MAX_SPAN_DAYS} days ${long}`);
  });

/** The dimension that cost is grouped by. */
export const costGroupParam = z.strictObject({
  by: z
    .string()
    .max(73)
    .regex(
      /^(provider|model|tag|key|worker|schedule|metadata\..+)$/,
      "must be provider, model, tag, key, worker, schedule or metadata.<name>",
    ),
});

/** Sums over attempts: the limits of a single attempt do not apply to them. */
const usage = z
  .object({
    input_tokens: count,
    output_tokens: count,
    cached_input_tokens: count.optional(),
    reasoning_tokens: count.optional(),
  })
  .meta({ id: "UsageTotal" });

const bounds = {
  period: z.enum(PERIODS).nullable().meta({ description: "null if from and to were given" }),
  from: instant,
  to: instant,
};
const sums = {
  usd: z.number(),
  jobs: count,
  unpriced_jobs: count.meta({ description: "jobs with an attempt of unknown cost, which the sums do not include" }),
  usage,
};

/**
 * The tenant's budget. `reached_at_pace` is the time at which it will be reached if spending continues at the rate of
 * its period so far.
 */
export const budgetState = z
  .object({
    day_usd: z.number().nullable(),
    month_usd: z.number().nullable(),
    day_spent_usd: z.number(),
    month_spent_usd: z.number(),
    reached: z.boolean(),
    reached_at_pace: instant
      .nullable()
      .meta({ description: "null if it is already reached, or will not be reached before its period ends" }),
  })
  .meta({ id: "BudgetState" });

const budgetStates = {
  budget: budgetState,
  provider_budgets: z
    .array(budgetState.extend({ provider: z.string() }).meta({ id: "ProviderBudgetState" }))
    .meta({ description: "of each provider with a budget of its own, reached ones first; a reached one closes it" }),
};

const overall = {
  ...budgetStates,
  total_usd: z.number(),
  jobs: count,
  unpriced_jobs: count,
  previous_total_usd: z.number(),
};

export const costSummary = z
  .object({
    ...bounds,
    ...overall,
    usage,
    series: z.array(z.object({ at: instant, usd: z.number(), jobs: count })),
  })
  .meta({ id: "CostSummary" });

export const MAX_COST_ROWS = 1_000;

/** As many rows as one chart can show distinctly. */
export const MAX_COST_SERIES = 7;

export const costByGroup = z
  .object({
    ...bounds,
    by: z.string(),
    ...overall,
    usage,
    rows: z
      .array(z.object({ value: z.string().nullable(), ...sums }))
      .meta({ description: `most expensive first, at most ${MAX_COST_ROWS}; value null: jobs without this field` }),
    rows_total: count,
    series: z
      .array(z.object({ at: instant, rows: z.array(z.object({ value: z.string().nullable(), usd: z.number() })) }))
      .meta({
        description: `cost in US dollars over time, for the first ${MAX_COST_SERIES} rows; values without cost are left out`,
      }),
    adds_up: z.boolean().meta({ description: "false for tags, because a job with several tags counts in each" }),
  })
  .meta({ id: "CostByGroup" });

export const costByProvider = z
  .object({
    ...bounds,
    ...overall,
    providers: z
      .array(
        z.object({
          provider: z.string(),
          ...sums,
          models: z.array(z.object({ model: z.string().nullable(), usd: z.number(), jobs: count, usage })),
        }),
      )
      .meta({ description: `most expensive first, at most ${MAX_COST_ROWS}, with that many models in all` }),
  })
  .meta({ id: "CostByProvider" });

export type BudgetState = z.infer<typeof budgetState>;
export type BudgetStates = Pick<CostSummary, "budget" | "provider_budgets">;
export type ProviderBudgetState = BudgetStates["provider_budgets"][number];
export type CostSummary = z.infer<typeof costSummary>;
export type CostQuery = z.infer<typeof costQuery>;
export type CostByGroup = z.infer<typeof costByGroup>;
export type CostByProvider = z.infer<typeof costByProvider>;
