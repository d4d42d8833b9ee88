// The catalog on the wire: providers, subscriptions, their models and history.

import * as z from "zod";
import type { ProviderDefinition } from "../domain/catalog/catalog.ts";
import type { ModelPrice } from "../domain/catalog/catalog-price.ts";
import type {
  ModelsHistoryEntry,
  ModelsSnapshot,
  Subscription,
  SyncReport,
} from "../domain/catalog/catalog-subscription.ts";
import { usdFromNano } from "../domain/money/price.ts";
import {
  changeOf,
  count,
  cronText,
  identifier,
  instant,
  listQuery,
  page,
  providerName,
  toIso,
  toIsoOrNull,
} from "./words/field.ts";

const MAX_URL_CHARACTERS = 2048;

export const providerResource = z
  .object({
    provider: z.string(),
    list_url: z.string(),
    method: z.enum(["GET", "POST"]),
    auth: z
      .object({ header: z.string(), ref: z.string() })
      .nullable()
      .meta({ description: "null: no key is needed. `ref` names a key in the vault; it is not the key itself" }),
    local: z.boolean(),
  })
  .meta({ id: "CatalogProvider" });

export const providerList = z.object({ providers: z.array(providerResource) }).meta({ id: "CatalogProviderList" });

const syncSchedule = cronText.min(1, "must not be empty").meta({
  description: "five-field cron in UTC; each subscription runs up to half an hour after the time it gives",
  example: "0 */6 * * *",
});

const syncUrl = z.string().min(1, "must not be empty").max(MAX_URL_CHARACTERS).meta({
  description:
    "where the list is, if not at the provider's list_url; https; on another host it is fetched without the key",
});

export const newSubscriptionRequest = z
  .strictObject({
    provider: providerName,
    models_sync_schedule: syncSchedule.nullish(),
    models_sync_url: syncUrl.nullish(),
  })
  .meta({ id: "NewSubscription" });

export const subscriptionPatchRequest = changeOf({
  models_sync_schedule: syncSchedule.nullish(),
  models_sync_url: syncUrl.nullish(),
}).meta({ id: "SubscriptionPatch", examples: [{ models_sync_schedule: "0 6 * * *" }] });

export const subscriptionResource = z
  .object({
    id: z.string(),
    provider: z.string(),
    models_sync_schedule: z.string(),
    models_sync_url: z.string().nullable(),
    model_count: count,
    models_synced_at: instant.nullable(),
    next_sync_at: instant.nullable().meta({ description: "null where SERVICE_CATALOG_SYNC=0 turns syncs off" }),
    last_error: z.string().nullable(),
    last_error_at: instant.nullable(),
  })
  .meta({ id: "Subscription" });

export const subscriptionList = z
  .object({ subscriptions: z.array(subscriptionResource) })
  .meta({ id: "SubscriptionList" });

export const subscriptionIdParam = z.object({ id: identifier(/^[A-Za-z0-9_]+$/, 64, "letters, digits and _") });

export const catalogModel = z
  .object({ id: z.string(), name: z.string(), context_window: z.int().min(1).optional() })
  .meta({ id: "CatalogModel" });

/** One subscription, with what its last sync found. */
export const subscriptionDetail = subscriptionResource
  .extend({
    provided_models: z.array(catalogModel).meta({ description: "of the last successful sync, ordered by id" }),
  })
  .meta({ id: "SubscriptionDetail" });

export const listedPrice = z
  .object({
    input_per_mtok: z.number(),
    output_per_mtok: z.number(),
    cached_input_per_mtok: z.number().optional(),
    per_request: z.number().optional(),
  })
  .meta({ id: "CatalogPrice", description: "US dollars, as the provider lists them" });

export const modelList = z
  .object({
    models: z.array(catalogModel),
    prices: z
      .record(z.string(), listedPrice)
      .optional()
      .meta({ description: "by model id, of those that the provider prices" }),
    models_synced_at: instant.nullable(),
  })
  .meta({ id: "CatalogModelList" });

export const historyQuery = z.strictObject(listQuery);

export const catalogHistoryList = z
  .object({
    history: z.array(
      z.object({
        at: instant,
        kind: z.enum(["added", "removed", "changed"]),
        model_id: z.string(),
        before: catalogModel.nullable(),
        after: catalogModel.nullable(),
        price_before: listedPrice.optional(),
        price_after: listedPrice.optional().meta({ description: "where it alone moved, before and after are equal" }),
      }),
    ),
    ...page,
  })
  .meta({ id: "CatalogHistory" });

export const syncAnswer = z
  .object({
    changed: z.boolean(),
    added: count,
    removed: count,
    updated: count,
    repriced: count.optional().meta({ description: "listed as before, at another price; absent where none is" }),
    models_synced_at: instant,
  })
  .meta({ id: "SyncResult" });

export type NewSubscriptionRequest = z.infer<typeof newSubscriptionRequest>;
export type SubscriptionPatchRequest = z.infer<typeof subscriptionPatchRequest>;
export type ProviderResource = z.infer<typeof providerResource>;
export type ProviderList = z.infer<typeof providerList>;
export type SubscriptionResource = z.infer<typeof subscriptionResource>;
export type SubscriptionDetail = z.infer<typeof subscriptionDetail>;
export type SubscriptionList = z.infer<typeof subscriptionList>;
export type ListedPrice = z.infer<typeof listedPrice>;
export type ModelList = z.infer<typeof modelList>;
export type CatalogHistoryList = z.infer<typeof catalogHistoryList>;
export type SyncAnswer = z.infer<typeof syncAnswer>;

export const presentProvider = (config: ProviderDefinition): ProviderResource => ({
  provider: config.provider,
  list_url: config.list_url,
  method: config.method,
  auth: config.auth ?? null,
  local: config.local,
});

export const presentSubscription = (subscription: Subscription): SubscriptionResource => ({
  id: subscription.id,
  provider: subscription.provider,
  models_sync_schedule: subscription.modelsSyncSchedule,
  models_sync_url: subscription.modelsSyncUrl,
  model_count: subscription.modelCount,
  models_synced_at: toIsoOrNull(subscription.modelsSyncedAt),
  next_sync_at: toIsoOrNull(subscription.nextSyncAt),
  last_error: subscription.lastError,
  last_error_at: toIsoOrNull(subscription.lastErrorAt),
});

const presentPrice = (price: ModelPrice): ListedPrice => {
  const { cached_input_nano_per_mtok: cached, request_nano: request } = price;
  return {
    input_per_mtok: usdFromNano(price.input_nano_per_mtok),
    output_per_mtok: usdFromNano(price.output_nano_per_mtok),
    ...(cached === undefined ? {} : { cached_input_per_mtok: usdFromNano(cached) }),
    ...(request === undefined ? {} : { per_request: usdFromNano(request) }),
  };
};

export const presentSnapshot = (snapshot: ModelsSnapshot): ModelList => ({
  models: [...snapshot.models],
  ...(snapshot.prices.size === 0
    ? {}
    : { prices: Object.fromEntries([...snapshot.prices].map(([id, price]) => [id, presentPrice(price)])) }),
  models_synced_at: toIsoOrNull(snapshot.subscription.modelsSyncedAt),
});

export const presentHistory = (
  found: { history: readonly ModelsHistoryEntry[]; total: number },
  query: { limit: number; offset: number },
): CatalogHistoryList => ({
  history: found.history.map((entry) => ({
    at: toIso(entry.at),
    kind: entry.kind,
    model_id: entry.modelId,
    before: entry.before,
    after: entry.after,
    ...(entry.priceBefore === null ? {} : { price_before: presentPrice(entry.priceBefore) }),
    ...(entry.priceAfter === null ? {} : { price_after: presentPrice(entry.priceAfter) }),
  })),
  total: found.total,
  ...query,
});

export const presentSync = (report: SyncReport): SyncAnswer => ({
  changed: report.isChanged,
  added: report.added.length,
  removed: report.removed.length,
  updated: report.updated.length,
  ...(report.repriced.length === 0 ? {} : { repriced: report.repriced.length }),
  models_synced_at: toIso(report.modelsSyncedAt),
});
