// What a job asks of a worker. Jobs that ask the same stand in one requirement group of the queue.

import type { Api } from "./api.ts";

export const PRIORITIES = ["low", "normal", "high", "critical"] as const;
export const TIERS = ["economy", "standard", "premium"] as const;

export type Priority = (typeof PRIORITIES)[number];
export type Tier = (typeof TIERS)[number];

export interface Requirements {
  readonly provider: string | null;
  readonly model: string | null;
  readonly tags: readonly string[];
  /** The API whose dialect the worker must answer in; null for an ordinary job. */
  readonly api: Api | null;
  /** Providers that a fallback has left behind. */
  readonly excludedProviders: readonly string[];
  /** Instances on which it failed: others come first, as long as one of them may have it. */
  readonly avoidedWorkers: readonly string[];
}
