// What providers' catalogs list: one row per model, so that no list is too long for a row.

import type { ModelPrice } from "../../domain/catalog/catalog-price.ts";
import { all, type Sql } from "./sql.ts";

/** The result of the last sync of a provider's catalog. */
export interface CatalogFacts {
  readonly models: ReadonlySet<string>;
  /** Models that are no longer listed: id → when, in that order. */
  readonly removed: ReadonlyMap<string, number>;
  readonly prices: ReadonlyMap<string, ModelPrice>;
}

/** A statement's rows are split well below the platform's 2 MB limit for a bound value. */
const MODELS_A_STATEMENT = 1_000;

interface ModelRow {
  readonly provider: string;
  readonly model: string;
  readonly removedAt: number | null;
  /** JSON. */
  readonly price: string | null;
}

export const catalogTable = (sql: Sql) => ({
  /** By provider. */
  all: (): Map<string, CatalogFacts> => {
    const catalog = new Map<
      string,
      { models: Set<string>; removed: Map<string, number>; prices: Map<string, ModelPrice> }
    >();
    const query = `SELECT provider, model, removed_at AS removedAt, price FROM catalog_models ORDER BY removed_at`;
    for (const { provider, model, removedAt, price } of all<ModelRow>(sql, query)) {
      const facts = catalog.get(provider) ?? { models: new Set(), removed: new Map(), prices: new Map() };
      catalog.set(provider, facts);
      if (removedAt === null) facts.models.add(model);
      else facts.removed.set(model, removedAt);
      if (price !== null) facts.prices.set(model, JSON.parse(price));
    }
    return catalog;
  },

  /** Replaces everything known of the provider; null removes it. */
  replace: (provider: string, facts: CatalogFacts | null): void => {
    sql.exec("DELETE FROM catalog_models WHERE provider = ?", provider);
    if (facts === null) return;
    const rows = [
      ...[...facts.models].map((model) => [model, null, priceText(facts.prices.get(model))]),
      ...[...facts.removed].map(([model, removedAt]) => [model, removedAt, null]),
    ];
    for (let at = 0; at < rows.length; at += MODELS_A_STATEMENT) {
      sql.exec(
        `INSERT OR REPLACE INTO catalog_models (provider, model, removed_at, price)
         SELECT ?1, value ->> 0, value ->> 1, value ->> 2 FROM json_each(?2)`,
        provider,
        JSON.stringify(rows.slice(at, at + MODELS_A_STATEMENT)),
      );
    }
  },
});

const priceText = (price: ModelPrice | undefined): string | null =>
  price === undefined ? null : JSON.stringify(price);
