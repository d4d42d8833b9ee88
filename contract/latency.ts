// Latency on the wire.

import * as z from "zod";
import { DIMENSIONS, type Measured } from "../domain/insight/latency.ts";
import { rollingPeriods } from "../domain/insight/slots.ts";
import { countOf, quantile, type Spread } from "../domain/insight/spread.ts";
import { count, instant } from "./words/field.ts";

export const latencyQuery = z.strictObject({
  by: z.enum(DIMENSIONS).default("model"),
  period: z.enum(rollingPeriods).default("24h").meta({ description: "the time until now" }),
});

const figure = z.number().nullable();
const quantiles = z.object({ count, p50: figure, p95: figure, p99: figure }).meta({
  id: "Quantiles",
  description: "from histograms with an error of at most 10 %; null where nothing was measured",
});

const measured = {
  jobs: count.meta({ description: "completed attempts" }),
  queue_wait_ms: quantiles.meta({ description: "from when it could run to its assignment" }),
  first_token_ms: quantiles.meta({ description: "from the start to the first output" }),
  run_ms: quantiles.meta({ description: "from the start to the end" }),
  tokens_per_second: quantiles.meta({ description: "output tokens over run time" }),
};

export const latencyAnswer = z
  .object({
    by: z.enum(DIMENSIONS),
    period: z.enum(rollingPeriods),
    from: instant,
    to: instant,
    total: z.object(measured),
    rows: z
      .array(z.object({ value: z.string(), ...measured }))
      .meta({ description: "most attempts first; at most 1,000, the rest as `other`" }),
    series: z.array(z.object({ at: instant, ...measured })).meta({ description: "oldest first" }),
  })
  .meta({ id: "Latency" });

export type LatencyQuery = z.input<typeof latencyQuery>;
export type LatencyAnswer = z.infer<typeof latencyAnswer>;

const rounded = (value: number | null): number | null => (value === null ? null : Number(value.toPrecision(3)));

const presentSpread = (spread: Spread) => ({
  count: countOf(spread),
  p50: rounded(quantile(spread, 0.5)),
  p95: rounded(quantile(spread, 0.95)),
  p99: rounded(quantile(spread, 0.99)),
});

export const presentMeasured = ({ jobs, queueWaitMs, firstTokenMs, runMs, tokensPerSecond }: Measured) => ({
  jobs,
  queue_wait_ms: presentSpread(queueWaitMs),
  first_token_ms: presentSpread(firstTokenMs),
  run_ms: presentSpread(runMs),
  tokens_per_second: presentSpread(tokensPerSecond),
});
