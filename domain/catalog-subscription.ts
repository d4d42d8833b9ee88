// A tenant's wish to follow a provider's model list, and what following it has found.

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

/** The models of the last good sync, ordered by id. */
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

/** Model ids by what happened to them. `removed` is what pending jobs, schedules and workers may still name. */
export interface SyncReport {
  readonly subscriptionId: string;
  readonly provider: string;
  readonly isChanged: boolean;
  /** Prices are not part of the list that is compared, but routing and cost read them. */
  readonly arePricesChanged: boolean;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly updated: readonly string[];
  readonly modelsSyncedAt: number;
}
