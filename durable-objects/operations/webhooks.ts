// Webhooks: kept by the tenant's admins. Secrets are made at the edge and shown once.

import {
  type DeliveryResource,
  presentDelivery,
  presentWebhook,
  presentWithSecret,
  type WebhookResource,
  type WebhookWithSecret,
} from "../../contract/webhook.ts";
import {
  type Delivery,
  type DeliveryStatus,
  DISABLED_REASONS,
  disabled,
  redelivered,
  rotated,
  type Webhook,
} from "../../domain/webhook.ts";
import { invalid, notFound, type Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import { firstTryAt, putDelivery, putWebhook, write } from "../steps/deliveries.ts";
import { countIdle } from "../steps/idle-workers.ts";
import { isSilenceWanted, noteSilentBefore } from "../steps/silence.ts";
import { lookForWanted } from "../steps/wanted.ts";
import { isIdleWanted } from "../turn/idleness.ts";
import type { Turn } from "../turn/turn.ts";

export const MAX_WEBHOOKS = 50;

type Chosen = Pick<Webhook, "url" | "events" | "tags" | "description">;

export type NewWebhook = Chosen & Pick<Webhook, "id" | "secret" | "origin">;

export type WebhookPatch = Partial<Chosen> & { readonly enabled?: boolean };

/** Its deliveries, and what it is to be told of workers and groups, may be due now. */
const putAndLook = (turn: Turn, webhook: Webhook): void => {
  const wasWanted = isSilenceWanted(turn);
  const wasIdleWanted = isIdleWanted(turn);
  putWebhook(turn, webhook);
  noteSilentBefore(turn, wasWanted);
  countIdle(turn, wasIdleWanted);
  lookForWanted(turn);
  turn.due(turn.nowAt);
};

const find = (turn: Turn, id: string): Result<Webhook, Refusal> => {
  const webhook = turn.memory.webhooks.find((one) => one.id === id);
  return webhook === undefined ? err(notFound("webhook", id)) : ok(webhook);
};

export const create = (turn: Turn, request: NewWebhook): Result<WebhookWithSecret, Refusal> => {
  if (turn.memory.webhooks.length >= MAX_WEBHOOKS)
    return err(invalid("", `a tenant has at most ${MAX_WEBHOOKS} webhooks: delete one first`));
  const webhook: Webhook = {
    ...request,
    previousSecret: null,
    previousUntilAt: null,
    disabledAt: null,
    disabledReason: null,
    failingSinceAt: null,
    createdAt: turn.nowAt,
  };
  putAndLook(turn, webhook);
  turn.audit("webhook.created", webhook.id, { url: webhook.url, events: [...webhook.events] });
  return ok(presentWithSecret(webhook));
};

export const list = (turn: Turn): Result<{ webhooks: WebhookResource[] }, Refusal> =>
  ok({ webhooks: turn.memory.webhooks.map(presentWebhook) });

export const get = (turn: Turn, { id }: { id: string }): Result<WebhookResource, Refusal> => {
  const found = find(turn, id);
  return found.ok ? ok(presentWebhook(found.value)) : found;
};

export const patch = (turn: Turn, request: { id: string; patch: WebhookPatch }): Result<WebhookResource, Refusal> => {
  const found = find(turn, request.id);
  if (!found.ok) return found;
  const { enabled, ...fields } = request.patch;
  const webhook = switched({ ...found.value, ...fields }, enabled, turn.nowAt);
  putAndLook(turn, webhook);
  turn.audit("webhook.changed", webhook.id, { url: webhook.url, fields: Object.keys(request.patch) });
  return ok(presentWebhook(webhook));
};

const switched = (webhook: Webhook, enabled: boolean | undefined, nowAt: number): Webhook => {
  if (enabled === undefined || enabled === (webhook.disabledAt === null)) return webhook;
  if (!enabled) return disabled(webhook, DISABLED_REASONS.operator, nowAt);
  return { ...webhook, disabledAt: null, disabledReason: null, isGivingUp: false, failingSinceAt: null };
};

export const remove = (turn: Turn, { id }: { id: string }): Result<null, Refusal> => {
  const found = find(turn, id);
  if (!found.ok) return found;
  turn.store.webhooks.remove(id);
  turn.memory.deliveries.pending.delete(id);
  turn.memory.deliveries.slow.delete(id);
  turn.memory.webhooks = turn.store.webhooks.all();
  turn.due(turn.nowAt);
  turn.audit("webhook.deleted", id, { url: found.value.url });
  return ok(null);
};

export const rotate = (turn: Turn, request: { id: string; secret: string }): Result<WebhookWithSecret, Refusal> => {
  const found = find(turn, request.id);
  if (!found.ok) return found;
  const webhook = rotated(found.value, request.secret, turn.nowAt);
  putWebhook(turn, webhook);
  turn.audit("webhook.rotated", webhook.id, { url: webhook.url });
  return ok(presentWithSecret(webhook));
};

/** The tenant has moved: links in its webhooks' events lead to where it is now. */
export const relink = (turn: Turn, origin: string): void => {
  for (const webhook of turn.memory.webhooks) putWebhook(turn, { ...webhook, origin });
};

export const test = (turn: Turn, { id }: { id: string }): Result<DeliveryResource, Refusal> => {
  const found = find(turn, id);
  if (!found.ok) return found;
  return ok(presentDelivery(write(turn, found.value, "webhook.test", { webhook: id })));
};

export const listDeliveries = (
  turn: Turn,
  request: { id: string; status: DeliveryStatus | null; limit: number; offset: number },
): Result<{ deliveries: DeliveryResource[]; total: number }, Refusal> => {
  const found = find(turn, request.id);
  if (!found.ok) return found;
  const { id, status, limit, offset } = request;
  return ok({
    deliveries: turn.store.deliveries.page(id, status, limit, offset).map(presentDelivery),
    total: turn.store.deliveries.count(id, status),
  });
};

export const redeliver = (turn: Turn, { id }: { id: string }): Result<DeliveryResource, Refusal> => {
  const before: Delivery | null = turn.store.deliveries.find(id);
  if (before === null || !find(turn, before.webhookId).ok) return err(notFound("delivery", id));
  const delivery = redelivered(before, firstTryAt(turn, id));
  putDelivery(turn, before, delivery);
  turn.due(delivery.nextAttemptAt);
  turn.audit("webhook.redelivered", before.webhookId, { delivery: id });
  return ok(presentDelivery(delivery));
};
