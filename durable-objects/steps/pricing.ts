// The cost of attempts, counted once each, and the expected cost of providers.

import { type BatchRecord, noteCorrected, noteSpent } from "../../domain/batch/batch.ts";
import type { ModelPrice } from "../../domain/catalog/catalog-price.ts";
import { isLocalProvider } from "../../domain/fleet/local-runtime.ts";
import type { Job, Usage } from "../../domain/job/job.ts";
import { type AttemptCost, blendedRate, priceAttempt } from "../../domain/money/cost.ts";
import { configuredPrice } from "../../domain/money/price.ts";
import { dayStartAt } from "../../domain/money/spending.ts";
import { tablePrice } from "../../providers/price-table.ts";
import type { Correction } from "../store/outbox.ts";
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
export type PricedAttempt = Pick<
  Job,
  "id" | "lease" | "workerProvider" | "assignedWorker" | "model" | "keyId" | "fairnessKey" | "batch"
>;

const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0 };

/** The cost of an attempt on its provider, and where that value comes from. */
export const costOfAttempt = (turn: Turn, job: PricedAttempt, spent: Spent): AttemptCost => {
  const provider = job.workerProvider ?? "";
  // Providers answer with names of their own, such as a dated one; prices are often of the name that was asked for.
  const names = [spent.model, job.model].filter((name) => name !== null);
  return priceAttempt({
    usage: spent.usage,
    isEstimate: spent.isEstimate ?? false,
    reportedCostUsd: spent.costUsd,
    configPrice: configuredPrice(turn.memory.config.providers.get(provider)?.pricing, ...names),
    catalogPrice: catalogPrice(turn, provider, names),
    tablePrice: tablePriceOf(turn, provider, names, spent.usage),
    isLocal: isLocalProvider(provider),
  });
};

const catalogPrice = (turn: Turn, provider: string, names: readonly string[]): ModelPrice | null => {
  const prices = turn.memory.catalog.get(provider)?.prices;
  return names.map((name) => prices?.get(name)).find((price) => price !== undefined) ?? null;
};

const tablePriceOf = (turn: Turn, provider: string, names: readonly string[], usage: Usage | null): ModelPrice | null =>
  names.map((name) => tablePrice(provider, name, usage, turn.nowAt)).find((price) => price !== null) ?? null;

/** Records an attempt's cost, once, under the time at which the attempt ended. */
export const recordSpending = (
  turn: Turn,
  job: PricedAttempt,
  outcome: "completed" | "failed" | "late",
  spent: Spent,
  cost: AttemptCost,
  endedAt = turn.nowAt,
): void => {
  const provider = job.workerProvider ?? "";
  const model = spent.model ?? job.model;
  turn.recordAttempt({
    ...measured(job, spent, cost),
    at: endedAt,
    provider,
    model,
    worker: job.assignedWorker ?? "",
    outcome,
  });
  turn.memory.counters.tallies.noteSpent(provider, model ?? "", spent.usage, cost.costNanoUsd);
  changeBatch(turn, job, (batch) => noteSpent(batch, cost.costNanoUsd));
  charge(turn, job, endedAt, cost.costNanoUsd ?? 0);
};

/** What a worker tells takes the place of the estimate that has counted so far, in every sum. */
export const correctSpending = (
  turn: Turn,
  job: PricedAttempt,
  spent: Spent,
  cost: AttemptCost,
  estimate: { readonly usage: Usage | null; readonly nanoUsd: number | null; readonly endedAt: number },
): void => {
  // A price that is known is better than none.
  if (cost.costNanoUsd === null && estimate.nanoUsd !== null) return;
  turn.recordCorrection(measured(job, spent, cost));
  changeBatch(turn, job, (batch) => noteCorrected(batch, estimate.nanoUsd, cost.costNanoUsd));
  const more = (cost.costNanoUsd ?? 0) - (estimate.nanoUsd ?? 0);
  turn.memory.counters.tallies.noteSpent(
    job.workerProvider ?? "",
    job.model ?? "",
    moreThan(estimate.usage, spent),
    Math.max(0, more),
  );
  charge(turn, job, estimate.endedAt, more);
};

/** What was told beyond the estimate: a counter that falls would look like one that began again. */
const moreThan = (estimate: Usage | null, { usage }: Spent): Usage => {
  const [before, told] = [estimate ?? NO_USAGE, usage ?? NO_USAGE];
  return {
    inputTokens: Math.max(0, told.inputTokens - before.inputTokens),
    outputTokens: Math.max(0, told.outputTokens - before.outputTokens),
  };
};

export const measured = (job: PricedAttempt, { usage }: Spent, cost: AttemptCost): Correction => {
  const { inputTokens, outputTokens, cachedInputTokens = 0, reasoningTokens = 0 } = usage ?? NO_USAGE;
  return {
    jobId: job.id,
    lease: job.lease,
    inputTokens,
    outputTokens,
    cachedInputTokens,
    reasoningTokens,
    nanoUsd: cost.costNanoUsd,
    source: cost.source,
    price: cost.price === null ? null : JSON.stringify(cost.price),
  };
};

/** Of a line, also if its batch has ended: what was cut may be told later. */
const changeBatch = (turn: Turn, { batch: id }: PricedAttempt, change: (batch: BatchRecord) => BatchRecord): void => {
  const batch = id === null ? null : (turn.memory.batches.open.get(id) ?? turn.store.batches.find(id));
  if (batch !== null) turn.putBatch(change(batch));
};

/** Less than zero where an estimate was too high. */
const charge = (turn: Turn, job: PricedAttempt, endedAt: number, nanoUsd: number): void => {
  if (nanoUsd === 0) return;
  const spent = { dayAt: dayStartAt(endedAt), provider: job.workerProvider ?? "", nanoUsd };
  turn.store.spending.add(spent);
  turn.memory.spending.add(spent);
  turn.memory.counters.activitySlots.noteSpent(turn.store.activity, nanoUsd, turn.nowAt);
  chargeKey(turn, job, spent.dayAt, nanoUsd);
};

/** Nano-dollars for a million tokens of a typical mix; 0 on a local runtime, null if unknown. */
export const blendedPrice = (turn: Turn, provider: string, model: string | null): number | null => {
  const { config } = turn.memory;
  const names = model === null ? [] : [model];
  const price =
    configuredPrice(config.providers.get(provider)?.pricing, ...names) ??
    catalogPrice(turn, provider, names) ??
    tablePriceOf(turn, provider, names, null);
  if (price !== null) return blendedRate(price);
  return isLocalProvider(provider) ? 0 : null;
};
