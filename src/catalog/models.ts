// What a subscription's last good sync found, and how it came to be so.

import type { CatalogModel } from "../../domain/catalog.ts";
import type { ModelsHistoryEntry, ModelsSnapshot } from "../../domain/catalog-subscription.ts";
import type { RefusalOf } from "../../domain/refusal.ts";
import { ok, type Result } from "../../domain/result.ts";
import { getSubscription } from "./subscription-rows.ts";

type NotFound = RefusalOf<"not_found">;

/** Ordered by id. */
export async function readSnapshot(
  db: D1Database,
  tenant: string,
  id: string,
): Promise<Result<ModelsSnapshot, NotFound>> {
  const subscription = await getSubscription(db, tenant, id);
  if (!subscription.ok) return subscription;
  const { results } = await db
    .prepare(
      `SELECT model_id, name, context_window FROM catalog_models
       WHERE tenant = ?1 AND subscription_id = ?2 ORDER BY model_id`,
    )
    .bind(tenant, id)
    .all<{ model_id: string; name: string; context_window: number | null }>();
  const models = results.map(({ model_id: id, name, context_window }) =>
    context_window === null ? { id, name } : { id, name, context_window },
  );
  return ok({ models, modelsSyncedAt: subscription.value.modelsSyncedAt });
}

/** Newest first. */
export async function readHistory(
  db: D1Database,
  tenant: string,
  id: string,
  page: { limit: number; offset: number },
): Promise<Result<{ history: ModelsHistoryEntry[]; total: number }, NotFound>> {
  const subscription = await getSubscription(db, tenant, id);
  if (!subscription.ok) return subscription;
  const isOfSubscription = "tenant = ?1 AND subscription_id = ?2";
  const lines = db.prepare(
    `SELECT at, kind, model_id, before, after FROM catalog_history
     WHERE ${isOfSubscription} ORDER BY seq DESC LIMIT ?3 OFFSET ?4`,
  );
  const count = db.prepare(`SELECT COUNT(*) AS total FROM catalog_history WHERE ${isOfSubscription}`);
  const [listed, counted] = await db.batch([lines.bind(tenant, id, page.limit, page.offset), count.bind(tenant, id)]);
  const rows = (listed?.results ?? []) as unknown as HistoryRow[];
  const [sum] = (counted?.results ?? []) as { total: number }[];
  return ok({ history: rows.map(toEntry), total: sum?.total ?? 0 });
}

interface HistoryRow extends Pick<ModelsHistoryEntry, "at" | "kind"> {
  readonly model_id: string;
  readonly before: string | null;
  readonly after: string | null;
}

const toEntry = ({ at, kind, model_id, before, after }: HistoryRow): ModelsHistoryEntry => ({
  at,
  kind,
  modelId: model_id,
  before: modelOf(before),
  after: modelOf(after),
});

function modelOf(text: string | null): CatalogModel | null {
  return text === null ? null : (JSON.parse(text) as CatalogModel);
}

/** For retention: removes up to `limit` of the lines older than `beforeAt`; returns how many went. */
export async function pruneHistory(db: D1Database, beforeAt: number, limit: number): Promise<number> {
  const result = await db
    .prepare(
      `DELETE FROM catalog_history WHERE rowid IN (SELECT rowid FROM catalog_history WHERE at < ?1 ORDER BY at LIMIT ?2)`,
    )
    .bind(beforeAt, limit)
    .run();
  return result.meta.changes;
}
