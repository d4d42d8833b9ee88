// A tenant's subscription to a provider's model list, and its results.

import type { CatalogModel } from "./catalog.ts";

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
  readonly models: readonly CatalogModel[];
  readonly modelsSyncedAt: number | null;
}

export interface ModelsHistoryEntry {
  readonly at: number;
  readonly kind: "added" | "removed" | "changed";
  readonly modelId: string;
  readonly before: CatalogModel | null;
  readonly after: CatalogModel | null;
}

/** Model ids by change. Pending jobs, schedules and workers may still name the removed ones. */
export interface SyncReport {
  readonly subscriptionId: string;
  readonly provider: string;
  readonly isChanged: boolean;
  /** Prices are not part of the comparison, but routing and cost use them. */
  readonly arePricesChanged: boolean;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly updated: readonly string[];
  readonly modelsSyncedAt: number;
}
