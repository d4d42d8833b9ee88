// The tenant's configuration in the form that the rules use, with its defaults. Durations in ms, prices and budgets in
// dollars, as given.

import type { RequestLimits } from "./access/rate.ts";
import type { FrontDoorConfig } from "./front-door/front-door.ts";
import type { Budget } from "./money/budget.ts";
import type { PriceInUsd } from "./money/price.ts";
import type { Fairness } from "./words/fairness.ts";
import type { Tier } from "./words/requirements.ts";
import type { ScorePart } from "./words/score-part.ts";

export const STRATEGIES = ["score", "fallback", "least_loaded", "cheapest", "round_robin"] as const;
export type Strategy = (typeof STRATEGIES)[number];

export type Weights = Readonly<Record<ScorePart, number>>;

export const DEFAULT_WEIGHTS: Weights = {
  capacity: 30,
  tag_fit: 15,
  model_loaded: 15,
  success: 15,
  freshness: 10,
  cost: 5,
  tier: 10,
};

export const BUDGET_ACTIONS = ["reject", "killswitch"] as const;
type BudgetAction = (typeof BUDGET_ACTIONS)[number];

interface RateLimit {
  readonly maxConcurrent: number | null;
  readonly retryAfterMs: number;
  readonly maxRetries: number;
}

export const EDGE_MODES = ["fallback", "peer"] as const;
type EdgeMode = (typeof EDGE_MODES)[number];

/** How the coordinator calls a provider itself (`durable-objects/operations/fleet/edge-workers.ts`). */
export interface EdgeConfig {
  /** Exact names or patterns with `*`; null: what the provider's catalog lists. */
  readonly models: readonly string[] | null;
  readonly maxConcurrent: number;
  /** `fallback`: takes a job only if no other worker can, or none did within `afterMs`. `peer`: scored as any other. */
  readonly as: EdgeMode;
  readonly afterMs: number;
  readonly tier: Tier | null;
  readonly tags: readonly string[];
}

export interface ProviderConfig {
  /** null: it is called by worker processes only. */
  readonly edge: EdgeConfig | null;
  readonly rateLimit: RateLimit | null;
  /** By model name; `*` matches all other models. */
  readonly pricing: Readonly<Record<string, PriceInUsd>>;
  /** The budget of this provider alone. */
  readonly budget: Budget | null;
}

/** What batches leave to other work. */
interface BatchesConfig {
  /** Of a worker with more than one place, so many are not given to lines. */
  readonly keepFree: number;
  /** A worker gets no line within this after other work. */
  readonly quietMs: number;
}

export interface Config {
  readonly jobs: {
    /** null turns it off. */
    readonly timeoutMs: number | null;
    /** null turns it off. */
    readonly reapStaleAfterMs: number | null;
    readonly maxAttempts: number;
    readonly acceptWithinMs: number;
    /** The wait after a job's first failed attempt; it doubles with each further one. */
    readonly retry: { readonly backoffMs: number; readonly maxBackoffMs: number };
  };
  readonly presence: {
    readonly heartbeatIntervalMs: number;
    readonly offlineAfterMs: number;
    /** An offline worker is deleted after this time. */
    readonly forgetAfterMs: number;
  };
  readonly providers: ReadonlyMap<string, ProviderConfig>;
  /** By provider that the coordinator calls as a fallback, how long a job waits for another worker. */
  readonly edgeAfterMs: ReadonlyMap<string, number>;
  readonly routing: {
    readonly strategy: Strategy;
    readonly chain: readonly string[];
    readonly weights: Weights;
    /** How long a job waits for a worker to change its model while jobs for the loaded one wait; null: not at all. */
    readonly swapWaitMs: number | null;
  };
  readonly budget: Budget & { readonly onReached: BudgetAction };
  /** Limits of each key. */
  readonly requestLimits: RequestLimits;
  readonly frontDoor: FrontDoorConfig;
  /** How many days finished jobs are kept; null: for ever. */
  readonly history: { readonly keepDays: number | null; readonly keepTextsDays: number | null };
  readonly capacity: CapacityConfig;
  /** What all files of the tenant may take. */
  readonly files: { readonly maxBytes: number };
  readonly batches: BatchesConfig;
  /** Whose jobs take turns. */
  readonly fairness: Fairness;
}

interface CapacityConfig {
  /** How long jobs wait before capacity is wanted. */
  readonly afterMs: number;
  /** How long a worker is without work before webhooks are told. */
  readonly idleMs: number;
  /** Lines of batches want capacity, too. */
  readonly isForBatches: boolean;
}

/** Of the providers that are called as a fallback. */
export const fallbacksOf = (providers: Config["providers"]): Config["edgeAfterMs"] => {
  const fallbacks = new Map<string, number>();
  for (const [name, { edge }] of providers) if (edge?.as === "fallback") fallbacks.set(name, edge.afterMs);
  return fallbacks;
};

export const DEFAULT_RATE_LIMIT = { retryAfterMs: 5_000, maxRetries: 3 } as const;

export const timeoutOf = (config: Config, job: { timeoutMs: number | null }): number | null =>
  job.timeoutMs ?? config.jobs.timeoutMs;

export const maxAttemptsOf = (config: Config, job: { maxAttempts: number | null }): number =>
  job.maxAttempts ?? config.jobs.maxAttempts;

/**
 * A stored heartbeat is renewed when it is this fraction of its deadline old; after a reload silence may be noticed
 * that much later.
 */
const STORED_BEAT_SHARE = 120;

export const storeBeatAfterMs = (deadlineMs: number | null): number =>
  deadlineMs === null ? Number.POSITIVE_INFINITY : Math.ceil(deadlineMs / STORED_BEAT_SHARE);
