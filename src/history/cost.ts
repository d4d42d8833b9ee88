// Cost by period, provider and model: sums over the hourly rollup, so that a month costs what a few hundred rows cost.

import type { CostByProvider, CostSummary } from "../../contract/cost.ts";
import { toIso } from "../../contract/field.ts";
import type { UsageResource } from "../../contract/job.ts";
import { type Period, periodAt, previousPeriod, slotMsOf, slotStarts } from "../../domain/period.ts";
import { usdFromNano } from "../../domain/price.ts";
import { readHistory } from "./store.ts";

const SUMS = `SUM(nano_usd) AS nano_usd, SUM(jobs) AS jobs, SUM(unpriced_jobs) AS unpriced_jobs,
  SUM(input_tokens) AS input_tokens, SUM(output_tokens) AS output_tokens,
  SUM(cached_input_tokens) AS cached_input_tokens, SUM(reasoning_tokens) AS reasoning_tokens`;

interface Sums {
  readonly nano_usd: number;
  readonly jobs: number;
  readonly unpriced_jobs: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_input_tokens: number;
  readonly reasoning_tokens: number;
}

const ZERO: Sums = {
  nano_usd: 0,
  jobs: 0,
  unpriced_jobs: 0,
  input_tokens: 0,
  output_tokens: 0,
  cached_input_tokens: 0,
  reasoning_tokens: 0,
};

const add = (one: Sums, other: Sums): Sums => ({
  nano_usd: one.nano_usd + other.nano_usd,
  jobs: one.jobs + other.jobs,
  unpriced_jobs: one.unpriced_jobs + other.unpriced_jobs,
  input_tokens: one.input_tokens + other.input_tokens,
  output_tokens: one.output_tokens + other.output_tokens,
  cached_input_tokens: one.cached_input_tokens + other.cached_input_tokens,
  reasoning_tokens: one.reasoning_tokens + other.reasoning_tokens,
});

const total = (rows: readonly Sums[]): Sums => rows.reduce(add, ZERO);

const usageOf = (sums: Sums): UsageResource => ({
  input_tokens: sums.input_tokens,
  output_tokens: sums.output_tokens,
  cached_input_tokens: sums.cached_input_tokens,
  reasoning_tokens: sums.reasoning_tokens,
});

export const costQueries = {
  bySlot: `SELECT hour_at - hour_at % ?4 AS slot_at, ${SUMS} FROM cost_hours
    WHERE tenant = ?1 AND hour_at >= ?2 AND hour_at < ?3 GROUP BY slot_at`,
  total: "SELECT SUM(nano_usd) AS nano_usd FROM cost_hours WHERE tenant = ?1 AND hour_at >= ?2 AND hour_at < ?3",
  byModel: `SELECT provider, model, ${SUMS} FROM cost_hours
    WHERE tenant = ?1 AND hour_at >= ?2 AND hour_at < ?3 GROUP BY provider, model`,
} as const;

const boundsOf = (period: Period, nowAt: number) => {
  const { fromAt, toAt } = periodAt(period, nowAt);
  return { fromAt, toAt, wire: { period, from: toIso(fromAt), to: toIso(toAt) } };
};

export const costSummary = (
  db: D1Database,
  tenant: string,
  period: Period,
  nowAt: number,
): Promise<Omit<CostSummary, "budget">> =>
  readHistory(async () => {
    const { fromAt, toAt, wire } = boundsOf(period, nowAt);
    const before = previousPeriod(period, nowAt);
    const [slots, previous] = await db.batch([
      db.prepare(costQueries.bySlot).bind(tenant, fromAt, toAt, slotMsOf(period)),
      db.prepare(costQueries.total).bind(tenant, before.fromAt, before.toAt),
    ]);
    const rows = (slots?.results ?? []) as unknown as (Sums & { slot_at: number })[];
    const bySlot = new Map(rows.map((row) => [row.slot_at, row]));
    const sums = total(rows);
    const previousNano = (previous?.results[0] as { nano_usd: number | null } | undefined)?.nano_usd ?? 0;
    return {
      ...wire,
      total_usd: usdFromNano(sums.nano_usd),
      jobs: sums.jobs,
      unpriced_jobs: sums.unpriced_jobs,
      usage: usageOf(sums),
      previous_total_usd: usdFromNano(previousNano),
      series: slotStarts(period, nowAt).map((at) => {
        const slot = bySlot.get(at) ?? ZERO;
        return { at: toIso(at), usd: usdFromNano(slot.nano_usd), jobs: slot.jobs };
      }),
    };
  });

type ModelSums = Sums & { readonly provider: string; readonly model: string };

export const costByProvider = (
  db: D1Database,
  tenant: string,
  period: Period,
  nowAt: number,
): Promise<Omit<CostByProvider, "budget">> =>
  readHistory(async () => {
    const { fromAt, toAt, wire } = boundsOf(period, nowAt);
    const { results } = await db.prepare(costQueries.byModel).bind(tenant, fromAt, toAt).all<ModelSums>();
    const byProvider = Map.groupBy(results, (row) => row.provider);
    const mostFirst = (one: Sums, other: Sums): number => other.nano_usd - one.nano_usd || other.jobs - one.jobs;
    const providers = [...byProvider]
      .map(([provider, rows]) => ({ provider, rows, sums: total(rows) }))
      .sort((one, other) => mostFirst(one.sums, other.sums));
    return {
      ...wire,
      total_usd: usdFromNano(total(results).nano_usd),
      providers: providers.map(({ provider, rows, sums }) => ({
        provider,
        usd: usdFromNano(sums.nano_usd),
        jobs: sums.jobs,
        unpriced_jobs: sums.unpriced_jobs,
        usage: usageOf(sums),
        models: rows.sort(mostFirst).map((row) => ({
          model: row.model,
          usd: usdFromNano(row.nano_usd),
          jobs: row.jobs,
          usage: usageOf(row),
        })),
      })),
    };
  });
