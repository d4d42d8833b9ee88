// Webhooks: endpoints, and their deliveries.

import type {
  DeliveryList,
  DeliveryListQuery,
  DeliveryResource,
  NewWebhookRequest,
  PatchWebhookRequest,
  WebhookList,
  WebhookResource,
  WebhookWithSecret,
} from "../webhook.ts";
import { listing } from "./listing.ts";
import { type CallOptions, pathOf, type QueryOf, type Transport } from "./transport.ts";

export const webhookVerbs = (transport: Transport) => ({
  /** Only this answer contains the secret. */
  create: (webhook: NewWebhookRequest, options?: CallOptions) =>
    transport.json<WebhookWithSecret>({ method: "POST", path: "/api/webhooks", body: webhook, options }),
  list: (options?: CallOptions) => transport.json<WebhookList>({ method: "GET", path: "/api/webhooks", options }),
  get: (id: string, options?: CallOptions) =>
    transport.json<WebhookResource>({ method: "GET", path: pathOf`/api/webhooks/${id}`, options }),
  edit: (id: string, changes: PatchWebhookRequest, options?: CallOptions) =>
    transport.json<WebhookResource>({ method: "PATCH", path: pathOf`/api/webhooks/${id}`, body: changes, options }),
  remove: (id: string, options?: CallOptions) =>
    transport.nothing({ method: "DELETE", path: pathOf`/api/webhooks/${id}`, options }),
  /** A new secret; the old one also signs for 24 hours. */
  rotate: (id: string, options?: CallOptions) =>
    transport.json<WebhookWithSecret>({ method: "POST", path: pathOf`/api/webhooks/${id}/rotate`, body: {}, options }),
  test: (id: string, options?: CallOptions) =>
    transport.json<DeliveryResource>({ method: "POST", path: pathOf`/api/webhooks/${id}/test`, body: {}, options }),
  deliveries: (id: string, query: QueryOf<DeliveryListQuery> = {}, options?: CallOptions) =>
    listing(
      query,
      (asked) =>
        transport.json<DeliveryList>({
          method: "GET",
          path: pathOf`/api/webhooks/${id}/deliveries`,
          query: asked,
          options,
        }),
      ({ deliveries }) => deliveries,
    ),
  redeliver: (id: string, options?: CallOptions) =>
    transport.json<DeliveryResource>({
      method: "POST",
      path: pathOf`/api/webhooks/deliveries/${id}/redeliver`,
      body: {},
      options,
    }),
});
