// The lease of one sync: two syncs of a subscription never run at the same time, in any isolate. Taking it also
// schedules the next sync after the lease's end, so a sync that crashes its isolate waits at the end of the queue
// instead of coming first again. Only the holder can give a lease back.

export const SYNC_LEASE_MS = 2 * 60_000;

export interface HeldSubscription {
  readonly tenant: string;
  readonly id: string;
  readonly leaseId: string;
  readonly provider: string;
  readonly schedule: string;
  readonly syncUrl: string | null;
  readonly version: number;
  readonly failureCount: number;
  readonly historyCount: number;
}

interface Row {
  provider: string;
  models_sync_schedule: string;
  models_sync_url: string;
  version: number;
  failure_count: number;
  history_count: number;
}

/** Null if another sync holds it, the subscription does not exist, or `mustBeDue` is set and it is not due. */
export const takeLease = async (
  db: D1Database,
  tenant: string,
  id: string,
  nowAt: number,
  mustBeDue: boolean,
): Promise<HeldSubscription | null> => {
  const leaseId = crypto.randomUUID();
  const row = await db
    .prepare(
      `UPDATE catalog_subscriptions SET lease_id = ?3, lease_until = ?5, next_sync_at = max(next_sync_at, ?5)
       WHERE tenant = ?1 AND id = ?2 AND (lease_until IS NULL OR lease_until <= ?4) AND (?6 = 0 OR next_sync_at <= ?4)
       RETURNING provider, models_sync_schedule, models_sync_url, version, failure_count, history_count`,
    )
    .bind(tenant, id, leaseId, nowAt, nowAt + SYNC_LEASE_MS, mustBeDue ? 1 : 0)
    .first<Row>();
  if (row === null) return null;
  return {
    tenant,
    id,
    leaseId,
    provider: row.provider,
    schedule: row.models_sync_schedule,
    syncUrl: row.models_sync_url === "" ? null : row.models_sync_url,
    version: row.version,
    failureCount: row.failure_count,
    historyCount: row.history_count,
  };
};

/**
 * The first statement of a batch: fails the whole batch unless the lease is still held and the subscription unchanged.
 */
export const leaseFence = (db: D1Database, { tenant, id, leaseId, version }: HeldSubscription): D1PreparedStatement =>
  db
    .prepare(
      `SELECT CASE count(*) WHEN 1 THEN 1 ELSE json('lease lost ' || count(*)) END FROM catalog_subscriptions
       WHERE tenant = ?1 AND id = ?2 AND lease_id = ?3 AND version = ?4`,
    )
    .bind(tenant, id, leaseId, version);

export const isLeaseHeld = async (
  db: D1Database,
  { tenant, id, leaseId, version }: HeldSubscription,
): Promise<boolean> => {
  const row = await db
    .prepare("SELECT 1 FROM catalog_subscriptions WHERE tenant = ?1 AND id = ?2 AND lease_id = ?3 AND version = ?4")
    .bind(tenant, id, leaseId, version)
    .first();
  return row !== null;
};

/** After a sync that stored nothing because the subscription was edited meanwhile: due again at once. */
export const giveBackLease = async (
  db: D1Database,
  { tenant, id, leaseId }: HeldSubscription,
  nowAt: number,
): Promise<void> => {
  await db
    .prepare(
      `UPDATE catalog_subscriptions SET lease_id = NULL, lease_until = NULL, next_sync_at = ?4
       WHERE tenant = ?1 AND id = ?2 AND lease_id = ?3`,
    )
    .bind(tenant, id, leaseId, nowAt)
    .run();
};
