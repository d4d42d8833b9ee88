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
import { listAt } from "./listing.ts";
import { type CallOptions, pathOf, type QueryOf, type Transport } from "./transport.ts";

export const webhookVerbs = (transport: Transport) => ({
  /** Only this answer contains the secret. */
  create: (webhook: NewWebhookRequest, options?: CallOptions) =>
    transport.post<WebhookWithSecret>("/api/webhooks", webhook, options),
  list: (options?: CallOptions) => transport.get<WebhookList>("/api/webhooks", options),
  get: (id: string, options?: CallOptions) => transport.get<WebhookResource>(pathOf`/api/webhooks/${id}`, options),
  edit: (id: string, changes: PatchWebhookRequest, options?: CallOptions) =>
    transport.patch<WebhookResource>(pathOf`/api/webhooks/${id}`, changes, options),
  remove: (id: string, options?: CallOptions) => transport.remove(pathOf`/api/webhooks/${id}`, options),
  /** A new secret; the old one also signs for 24 hours. */
  rotate: (id: string, options?: CallOptions) =>
    transport.post<WebhookWithSecret>(pathOf`/api/webhooks/${id}/rotate`, {}, options),
  test: (id: string, options?: CallOptions) =>
    transport.post<DeliveryResource>(pathOf`/api/webhooks/${id}/test`, {}, options),
  deliveries: (id: string, query: QueryOf<DeliveryListQuery> = {}, options?: CallOptions) =>
    listAt(
      transport,
      pathOf`/api/webhooks/${id}/deliveries`,
      query,
      ({ deliveries }: DeliveryList) => deliveries,
      options,
    ),
  redeliver: (id: string, options?: CallOptions) =>
    transport.post<DeliveryResource>(pathOf`/api/webhooks/deliveries/${id}/redeliver`, {}, options),
});
