// What an attempt cost, and where that value comes from. Source and price are stored with the attempt, so later prices
// never change history. Invariant: unknown is null, never 0; all arithmetic is on integers and rounds once, half up, at
// the end.

import type { ModelPrice } from "../catalog/catalog-price.ts";
import { isLocalProvider } from "../fleet/local-runtime.ts";
import { changeJob, type Decision, type Job, jobEvent, type Usage } from "../job/job.ts";
import { nanoFromUsd, type PriceInUsd, usdFromNano } from "./price.ts";

/** Whether work on a provider may cost money: not on a local runtime, nor where the config sets all prices to zero. */
export const mayCost = (provider: string, pricing: Readonly<Record<string, PriceInUsd>> = {}): boolean => {
  if (Object.values(pricing).some((price) => Object.values(price).some((usd) => (usd ?? 0) > 0))) return true;
  return !isLocalProvider(provider) && !Object.hasOwn(pricing, "*");
};

type CostSource = "reported" | "config" | "catalog" | "table" | "estimate" | "local" | "unknown";

export interface AttemptCost {
  readonly costNanoUsd: number | null;
  readonly source: CostSource;
  /** The price that was applied; null if the cost has another source. */
  readonly price: ModelPrice | null;
}

export interface AttemptFacts {
  readonly usage: Usage | null;
  /** Nobody counted the tokens. */
  readonly isEstimate?: boolean;
  readonly reportedCostUsd: number | string | null;
  readonly configPrice: ModelPrice | null;
  readonly catalogPrice: ModelPrice | null;
  /** An estimate: a public list has no discounts. */
  readonly tablePrice: ModelPrice | null;
  readonly isLocal: boolean;
}

/** The first source that knows: the worker, the config, the catalog, the table, a local runtime. */
export const priceAttempt = (facts: AttemptFacts): AttemptCost => {
  const reported = facts.reportedCostUsd === null ? null : nanoFromUsd(facts.reportedCostUsd);
  if (reported !== null) return { costNanoUsd: reported, source: "reported", price: null };
  const candidates = [
    ["config", facts.configPrice],
    ["catalog", facts.catalogPrice],
    ["table", facts.tablePrice],
  ] as const;
  for (const [source, price] of candidates) {
    const costNanoUsd = price === null ? null : costOf(price, facts.usage);
    if (costNanoUsd !== null) return { costNanoUsd, source: facts.isEstimate ? "estimate" : source, price };
  }
  if (facts.isLocal) return { costNanoUsd: 0, source: "local", price: null };
  return { costNanoUsd: null, source: "unknown", price: null };
};

/**
 * The cost of one request in nano-dollars; null if tokens are charged but were not counted, or beyond a safe integer.
 * A token that is written to the cache costs 1.25 input tokens, and 2 where it is kept for an hour, with every model.
 */
export const costOf = (price: ModelPrice, usage: Usage | null): number | null => {
  const perRequest = BigInt(price.request_nano ?? 0);
  if (usage === null) return chargesTokens(price) ? null : Number(perRequest);
  // A worker may report more cached tokens than input tokens; the rest must not be charged as negative.
  const cached = Math.min(usage.cachedInputTokens ?? 0, usage.inputTokens);
  const written = Math.min(usage.cacheWriteTokens ?? 0, usage.inputTokens - cached);
  const writtenForHour = Math.min(usage.cacheWrite1hTokens ?? 0, written);
  const quarters =
    (4n * BigInt(usage.inputTokens - cached) + BigInt(written + 3 * writtenForHour)) *
      BigInt(price.input_nano_per_mtok) +
    4n * BigInt(cached) * BigInt(price.cached_input_nano_per_mtok ?? price.input_nano_per_mtok) +
    4n * BigInt(usage.outputTokens) * BigInt(price.output_nano_per_mtok);
  const total = perRequest + (quarters + 2_000_000n) / 4_000_000n;
  return total <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(total) : null;
};

/** Assumes requests of a thousand tokens, so that prices per request and per token are comparable. */
const REQUESTS_PER_MTOK = 1000;

/** One rate for comparing prices, in nano-dollars per million tokens: three input tokens for each output token. */
export const blendedRate = (price: ModelPrice): number =>
  Math.round((3 * price.input_nano_per_mtok + price.output_nano_per_mtok) / 4) +
  REQUESTS_PER_MTOK * (price.request_nano ?? 0);

const chargesTokens = (price: ModelPrice): boolean =>
  price.input_nano_per_mtok > 0 || price.output_nano_per_mtok > 0 || (price.cached_input_nano_per_mtok ?? 0) > 0;

/** A job that has ended shows what its last attempt spent, told or estimated since; what is known stays. */
export const noteLateCost = (job: Job, usage: Usage | null, costNanoUsd: number | null, nowAt: number): Decision => {
  const spent = { usage: usage ?? job.usage, costNanoUsd: costNanoUsd ?? job.costNanoUsd };
  const next = changeJob(job, spent, nowAt);
  const detail = { cost_usd: spent.costNanoUsd === null ? null : usdFromNano(spent.costNanoUsd) };
  return { job: next, events: [jobEvent(next, "job.updated", nowAt, detail)] };
};
