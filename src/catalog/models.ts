// The models of a subscription's last successful sync, and their changes.

import type { CatalogModel } from "../../domain/catalog/catalog.ts";
import type { ModelPrice } from "../../domain/catalog/catalog-price.ts";
import type { ModelsHistoryEntry, ModelsSnapshot } from "../../domain/catalog/catalog-subscription.ts";
import type { RefusalOf } from "../../domain/words/refusal.ts";
import { ok, type Result } from "../../domain/words/result.ts";
import { isHere } from "../history/is-here.ts";
import { readPage } from "../history/page.ts";
import type { TenantHistory } from "../history/tenant-history.ts";
import { storedModels } from "./snapshot.ts";
import { getSubscription } from "./subscription-rows.ts";

type NotFound = RefusalOf<"not_found">;

/** Ordered by id. */
export const readSnapshot = async (history: TenantHistory, id: string): Promise<Result<ModelsSnapshot, NotFound>> => {
  const subscription = await getSubscription(history, id);
  if (!subscription.ok) return subscription;
  const listed = [...(await storedModels(history, id)).values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  const priced = listed.flatMap(({ id: model, price }): [string, ModelPrice][] =>
    price === undefined ? [] : [[model, price]],
  );
  const models = listed.map(({ price: _price, ...model }) => model);
  return ok({ models, prices: new Map(priced), subscription: subscription.value });
};

/** Newest first. */
export const readModelsHistory = async (
  history: TenantHistory,
  id: string,
  page: { limit: number; offset: number },
): Promise<Result<{ history: ModelsHistoryEntry[]; total: number }, NotFound>> => {
  const subscription = await getSubscription(history, id);
  if (!subscription.ok) return subscription;
  const isOfSubscription = "tenant = ?1 AND subscription_id = ?2";
  const lines = history.statement(
    `SELECT at, kind, model_id, before, after FROM catalog_history
     WHERE ${isOfSubscription} ORDER BY seq DESC LIMIT ?3 OFFSET ?4`,
    id,
    page.limit,
    page.offset,
  );
  const count = history.statement(`SELECT COUNT(*) AS total FROM catalog_history WHERE ${isOfSubscription}`, id);
  const { rows, total } = await readPage<HistoryRow>(history, lines, count);
  return ok({ history: rows.map(toEntry), total });
};

interface HistoryRow extends Pick<ModelsHistoryEntry, "at" | "kind"> {
  readonly model_id: string;
  readonly before: string | null;
  readonly after: string | null;
}

const toEntry = (row: HistoryRow): ModelsHistoryEntry => {
  const [before, after] = [modelOf(row.before), modelOf(row.after)];
  return {
    at: row.at,
    kind: row.kind,
    modelId: row.model_id,
    before: before.model,
    after: after.model,
    priceBefore: before.price,
    priceAfter: after.price,
  };
};

/** Entries of earlier releases have no price. */
const modelOf = (text: string | null): { model: CatalogModel | null; price: ModelPrice | null } => {
  if (text === null) return { model: null, price: null };
  const { price = null, ...model } = JSON.parse(text) as CatalogModel & { price?: ModelPrice };
  return { model, price };
};

/** For retention: deletes up to `limit` entries older than `beforeAt`; returns how many were deleted. */
export const pruneHistory = async (db: D1Database, beforeAt: number, limit: number): Promise<number> => {
  const result = await db
    .prepare(
      `DELETE FROM catalog_history WHERE rowid IN (SELECT rowid FROM catalog_history WHERE at < ?1 AND ${isHere("catalog_history.tenant")} ORDER BY at LIMIT ?2)`,
    )
    .bind(beforeAt, limit)
    .run();
  return result.meta.changes;
};
