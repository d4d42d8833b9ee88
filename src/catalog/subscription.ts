// A subscription as the edge sees it, and the tools that every verb on it takes.

import type { InferSelectModel } from "drizzle-orm";
import type { Subscription } from "../../domain/catalog-subscription.ts";
import type { AuditEntry } from "../../domain/event.ts";
import { catalogSubscriptions } from "../../migrations/catalog.ts";
import type { ProviderSet } from "./providers.ts";

export interface CatalogTools {
  readonly db: D1Database;
  readonly providers: ProviderSet;
  readonly now: () => number;
  /** The insert of an audit line; it runs in the same transaction as the change that it tells of. */
  readonly audit: (tenant: string, entry: AuditEntry) => D1PreparedStatement;
}

type SubscriptionRow = InferSelectModel<typeof catalogSubscriptions>;

/** The columns that a caller may see; the lease and the counters stay inside. */
export const subscriptionColumns = {
  id: catalogSubscriptions.id,
  provider: catalogSubscriptions.provider,
  modelsSyncSchedule: catalogSubscriptions.modelsSyncSchedule,
  modelsSyncUrl: catalogSubscriptions.modelsSyncUrl,
  modelCount: catalogSubscriptions.modelCount,
  modelsSyncedAt: catalogSubscriptions.modelsSyncedAt,
  nextSyncAt: catalogSubscriptions.nextSyncAt,
  lastError: catalogSubscriptions.lastError,
  lastErrorAt: catalogSubscriptions.lastErrorAt,
  createdAt: catalogSubscriptions.createdAt,
};

export const toSubscription = (row: Pick<SubscriptionRow, keyof typeof subscriptionColumns>): Subscription => ({
  ...row,
  modelsSyncUrl: row.modelsSyncUrl === "" ? null : row.modelsSyncUrl,
});
