// A subscription's stored models, and the statements that replace them by the new list. Only differences are written.
// Rows are sent as JSON arrays, one parameter each, in pieces well below the platform's limits.

import type { CatalogChange, ListedModel } from "../../domain/catalog/catalog.ts";
import type { TenantHistory } from "../history/tenant-history.ts";
import type { HeldSubscription } from "./sync-lease.ts";

const PIECE_MAX_ROWS = 1_000;

interface ModelRow {
  model_id: string;
  name: string;
  context_window: number | null;
  input_nano_per_mtok: number | null;
  output_nano_per_mtok: number | null;
  cached_input_nano_per_mtok: number | null;
  request_nano: number | null;
}

const MODEL_COLUMNS = `model_id, name, context_window, input_nano_per_mtok, output_nano_per_mtok,
  cached_input_nano_per_mtok, request_nano`;

export const storedModels = async (history: TenantHistory, id: string): Promise<Map<string, ListedModel>> => {
  const { results } = await history
    .statement(`SELECT ${MODEL_COLUMNS} FROM catalog_models WHERE tenant = ?1 AND subscription_id = ?2`, id)
    .all<ModelRow>();
  return new Map(results.map((row) => [row.model_id, toModel(row)]));
};

/**
 * What a provider lists over all of the tenant's subscriptions to it, the latest sync last; null if none of them has a
 * list.
 */
export const modelsOfProvider = async (history: TenantHistory, provider: string): Promise<ListedModel[] | null> => {
  const { results } = await history
    .statement(
      `SELECT ${MODEL_COLUMNS} FROM catalog_subscriptions AS one
       LEFT JOIN catalog_models ON catalog_models.tenant = one.tenant AND subscription_id = one.id
       WHERE one.tenant = ?1 AND provider = ?2 AND models_synced_at IS NOT NULL
       ORDER BY models_synced_at, one.id`,
      provider,
    )
    .all<Omit<ModelRow, "model_id"> & { model_id: string | null }>();
  if (results.length === 0) return null;
  return results.flatMap((row) => (row.model_id === null ? [] : [toModel({ ...row, model_id: row.model_id })]));
};

const toModel = (row: ModelRow): ListedModel => {
  const { input_nano_per_mtok: input, output_nano_per_mtok: output } = row;
  const price =
    input === null || output === null
      ? {}
      : {
          price: {
            input_nano_per_mtok: input,
            output_nano_per_mtok: output,
            ...(row.cached_input_nano_per_mtok === null
              ? {}
              : { cached_input_nano_per_mtok: row.cached_input_nano_per_mtok }),
            ...(row.request_nano === null ? {} : { request_nano: row.request_nano }),
          },
        };
  const contextWindow = row.context_window === null ? {} : { context_window: row.context_window };
  return { id: row.model_id, name: row.name, ...contextWindow, ...price };
};

/** The models after the changes. */
export const modelsToWrite = (changes: readonly CatalogChange[]): ListedModel[] =>
  changes.map(({ after }) => after).filter((model) => model !== null);

export const writeModels = (
  history: TenantHistory,
  id: string,
  models: readonly ListedModel[],
): D1PreparedStatement[] => {
  const rows = models.map((model) => [
    model.id,
    model.name,
    model.context_window ?? null,
    model.price?.input_nano_per_mtok ?? null,
    model.price?.output_nano_per_mtok ?? null,
    model.price?.cached_input_nano_per_mtok ?? null,
    model.price?.request_nano ?? null,
  ]);
  return pieces(rows).map((piece) =>
    history.statement(
      `INSERT OR REPLACE INTO catalog_models (tenant, subscription_id, model_id, name, context_window,
           input_nano_per_mtok, output_nano_per_mtok, cached_input_nano_per_mtok, request_nano)
         SELECT ?1, ?2, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6
         FROM json_each(?3)`,
      id,
      JSON.stringify(piece),
    ),
  );
};

export const removeModels = (history: TenantHistory, id: string, modelIds: readonly string[]): D1PreparedStatement[] =>
  pieces(modelIds).map((piece) =>
    history.statement(
      `DELETE FROM catalog_models
         WHERE tenant = ?1 AND subscription_id = ?2 AND model_id IN (SELECT value FROM json_each(?3))`,
      id,
      JSON.stringify(piece),
    ),
  );

/** Numbered on from the changes that there are. */
export const appendHistory = (
  { history, id, historyCount }: HeldSubscription,
  changes: readonly CatalogChange[],
  at: number,
): D1PreparedStatement[] => {
  const text = (model: unknown) => (model === null ? null : JSON.stringify(model));
  const rows = changes.map((change, index) => [
    historyCount + 1 + index,
    change.kind,
    change.model_id,
    text(change.before),
    text(change.after),
  ]);
  return pieces(rows).map((piece) =>
    history.statement(
      `INSERT INTO catalog_history (tenant, subscription_id, seq, at, kind, model_id, before, after)
         SELECT ?1, ?2, value ->> 0, ?4, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?3)`,
      id,
      JSON.stringify(piece),
      at,
    ),
  );
};

const pieces = <T>(rows: readonly T[]): T[][] => {
  const count = Math.ceil(rows.length / PIECE_MAX_ROWS);
  return Array.from({ length: count }, (_, index) => rows.slice(index * PIECE_MAX_ROWS, (index + 1) * PIECE_MAX_ROWS));
};
