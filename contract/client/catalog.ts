// The catalog: providers, and subscriptions to their model lists.

import type {
  CatalogHistoryList,
  ModelList,
  NewSubscriptionRequest,
  ProviderList,
  SubscriptionDetail,
  SubscriptionList,
  SubscriptionPatchRequest,
  SubscriptionResource,
  SyncAnswer,
} from "../catalog.ts";
import { listAt, type PageQuery } from "./listing.ts";
import { type CallOptions, pathOf, type QueryOf, type Transport } from "./transport.ts";

export const catalogVerbs = (transport: Transport) => ({
  providers: (options?: CallOptions) => transport.get<ProviderList>("/catalog/providers", options),
  subscriptions: (options?: CallOptions) => transport.get<SubscriptionList>("/catalog/subscriptions", options),
  subscription: (id: string, options?: CallOptions) =>
    transport.get<SubscriptionDetail>(pathOf`/catalog/subscriptions/${id}`, options),
  subscribe: (subscription: NewSubscriptionRequest, options?: CallOptions) =>
    transport.post<SubscriptionResource>("/catalog/subscriptions", subscription, options),
  edit: (id: string, changes: SubscriptionPatchRequest, options?: CallOptions) =>
    transport.patch<SubscriptionResource>(pathOf`/catalog/subscriptions/${id}`, changes, options),
  unsubscribe: (id: string, options?: CallOptions) => transport.remove(pathOf`/catalog/subscriptions/${id}`, options),
  models: (id: string, options?: CallOptions) =>
    transport.get<ModelList>(pathOf`/catalog/subscriptions/${id}/models`, options),
  history: (id: string, query: QueryOf<PageQuery> = {}, options?: CallOptions) =>
    listAt(
      transport,
      pathOf`/catalog/subscriptions/${id}/history`,
      query,
      ({ history }: CatalogHistoryList) => history,
      options,
    ),
  sync: (id: string, options?: CallOptions) =>
    transport.post<SyncAnswer>(pathOf`/catalog/subscriptions/${id}/sync`, {}, options),
});
