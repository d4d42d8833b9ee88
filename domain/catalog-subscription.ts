// A tenant's wish to follow a provider's model list, and what following it has found.

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

/** The models of the last good sync, ordered by id. */
export interface ModelsSnapshot {
  readonly models: readonly CatalogModel[];
  /** By model id; of those whose price the provider tells. */
  readonly prices: ReadonlyMap<string, ModelPrice>;
  readonly modelsSyncedAt: number | null;
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

/** Model ids by what happened to them. `removed` is what pending jobs, schedules and workers may still name. */
export interface SyncReport {
  readonly subscriptionId: string;
  readonly provider: string;
  readonly isChanged: boolean;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly updated: readonly string[];
  /** Listed as before, at another price: routing and cost read it. */
  readonly repriced: readonly string[];
  readonly modelsSyncedAt: number;
}
