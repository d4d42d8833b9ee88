// Answers of endpoints that the contract names and whose schemas are not in this folder yet. Each type goes when its
// schema comes.

import type { UsageResource } from "../job.ts";
import type { Period } from "../values.ts";

export interface QueueView {
  readonly groups: readonly {
    readonly provider: string | null;
    readonly model: string | null;
    readonly tags: readonly string[];
    readonly api: string | null;
    readonly count: number;
    readonly oldest_at: string;
    readonly reason: string;
  }[];
  readonly total: number;
}

export interface FailuresQuery {
  since: string;
  until: string;
}

export interface FailureList {
  readonly failures: readonly {
    readonly code: string;
    readonly provider: string | null;
    readonly model: string | null;
    readonly count: number;
    readonly previous_count: number;
    readonly last_at: string;
    readonly message: string;
    readonly job_id: string;
  }[];
}

export interface AttemptList {
  readonly attempts: readonly {
    readonly lease: number;
    readonly worker: string | null;
    readonly provider: string | null;
    readonly model: string | null;
    readonly started_at: string | null;
    readonly first_token_at: string | null;
    readonly finished_at: string | null;
    readonly outcome: string | null;
    readonly error: { readonly code: string; readonly message: string; readonly retryable: boolean } | null;
    readonly usage: UsageResource | null;
    readonly cost_usd: number | null;
    readonly price_source: string | null;
  }[];
}

export interface CostSpan {
  period: Period;
  /** With `to`, instead of a period: at most 92 days. */
  from: string;
  to: string;
}

export interface CostBy {
  readonly from: string;
  readonly to: string;
  readonly total_usd: number;
  readonly rows: readonly {
    /** Null for what has none. */
    readonly value: string | null;
    readonly usd: number;
    readonly jobs: number;
    readonly unpriced_jobs: number;
    readonly usage: UsageResource;
  }[];
}
