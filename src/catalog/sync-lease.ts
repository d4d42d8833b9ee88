// The lease of one sync: two syncs of a subscription never run at the same time, in any isolate. Taking it also
// schedules the next sync after the lease's end, so a sync that crashes its isolate waits at the end of the queue
// instead of coming first again. Only the holder can give a lease back.

import type { TenantHistory } from "../history/tenant-history.ts";
export const SYNC_LEASE_MS = 2 * 60_000;

export interface HeldSubscription {
  readonly history: TenantHistory;
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
  history: TenantHistory,
  id: string,
  nowAt: number,
  mustBeDue: boolean,
): Promise<HeldSubscription | null> => {
  const leaseId = crypto.randomUUID();
  const row = await history
    .statement(
      `UPDATE catalog_subscriptions SET lease_id = ?3, lease_until = ?5, next_sync_at = max(next_sync_at, ?5)
       WHERE tenant = ?1 AND id = ?2 AND (lease_until IS NULL OR lease_until <= ?4) AND (?6 = 0 OR next_sync_at <= ?4)
       RETURNING provider, models_sync_schedule, models_sync_url, version, failure_count, history_count`,
      id,
      leaseId,
      nowAt,
      nowAt + SYNC_LEASE_MS,
      mustBeDue ? 1 : 0,
    )
    .first<Row>();
  if (row === null) return null;
  return {
    history,
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
export const leaseFence = ({ history, id, leaseId, version }: HeldSubscription): D1PreparedStatement =>
  history.statement(
    `SELECT CASE count(*) WHEN 1 THEN 1 ELSE json('lease lost ' || count(*)) END FROM catalog_subscriptions
     WHERE tenant = ?1 AND id = ?2 AND lease_id = ?3 AND version = ?4`,
    id,
    leaseId,
    version,
  );

export const isLeaseHeld = async ({ history, id, leaseId, version }: HeldSubscription): Promise<boolean> => {
  const held = "SELECT 1 FROM catalog_subscriptions WHERE tenant = ?1 AND id = ?2 AND lease_id = ?3 AND version = ?4";
  return (await history.statement(held, id, leaseId, version).first()) !== null;
};

/** After a sync that stored nothing because the subscription was edited meanwhile: due again at once. */
export const giveBackLease = async ({ history, id, leaseId }: HeldSubscription, nowAt: number): Promise<void> => {
  await history
    .statement(
      `UPDATE catalog_subscriptions SET lease_id = NULL, lease_until = NULL, next_sync_at = ?4
       WHERE tenant = ?1 AND id = ?2 AND lease_id = ?3`,
      id,
      leaseId,
      nowAt,
    )
    .run();
};
