// Webhooks on the wire (Standard Webhooks 1.0.0).

import * as z from "zod";
import { DELIVERY_STATUSES, type Delivery, WEBHOOK_EVENTS, type Webhook } from "../domain/webhook.ts";
import {
  changeOf,
  count,
  identifier,
  instant,
  label,
  listQuery,
  page,
  tags,
  toIso,
  toIsoOrNull,
} from "./words/field.ts";
import { WEBHOOK_SECRET_PREFIX } from "./words/values.ts";

const MAX_URL_CHARACTERS = 2048;

const url = z.string().min(1, "must not be empty").max(MAX_URL_CHARACTERS).meta({
  description: "a public https address; redirects are not followed",
});
const events = z
  .array(z.enum(WEBHOOK_EVENTS))
  .min(1, "must name at least one event")
  .meta({ description: "the events that the endpoint gets" });
const jobTags = tags.meta({
  description: "only jobs that have all of these tags; events that are not about jobs are always sent",
});
const description = label(500);

export const newWebhookRequest = z
  .strictObject({ url, events, tags: jobTags.optional(), description: description.nullish() })
  .meta({ id: "NewWebhook" });

export const patchWebhookRequest = changeOf({
  url: url.optional(),
  events: events.optional(),
  tags: jobTags.optional(),
  description: description.nullish(),
  enabled: z.boolean().optional().meta({ description: "true enables a disabled webhook again" }),
}).meta({ id: "WebhookPatch", examples: [{ enabled: true }] });

export const webhookResource = z
  .object({
    id: z.string(),
    url: z.string(),
    events: z.array(z.enum(WEBHOOK_EVENTS)),
    tags: z.array(z.string()),
    description: z.string().nullable(),
    enabled: z.boolean(),
    disabled_at: instant.nullable(),
    disabled_reason: z.string().nullable(),
    failing_since: instant.nullable(),
    created_at: instant,
  })
  .meta({ id: "Webhook" });

export const webhookWithSecret = webhookResource
  .extend({ secret: z.string().meta({ description: "`whsec_…`; shown only once" }) })
  .meta({ id: "WebhookWithSecret" });

export const webhookList = z.object({ webhooks: z.array(webhookResource) }).meta({ id: "WebhookList" });

export const deliveryResource = z
  .object({
    id: z.string().meta({ description: "the `webhook-id` header, the same for all tries" }),
    event: z.enum([...WEBHOOK_EVENTS, "webhook.test"]),
    at: instant,
    attempts: count,
    status: z.enum(DELIVERY_STATUSES),
    response_status: z.int().nullable(),
    error: z.string().nullable().meta({
      description: "why the last try failed, or that the delivery was dropped, because too many newer ones waited",
    }),
    next_attempt_at: instant.nullable(),
  })
  .meta({ id: "WebhookDelivery" });

export const deliveryList = z
  .object({ deliveries: z.array(deliveryResource), ...page })
  .meta({ id: "WebhookDeliveryList" });

export const webhookIdParam = z.object({
  id: identifier(/^[A-Za-z0-9_-]+$/, 64, "characters from A-Z a-z 0-9 _ -"),
});
export const deliveryListQuery = z.strictObject({ ...listQuery, status: z.enum(DELIVERY_STATUSES).optional() });

export type NewWebhookRequest = z.infer<typeof newWebhookRequest>;
export type PatchWebhookRequest = z.infer<typeof patchWebhookRequest>;
export type WebhookResource = z.infer<typeof webhookResource>;
export type WebhookWithSecret = z.infer<typeof webhookWithSecret>;
export type WebhookList = z.infer<typeof webhookList>;
export type DeliveryListQuery = z.infer<typeof deliveryListQuery>;
export type DeliveryList = z.infer<typeof deliveryList>;
export type DeliveryResource = z.infer<typeof deliveryResource>;

export const presentWebhook = (webhook: Webhook): WebhookResource => ({
  id: webhook.id,
  url: webhook.url,
  events: [...webhook.events],
  tags: [...webhook.tags],
  description: webhook.description === "" ? null : webhook.description,
  enabled: webhook.disabledAt === null,
  disabled_at: toIsoOrNull(webhook.disabledAt),
  disabled_reason: webhook.disabledReason,
  failing_since: toIsoOrNull(webhook.failingSinceAt),
  created_at: toIso(webhook.createdAt),
});

export const presentWithSecret = (webhook: Webhook): WebhookWithSecret => ({
  ...presentWebhook(webhook),
  secret: `${WEBHOOK_SECRET_PREFIX}${webhook.secret}`,
});

export const presentDelivery = (delivery: Delivery): DeliveryResource => ({
  id: delivery.id,
  event: delivery.event,
  at: toIso(delivery.at),
  attempts: delivery.attempts,
  status: delivery.status,
  response_status: delivery.responseStatus,
  error: delivery.error,
  next_attempt_at: toIsoOrNull(delivery.nextAttemptAt),
});
