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
import { listing, type PageQuery } from "./listing.ts";
import { type CallOptions, pathOf, type QueryOf, type Transport } from "./transport.ts";

export const catalogVerbs = (transport: Transport) => ({
  providers: (options?: CallOptions) =>
    transport.json<ProviderList>({ method: "GET", path: "/catalog/providers", options }),
  subscriptions: (options?: CallOptions) =>
    transport.json<SubscriptionList>({ method: "GET", path: "/catalog/subscriptions", options }),
  subscription: (id: string, options?: CallOptions) =>
    transport.json<SubscriptionDetail>({ method: "GET", path: pathOf`/catalog/subscriptions/${id}`, options }),
  subscribe: (subscription: NewSubscriptionRequest, options?: CallOptions) =>
    transport.json<SubscriptionResource>({
      method: "POST",
      path: "/catalog/subscriptions",
      body: subscription,
      options,
    }),
  edit: (id: string, changes: SubscriptionPatchRequest, options?: CallOptions) =>
    transport.json<SubscriptionResource>({
      method: "PATCH",
      path: pathOf`/catalog/subscriptions/${id}`,
      body: changes,
      options,
    }),
  unsubscribe: (id: string, options?: CallOptions) =>
    transport.nothing({ method: "DELETE", path: pathOf`/catalog/subscriptions/${id}`, options }),
  models: (id: string, options?: CallOptions) =>
    transport.json<ModelList>({ method: "GET", path: pathOf`/catalog/subscriptions/${id}/models`, options }),
  history: (id: string, query: QueryOf<PageQuery> = {}, options?: CallOptions) =>
    listing(
      query,
      (asked) =>
        transport.json<CatalogHistoryList>({
          method: "GET",
          path: pathOf`/catalog/subscriptions/${id}/history`,
          query: asked,
          options,
        }),
      ({ history }) => history,
    ),
  sync: (id: string, options?: CallOptions) =>
    transport.json<SyncAnswer>({
      method: "POST",
      path: pathOf`/catalog/subscriptions/${id}/sync`,
      body: {},
      options,
    }),
});
