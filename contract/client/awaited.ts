// Answers of endpoints that the contract names and whose schemas are not in this folder yet. Each type goes when its
// schema comes.

import type { UsageResource } from "../job.ts";
import type { Period } from "../values.ts";

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
