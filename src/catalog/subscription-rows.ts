// Subscriptions in D1, read for a tenant.

import type { Subscription } from "../../domain/catalog/catalog-subscription.ts";
import { notFound, type RefusalOf } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import type { TenantHistory } from "../history/tenant-history.ts";

type NotFound = RefusalOf<"not_found">;

interface SubscriptionRow {
  readonly id: string;
  readonly provider: string;
  readonly models_sync_schedule: string;
  /** Empty: the provider's list_url is used. */
  readonly models_sync_url: string;
  readonly model_count: number;
  readonly models_synced_at: number | null;
  readonly next_sync_at: number;
  readonly last_error: string | null;
  readonly last_error_at: number | null;
  readonly created_at: number;
}

/** Without the lease and the counters, which are internal. */
const SELECT = `SELECT id, provider, models_sync_schedule, models_sync_url, model_count, models_synced_at, next_sync_at,
    last_error, last_error_at, created_at
  FROM catalog_subscriptions`;

const toSubscription = (row: SubscriptionRow): Subscription => ({
  id: row.id,
  provider: row.provider,
  modelsSyncSchedule: row.models_sync_schedule,
  modelsSyncUrl: row.models_sync_url === "" ? null : row.models_sync_url,
  modelCount: row.model_count,
  modelsSyncedAt: row.models_synced_at,
  nextSyncAt: row.next_sync_at,
  lastError: row.last_error,
  lastErrorAt: row.last_error_at,
  createdAt: row.created_at,
});

export const getSubscription = async (history: TenantHistory, id: string): Promise<Result<Subscription, NotFound>> => {
  const row = await history.statement(`${SELECT} WHERE tenant = ?1 AND id = ?2`, id).first<SubscriptionRow>();
  return row === null ? err(notFound("subscription", id)) : ok(toSubscription(row));
};

/** All subscriptions of a tenant, by provider; their number is limited at creation. */
export const listSubscriptions = async (history: TenantHistory): Promise<Subscription[]> => {
  const { results } = await history
    .statement(`${SELECT} WHERE tenant = ?1 ORDER BY provider, created_at, id`)
    .all<SubscriptionRow>();
  return results.map(toSubscription);
};

export const countSubscriptions = async (history: TenantHistory): Promise<number> => {
  const counted = history.statement("SELECT COUNT(*) AS total FROM catalog_subscriptions WHERE tenant = ?1");
  return (await counted.first<number>("total")) ?? 0;
};
