// A tenant's subscription to a provider's model list, and its results.

import type { CatalogModel } from "./catalog.ts";
import type { ModelPrice } from "./catalog-price.ts";

export interface Subscription {
  readonly id: string;
  readonly provider: string;
  readonly modelsSyncSchedule: string;
  readonly modelsSyncUrl: string | null;
  readonly modelCount: number;
  readonly modelsSyncedAt: number | null;
  readonly nextSyncAt: number;
  readonly lastError: string | null;
  readonly lastErrorAt: number | null;
  readonly createdAt: number;
}

/** The models of the last successful sync, ordered by id. */
export interface ModelsSnapshot {
  readonly subscription: Subscription;
  readonly models: readonly CatalogModel[];
  /** By model id, for models whose price the provider lists. */
  readonly prices: ReadonlyMap<string, ModelPrice>;
}

export interface ModelsHistoryEntry {
  readonly at: number;
  readonly kind: "added" | "removed" | "changed";
  readonly modelId: string;
  readonly before: CatalogModel | null;
  readonly after: CatalogModel | null;
  readonly priceBefore: ModelPrice | null;
  readonly priceAfter: ModelPrice | null;
}

/** Model ids by change. Pending jobs, schedules and workers may still name the removed ones. */
export interface SyncReport {
  readonly subscriptionId: string;
  readonly provider: string;
  readonly isChanged: boolean;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly updated: readonly string[];
  /** Listed as before but with another price, which routing and cost use. */
  readonly repriced: readonly string[];
  readonly modelsSyncedAt: number;
}
