// Webhooks (Standard Webhooks 1.0.0): endpoints, their deliveries, and redelivery.

import {
  deliveryList,
  deliveryListQuery,
  deliveryResource,
  newWebhookRequest,
  patchWebhookRequest,
  webhookIdParam,
  webhookList,
  webhookResource,
  webhookWithSecret,
} from "../../contract/webhook.ts";
import { invalid } from "../../domain/words/refusal.ts";
import { checkUrl } from "../catalog/url-policy.ts";
import { operation } from "../endpoint/operation.ts";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import type { Env } from "../env.ts";
import { answer } from "../http/answer.ts";
import { randomSecret } from "../http/key-format.ts";
import { publicOrigin } from "../http/public-address.ts";
import { Refused } from "../http/refused.ts";
import { ask } from "../tenant/ask.ts";
import { asks } from "../tenant/asks.ts";

const BASE = { tag: "Webhooks" } as const;
const ONE = { ...BASE, path: "/api/webhooks/{id}", params: webhookIdParam } as const;
const answers = { 200: { description: "The webhook.", schema: webhookResource } } as const;
const withSecret = {
  description: "The webhook with its secret; the secret is shown only once.",
  schema: webhookWithSecret,
} as const;

/**
 * Public addresses only, unless the operator of this machine allows private ones; the same rules as for the catalog.
 */
const refusePrivateUrl = (env: Env, url: string | undefined): void => {
  if (url === undefined) return;
  const isPrivateAllowed = env.SERVICE_WEBHOOKS_PRIVATE === "1" && env.LOCAL_NETWORK !== undefined;
  const wrong = checkUrl(url, isPrivateAllowed);
  if (wrong !== null) throw new Refused(invalid("url", wrong));
};

const create = operation(
  "createWebhook",
  {
    ...BASE,
    method: "post",
    path: "/api/webhooks",
    summary: "Create a webhook",
    description:
      "Each event is sent as a signed POST until it is answered with 2xx: at once, then after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h.",
    body: newWebhookRequest,
    answers: { 201: withSecret },
  },
  ({ body }, c) => {
    refusePrivateUrl(c.env, body.url);
    const { id, secret } = randomSecret();
    return {
      id: `wh_${id}`,
      secret,
      url: body.url,
      origin: publicOrigin(c),
      events: [...new Set(body.events)],
      tags: body.tags ?? [],
      description: body.description ?? "",
    };
  },
);

const list = operation(
  "listWebhooks",
  {
    ...BASE,
    method: "get",
    path: "/api/webhooks",
    summary: "List all webhooks, newest first",
    answers: { 200: { description: "The webhooks, without their secrets.", schema: webhookList } },
  },
  () => null,
);

const get = operation(
  "getWebhook",
  { ...ONE, method: "get", summary: "Read a webhook", answers },
  ({ params }) => params,
);

const patch = operation(
  "patchWebhook",
  {
    ...ONE,
    method: "patch",
    summary: "Change a webhook",
    description: "`enabled: true` enables a disabled webhook again.",
    body: patchWebhookRequest,
    answers,
  },
  ({ params, body }, c) => {
    refusePrivateUrl(c.env, body.url);
    const { url, events, tags, description, enabled } = body;
    const change = {
      ...(url === undefined ? {} : { url }),
      ...(events === undefined ? {} : { events: [...new Set(events)] }),
      ...(tags === undefined ? {} : { tags }),
      ...(description === undefined ? {} : { description: description ?? "" }),
      ...(enabled === undefined ? {} : { enabled }),
    };
    return { ...params, patch: change };
  },
);

const remove = operation(
  "deleteWebhook",
  {
    ...ONE,
    method: "delete",
    summary: "Delete a webhook",
    answers: { 204: { description: "Deleted, with its deliveries." } },
  },
  ({ params }) => params,
);

const rotate = operation(
  "rotateWebhook",
  {
    ...ONE,
    method: "post",
    path: "/api/webhooks/{id}/rotate",
    summary: "Give a webhook a new secret",
    description: "For 24 hours deliveries are signed with both the new and the old secret.",
    answers: { 200: withSecret },
  },
  ({ params }) => {
    const { secret } = randomSecret();
    return { ...params, secret };
  },
);

const test = operation(
  "testWebhook",
  {
    ...ONE,
    method: "post",
    path: "/api/webhooks/{id}/test",
    summary: "Send a test event",
    description: "Sends a delivery of type `webhook.test`, whatever events the webhook selects.",
    answers: { 200: { description: "The delivery, which is now in progress.", schema: deliveryResource } },
  },
  ({ params }) => params,
);

const deliveries = endpoint(
  {
    ...ONE,
    ...asks("listDeliveries"),
    method: "get",
    path: "/api/webhooks/{id}/deliveries",
    lane: "heavy",
    summary: "List a webhook's deliveries, newest first",
    description: "Finished deliveries are kept for 30 days, at most about the last 100 000.",
    query: deliveryListQuery,
    answers: { 200: { description: "A page of deliveries.", schema: deliveryList } },
  },
  async (c, { params, query, token }) => {
    const { limit, offset, status = null } = query;
    const request = { ...params, status, limit, offset };
    return answer(c, { ...(await ask(c, token, "listDeliveries", request)), limit, offset });
  },
);

const redeliver = operation(
  "redeliver",
  {
    ...BASE,
    method: "post",
    path: "/api/webhooks/deliveries/{id}/redeliver",
    params: webhookIdParam,
    summary: "Send a delivery again",
    description: "With the same `webhook-id`; the schedule of tries starts again.",
    answers: { 200: { description: "The delivery, which is now in progress.", schema: deliveryResource } },
  },
  ({ params }) => params,
);

export const webhookRoutes: readonly Endpoint[] = [
  create,
  list,
  get,
  patch,
  remove,
  rotate,
  test,
  deliveries,
  redeliver,
];
