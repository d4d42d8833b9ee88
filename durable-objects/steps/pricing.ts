// The cost of attempts, recorded once each in the turn that ends them, and the expected cost of providers.

import type { ModelPrice } from "../../domain/catalog/catalog-price.ts";
import { isLocalProvider } from "../../domain/fleet/local-runtime.ts";
import type { Job, Usage } from "../../domain/job/job.ts";
import { type AttemptCost, blendedRate, priceAttempt } from "../../domain/money/cost.ts";
import { configuredPrice } from "../../domain/money/price.ts";
import { dayStartAt } from "../../domain/money/spending.ts";
import { tablePrice } from "../../providers/price-table.ts";
import type { Turn } from "../turn/turn.ts";
import { chargeKey } from "./key-limits.ts";

export interface Spent {
  readonly usage: Usage | null;
  /** The attempt was cut before anyone counted its tokens. */
  readonly isEstimate?: boolean;
  readonly costUsd: number | null;
  /** The model that answered, if the worker says so. */
  readonly model: string | null;
}

/** The part of a job that its attempt's cost is recorded under. */
export type PricedAttempt = Pick<Job, "id" | "lease" | "workerProvider" | "assignedWorker" | "model" | "keyId">;

const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0 };

/** The cost of an attempt on its provider, and where that value comes from. */
export const costOfAttempt = (turn: Turn, job: PricedAttempt, spent: Spent): AttemptCost => {
  const provider = job.workerProvider ?? "";
  const model = spent.model ?? job.model;
  return priceAttempt({
    usage: spent.usage,
    isEstimate: spent.isEstimate ?? false,
    reportedCostUsd: spent.costUsd,
    configPrice: configuredPrice(turn.memory.config.providers.get(provider)?.pricing, model),
    catalogPrice: catalogPrice(turn, provider, model),
    tablePrice: model === null ? null : tablePrice(provider, model, spent.usage, turn.nowAt),
    isLocal: isLocalProvider(provider),
  });
};

const catalogPrice = (turn: Turn, provider: string, model: string | null): ModelPrice | null =>
  model === null ? null : (turn.memory.catalog.get(provider)?.prices.get(model) ?? null);

/** Records an attempt's cost in the turn that ends it. */
export const recordSpending = (
  turn: Turn,
  job: PricedAttempt,
  outcome: "completed" | "failed" | "late",
  spent: Spent,
  cost: AttemptCost,
): void => {
  const usage = spent.usage ?? NO_USAGE;
  turn.recordAttempt({
    jobId: job.id,
    lease: job.lease,
    at: turn.nowAt,
    provider: job.workerProvider ?? "",
    model: spent.model ?? job.model,
    worker: job.assignedWorker ?? "",
    outcome,
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    cachedInputTokens: usage.cachedInputTokens ?? 0,
    reasoningTokens: usage.reasoningTokens ?? 0,
    nanoUsd: cost.costNanoUsd,
    source: cost.source,
    price: cost.price === null ? null : JSON.stringify(cost.price),
  });
  if (cost.costNanoUsd !== null && cost.costNanoUsd > 0) {
    const spent = { dayAt: dayStartAt(turn.nowAt), provider: job.workerProvider ?? "", nanoUsd: cost.costNanoUsd };
    turn.store.spending.add(spent);
    turn.memory.spending.add(spent);
    turn.memory.counters.activitySlots.noteSpent(turn.store.activity, spent.nanoUsd, turn.nowAt);
    chargeKey(turn, job, spent.dayAt, spent.nanoUsd);
  }
};

/** Nano-dollars for a million tokens of a typical mix; 0 on a local runtime, null if unknown. */
export const blendedPrice = (turn: Turn, provider: string, model: string | null): number | null => {
  const { config } = turn.memory;
  const price =
    configuredPrice(config.providers.get(provider)?.pricing, model) ??
    catalogPrice(turn, provider, model) ??
    (model === null ? null : tablePrice(provider, model, null, turn.nowAt));
  if (price !== null) return blendedRate(price);
  return isLocalProvider(provider) ? 0 : null;
};
