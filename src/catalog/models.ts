// What a subscription's last good sync found, and how it came to be so.

import { and, desc, eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { CatalogModel } from "../../domain/catalog.ts";
import type { ModelsHistoryEntry, ModelsSnapshot } from "../../domain/catalog-subscription.ts";
import type { RefusalOf } from "../../domain/refusal.ts";
import { ok, type Result } from "../../domain/result.ts";
import { catalogHistory, catalogModels } from "../../migrations/catalog.ts";
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
  const rows = await drizzle(db)
    .select({ id: catalogModels.modelId, name: catalogModels.name, contextWindow: catalogModels.contextWindow })
    .from(catalogModels)
    .where(and(eq(catalogModels.tenant, tenant), eq(catalogModels.subscriptionId, id)))
    .orderBy(catalogModels.modelId);
  const models = rows.map(({ id, name, contextWindow }) =>
    contextWindow === null ? { id, name } : { id, name, context_window: contextWindow },
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
  const where = and(eq(catalogHistory.tenant, tenant), eq(catalogHistory.subscriptionId, id));
  const [rows, total] = await Promise.all([
    drizzle(db)
      .select()
      .from(catalogHistory)
      .where(where)
      .orderBy(desc(catalogHistory.seq))
      .limit(page.limit)
      .offset(page.offset),
    drizzle(db).$count(catalogHistory, where),
  ]);
  const history = rows.map(({ at, kind, modelId, before, after }) => ({
    at,
    kind,
    modelId,
    before: modelOf(before),
    after: modelOf(after),
  }));
  return ok({ history, total });
}

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
