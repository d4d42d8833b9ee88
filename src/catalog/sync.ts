// One sync of one subscription: lease → list → diff → one transaction with snapshot, history and audit entry. Keys
// never reach this code: the connector makes the requests.
//
// due or forced ──lease──▶ listing ──whole list──▶ stored (an identical list only moves models_synced_at)
//                             └──anything else──▶ last_error; the snapshot stays as it is

import { type CatalogChange, diffModels, type ListedModel, priceMoves } from "../../domain/catalog/catalog.ts";
import type { SyncReport } from "../../domain/catalog/catalog-subscription.ts";
import { nextRetryAt, nextSyncAt } from "../../domain/catalog/catalog-timing.ts";
import { nextCronAt } from "../../domain/schedule/cron-times.ts";
import { DAY_MS } from "../../domain/words/duration.ts";
import { type Actor, SERVICE_ACTOR } from "../../domain/words/event.ts";
import type { RefusalOf } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import { auditStatement } from "../history/audit.ts";
import { TenantHistory } from "../history/tenant-history.ts";
import type { CatalogTools } from "./catalog-tools.ts";
import { LIST_BUDGET, type ListBudget, type ListFailure, type Listing, listModels } from "./list-models.ts";
import { appendHistory, modelsToWrite, removeModels, storedModels, writeModels } from "./snapshot.ts";
import { getSubscription } from "./subscription-rows.ts";
import { giveBackLease, type HeldSubscription, isLeaseHeld, leaseFence, takeLease } from "./sync-lease.ts";
import type { VaultConnector } from "./vault/connector.ts";

export interface SyncTools extends CatalogTools {
  /** With the tenant's own keys, else the operator's. */
  readonly connectorOf: (tenant: string) => VaultConnector;
  readonly budget?: ListBudget;
}

type SyncRefusal = RefusalOf<"not_found"> | RefusalOf<"sync_in_progress"> | RefusalOf<"provider_failed">;

/** `mustBeDue`: in the cron pass. A sync that a person asks for runs unless another one does. */
export const syncSubscription = async (
  tools: SyncTools,
  tenant: string,
  id: string,
  actor: Actor = SERVICE_ACTOR,
  { mustBeDue = false }: { mustBeDue?: boolean } = {},
): Promise<Result<SyncReport, SyncRefusal>> => {
  const history = new TenantHistory(tools.db, tenant);
  const held = await takeLease(history, id, tools.now(), mustBeDue);
  if (held === null) return refusal(history, id);
  const listing = await list(tools, held);
  if (!listing.ok) {
    await recordFailure(tools, held, listing.failure);
    return err({ code: "provider_failed", detail: `${held.provider}: ${listing.failure.detail}` });
  }
  return store(tools, held, listing.models, actor);
};

const refusal = async (history: TenantHistory, id: string): Promise<Result<never, SyncRefusal>> => {
  const subscription = await getSubscription(history, id);
  return subscription.ok ? err({ code: "sync_in_progress", id }) : subscription;
};

const list = async (tools: SyncTools, held: HeldSubscription): Promise<Listing> => {
  const provider = tools.providers.get(held.provider);
  const connector = tools.connectorOf(held.history.tenant);
  if (provider !== undefined) return listModels(connector, provider, held.syncUrl, tools.budget ?? LIST_BUDGET);
  const detail = "this installation has no provider file for it any more";
  return { ok: false, failure: { detail, isRetryable: false, retryAfterMs: 0 } };
};

const store = async (
  tools: SyncTools,
  held: HeldSubscription,
  models: ReadonlyMap<string, ListedModel>,
  actor: Actor,
): Promise<Result<SyncReport, SyncRefusal>> => {
  const { history, id } = held;
  const before = await storedModels(history, id);
  const changes = diffModels(before, models);
  const at = tools.now();
  const moves = priceMoves(before, models);
  const lines = [...changes, ...moves];
  const report = reportOf(id, held.provider, changes, moves, at);
  const statements = [
    leaseFence(held),
    ...writeModels(history, id, modelsToWrite(lines)),
    ...removeModels(history, id, report.removed),
    ...appendHistory(held, lines, at),
    finishStatement(held, { modelCount: models.size, changeCount: lines.length }, at),
    ...(report.isChanged ? [auditStatement(history, auditOf(report, actor))] : []),
  ];
  try {
    await history.db.batch(statements);
    return ok(report);
  } catch (error) {
    if (await isLeaseHeld(held)) throw error;
    // It was edited, deleted or taken over during the listing, so the result is out of date.
    await giveBackLease(held, at);
    return refusal(history, id);
  }
};

const finishStatement = (
  { history, id, schedule }: HeldSubscription,
  { modelCount, changeCount }: { readonly modelCount: number; readonly changeCount: number },
  at: number,
): D1PreparedStatement =>
  history.statement(
    `UPDATE catalog_subscriptions
     SET model_count = ?3, models_synced_at = ?4, next_sync_at = ?5, history_count = history_count + ?6,
         last_error = NULL, last_error_at = NULL, failure_count = 0, lease_id = NULL, lease_until = NULL
     WHERE tenant = ?1 AND id = ?2`,
    id,
    modelCount,
    at,
    scheduledAt(schedule, id, at),
    changeCount,
  );

const recordFailure = async (tools: SyncTools, held: HeldSubscription, failure: ListFailure): Promise<void> => {
  const at = tools.now();
  const { history, id } = held;
  const scheduled = scheduledAt(held.schedule, id, at);
  const next = failure.isRetryable
    ? nextRetryAt(at, held.failureCount + 1, failure.retryAfterMs, scheduled)
    : scheduled;
  const { meta } = await history
    .statement(
      `UPDATE catalog_subscriptions
       SET last_error = ?4, last_error_at = ?5, next_sync_at = ?6,
           failure_count = failure_count + 1, lease_id = NULL, lease_until = NULL
       WHERE tenant = ?1 AND id = ?2 AND lease_id = ?3 AND version = ?7`,
      id,
      held.leaseId,
      failure.detail,
      at,
      next,
      held.version,
    )
    .run();
  // It was edited meanwhile, so the failure belongs to an old address.
  if (meta.changes === 0) await giveBackLease(held, at);
};

/** A valid schedule fires within eight years; the fallback keeps a damaged one from stopping the pass. */
export const scheduledAt = (schedule: string, id: string, nowAt: number): number => {
  const timing = { cron: schedule, timezone: "UTC" };
  const slot = nextCronAt(timing, nowAt) ?? nowAt + DAY_MS;
  return nextSyncAt(slot, nextCronAt(timing, slot), id);
};

const reportOf = (
  id: string,
  provider: string,
  changes: readonly CatalogChange[],
  moves: readonly CatalogChange[],
  at: number,
): SyncReport => {
  const ids = (kind: CatalogChange["kind"]) => changes.filter((c) => c.kind === kind).map((c) => c.model_id);
  return {
    subscriptionId: id,
    provider,
    isChanged: changes.length > 0,
    added: ids("added"),
    removed: ids("removed"),
    updated: ids("changed"),
    repriced: moves.map(({ model_id }) => model_id),
    modelsSyncedAt: at,
  };
};

const auditOf = (report: SyncReport, actor: Actor) => {
  const detail = {
    provider: report.provider,
    added: report.added.length,
    removed: report.removed.length,
    updated: report.updated.length,
  };
  return { at: report.modelsSyncedAt, actor, action: "catalog.synced", target: report.subscriptionId, detail };
};
