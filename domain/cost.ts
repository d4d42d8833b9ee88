// What an attempt cost, and how that is known. The source and the price are kept with the attempt, so that
// later prices never rewrite history.
// Invariant: unknown is null, never 0; all arithmetic is on integers and rounds once, half up, at the end.

import type { ModelPrice } from "./catalog-price.ts";
import type { Usage } from "./job.ts";
import { isLocalProvider } from "./local-runtime.ts";
import { nanoFromUsd, type PriceInUsd } from "./price.ts";

/** Whether work on a provider may cost money: all but a local runtime, and what the config prices at nothing. */
export const mayCost = (provider: string, pricing: Readonly<Record<string, PriceInUsd>> = {}): boolean => {
  if (Object.values(pricing).some((price) => Object.values(price).some((usd) => (usd ?? 0) > 0))) return true;
  return !isLocalProvider(provider) && !Object.hasOwn(pricing, "*");
};

export type CostSource = "reported" | "config" | "catalog" | "table" | "local" | "unknown";

export interface AttemptCost {
  readonly costNanoUsd: number | null;
  readonly source: CostSource;
  /** The price that was applied; null if the cost did not come from one. */
  readonly price: ModelPrice | null;
}

export interface AttemptFacts {
  readonly usage: Usage | null;
  readonly reportedCostUsd: number | string | null;
  readonly configPrice: ModelPrice | null;
  readonly catalogPrice: ModelPrice | null;
  /** An estimate: a public list knows nothing of discounts. */
  readonly tablePrice: ModelPrice | null;
  readonly isLocal: boolean;
}

/** The first source, in this order, that knows: the worker, the config, the catalog, the table, a local runtime. */
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
    if (costNanoUsd !== null) return { costNanoUsd, source, price };
  }
  if (facts.isLocal) return { costNanoUsd: 0, source: "local", price: null };
  return { costNanoUsd: null, source: "unknown", price: null };
};

/** One request at a price, in nano-dollars; null if tokens are charged and nobody counted them, or beyond a safe integer. */
export const costOf = (price: ModelPrice, usage: Usage | null): number | null => {
  const perRequest = BigInt(price.request_nano ?? 0);
  if (usage === null) return chargesTokens(price) ? null : Number(perRequest);
  // A worker may count more cached tokens than input tokens; never charge less than nothing for the rest.
  const cached = Math.min(usage.cachedInputTokens ?? 0, usage.inputTokens);
  const tokens =
    BigInt(usage.inputTokens - cached) * BigInt(price.input_nano_per_mtok) +
    BigInt(cached) * BigInt(price.cached_input_nano_per_mtok ?? price.input_nano_per_mtok) +
    BigInt(usage.outputTokens) * BigInt(price.output_nano_per_mtok);
  const total = perRequest + (tokens + 500_000n) / 1_000_000n;
  return total <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(total) : null;
};

/** Of a thousand tokens each: so a price by the request compares with a price by the token. */
const REQUESTS_PER_MTOK = 1000;

/** One rate to compare prices by, in nano-dollars per million tokens: three tokens in for each token out. */
export const blendedRate = (price: ModelPrice): number =>
  Math.round((3 * price.input_nano_per_mtok + price.output_nano_per_mtok) / 4) +
  REQUESTS_PER_MTOK * (price.request_nano ?? 0);

const chargesTokens = (price: ModelPrice): boolean =>
  price.input_nano_per_mtok > 0 || price.output_nano_per_mtok > 0 || (price.cached_input_nano_per_mtok ?? 0) > 0;
