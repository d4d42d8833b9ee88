// The catalog in D1: subscriptions, the snapshot of each one's models, and the history of its changes. The tenant comes
// first in every key, so that a read that omits a column cannot cross tenants.

import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

export const catalogSubscriptions = sqliteTable(
  "catalog_subscriptions",
  {
    tenant: text("tenant").notNull(),
    id: text("id").notNull(),
    provider: text("provider").notNull(),
    modelsSyncSchedule: text("models_sync_schedule").notNull(),
    /** Empty: the provider's list_url is used. Two NULLs would not be equal to an index. */
    modelsSyncUrl: text("models_sync_url").notNull().default(""),
    modelCount: integer("model_count").notNull().default(0),
    modelsSyncedAt: integer("models_synced_at"),
    nextSyncAt: integer("next_sync_at").notNull(),
    lastError: text("last_error"),
    lastErrorAt: integer("last_error_at"),
    failureCount: integer("failure_count").notNull().default(0),
    historyCount: integer("history_count").notNull().default(0),
    createdAt: integer("created_at").notNull(),
    /** Grows with every edit: a sync that began before an edit stores nothing. */
    version: integer("version").notNull().default(1),
    leaseId: text("lease_id"),
    leaseUntil: integer("lease_until"),
  },
  (table) => [
    primaryKey({ columns: [table.tenant, table.id] }),
    uniqueIndex("catalog_subscriptions_once").on(table.tenant, table.provider, table.modelsSyncUrl),
    index("catalog_subscriptions_due").on(table.nextSyncAt),
  ],
);

export const catalogModels = sqliteTable(
  "catalog_models",
  {
    tenant: text("tenant").notNull(),
    subscriptionId: text("subscription_id").notNull(),
    modelId: text("model_id").notNull(),
    name: text("name").notNull(),
    contextWindow: integer("context_window"),
    inputNanoPerMtok: integer("input_nano_per_mtok"),
    outputNanoPerMtok: integer("output_nano_per_mtok"),
    cachedInputNanoPerMtok: integer("cached_input_nano_per_mtok"),
    requestNano: integer("request_nano"),
  },
  (table) => [primaryKey({ columns: [table.tenant, table.subscriptionId, table.modelId] })],
);

export const catalogHistory = sqliteTable(
  "catalog_history",
  {
    tenant: text("tenant").notNull(),
    subscriptionId: text("subscription_id").notNull(),
    /** 1, 2, 3 … within the subscription: the order of the history, newest last. */
    seq: integer("seq").notNull(),
    at: integer("at").notNull(),
    kind: text("kind", { enum: ["added", "removed", "changed"] }).notNull(),
    modelId: text("model_id").notNull(),
    /** JSON of the normalised model. */
    before: text("before"),
    after: text("after"),
  },
  (table) => [
    primaryKey({ columns: [table.tenant, table.subscriptionId, table.seq] }),
    index("catalog_history_at").on(table.at),
  ],
);
