// What a job requires of a worker. Jobs with equal requirements form one group of the queue.

import type { Api } from "./api.ts";

export const PRIORITIES = ["low", "normal", "high", "critical"] as const;
export const TIERS = ["economy", "standard", "premium"] as const;

export type Priority = (typeof PRIORITIES)[number];
export type Tier = (typeof TIERS)[number];

export interface Requirements {
  readonly provider: string | null;
  readonly model: string | null;
  readonly tags: readonly string[];
  /** The API that the worker must offer; null for an ordinary job. */
  readonly api: Api | null;
  /** false: not to a provider that the coordinator calls itself; missing: allowed. */
  readonly edge?: boolean;
  /** Providers that a fallback has already tried. */
  readonly excludedProviders: readonly string[];
  /** Workers on which it failed: others are preferred while one of them is eligible. */
  readonly avoidedWorkers: readonly string[];
  /** The batch that it is a line of: it leaves room on its worker for other work. */
  readonly batch: string | null;
}
