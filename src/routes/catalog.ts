// The catalog: providers, subscriptions, their models and history, and immediate syncs.

import * as z from "zod";
import {
  catalogHistoryList,
  historyQuery,
  modelList,
  newSubscriptionRequest,
  presentHistory,
  presentProvider,
  presentSnapshot,
  presentSubscription,
  presentSync,
  providerList,
  type SubscriptionResource,
  subscriptionDetail,
  subscriptionIdParam,
  subscriptionList,
  subscriptionPatchRequest,
  subscriptionResource,
  syncAnswer,
} from "../../contract/catalog.ts";
import type { Subscription } from "../../domain/catalog/catalog-subscription.ts";
import type { Actor } from "../../domain/words/event.ts";
import type { Refusal, RefusalCode } from "../../domain/words/refusal.ts";
import type { Result } from "../../domain/words/result.ts";
import { isCatalogSyncOn } from "../catalog/due.ts";
import { readModelsHistory, readSnapshot } from "../catalog/models.ts";
import { openCatalog, providersOf } from "../catalog/open.ts";
import { providerReport } from "../catalog/provider-report.ts";
import { listSubscriptions } from "../catalog/subscription-rows.ts";
import { createSubscription, deleteSubscription, patchSubscription } from "../catalog/subscriptions.ts";
import { syncSubscription } from "../catalog/sync.ts";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import type { Env } from "../env.ts";
import { historyOf } from "../history/databases.ts";
import { readHistory, workOnHistory } from "../history/store.ts";
import { answer } from "../http/answer.ts";
import type { AppContext } from "../http/auth.ts";
import type { TokenFacts } from "../http/key-format.ts";
import { unwrap } from "../http/refused.ts";
import { ask } from "../tenant/ask.ts";
import { asks } from "../tenant/asks.ts";
import { tellOfSubscriptions } from "../tenant/tenant-administration.ts";
import { askObject, tenantObject } from "../tenant/tenant-object.ts";

const BASE = { tag: "Catalog" } as const;
const ONE = { ...BASE, path: "/catalog/subscriptions/{id}", params: subscriptionIdParam } as const;
const READS = asks("authorizeAdmin", "history_unavailable");
const writes = (...refuses: readonly RefusalCode[]) => asks("authorizeAdminWrite", "history_unavailable", ...refuses);

/** Where syncs are turned off, there is no next one to wait for. */
const presented =
  (env: Env) =>
  (subscription: Subscription): SubscriptionResource => {
    const shown = presentSubscription(subscription);
    return isCatalogSyncOn(env.SERVICE_CATALOG_SYNC) ? shown : { ...shown, next_sync_at: null };
  };

const catalogTools = (env: Env, token: TokenFacts) =>
  openCatalog(env, historyOf(env, token).db, Date.now, (_, provider) => tenantObject(env, token).sealedKey(provider));

const mayRead = async (c: AppContext, token: TokenFacts): Promise<void> => {
  await ask(c, token, "authorizeAdmin", null);
};

/** What a caller who may write changes; the caller's name is for the audit log. */
const changed = async <T>(
  c: AppContext,
  token: TokenFacts,
  change: (tools: ReturnType<typeof catalogTools>, actor: Actor) => Promise<Result<T, Refusal>>,
): Promise<T> => {
  const { keyId, name } = await ask(c, token, "authorizeAdminWrite", null);
  return unwrap(await workOnHistory(() => change(catalogTools(c.env, token), { keyId, name })));
};

const tellTenant = async (env: Env, token: TokenFacts, provider: string): Promise<void> => {
  await askObject(env, token, "learnCatalog", await providerReport(historyOf(env, token), provider));
};

const providers = endpoint(
  {
    ...BASE,
    ...asks("authorizeAdmin"),
    method: "get",
    path: "/catalog/providers",
    summary: "List the providers that can be subscribed to",
    answers: {
      200: {
        description: "The providers. `auth.ref` names a key in the vault; it is not the key itself.",
        schema: providerList,
      },
    },
  },
  async (c, { token }) => {
    await mayRead(c, token);
    return answer(c, { providers: [...providersOf(c.env).values()].map(presentProvider) });
  },
);

const create = endpoint(
  {
    ...BASE,
    ...writes("subscription_exists"),
    method: "post",
    path: "/catalog/subscriptions",
    summary: "Subscribe to a provider's model list",
    body: newSubscriptionRequest,
    answers: { 201: { description: "The subscription. Its first sync is due at once.", schema: subscriptionResource } },
  },
  async (c, { body, token }) => {
    const subscription = await changed(c, token, (tools, actor) =>
      createSubscription(tools, token.tenant, actor, body),
    );
    await tellOfSubscriptions(c.env, token);
    return answer(c, presented(c.env)(subscription), 201);
  },
);

const list = endpoint(
  {
    ...BASE,
    ...READS,
    method: "get",
    path: "/catalog/subscriptions",
    summary: "List all subscriptions",
    answers: { 200: { description: "All subscriptions, ordered by provider.", schema: subscriptionList } },
  },
  async (c, { token }) => {
    await mayRead(c, token);
    const subscriptions = await readHistory(() => listSubscriptions(historyOf(c.env, token)));
    return answer(c, { subscriptions: subscriptions.map(presented(c.env)) });
  },
);

const get = endpoint(
  {
    ...ONE,
    ...asks("authorizeAdmin", "not_found", "history_unavailable"),
    method: "get",
    lane: "heavy",
    summary: "Get a subscription, with its models",
    answers: { 200: { description: "The subscription and its models.", schema: subscriptionDetail } },
  },
  async (c, { params, token }) => {
    await mayRead(c, token);
    const found = await readHistory(() => readSnapshot(historyOf(c.env, token), params.id));
    const { subscription, models: provided } = unwrap(found);
    return answer(c, { ...presented(c.env)(subscription), provided_models: [...provided] });
  },
);

const edit = endpoint(
  {
    ...ONE,
    ...writes("not_found", "subscription_exists"),
    method: "patch",
    summary: "Change a subscription's schedule or address",
    body: subscriptionPatchRequest,
    answers: { 200: { description: "The changed subscription.", schema: subscriptionResource } },
  },
  async (c, { params, body, token }) => {
    const subscription = await changed(c, token, (tools, actor) =>
      patchSubscription(tools, token.tenant, params.id, actor, body),
    );
    await tellOfSubscriptions(c.env, token);
    return answer(c, presented(c.env)(subscription));
  },
);

const remove = endpoint(
  {
    ...ONE,
    ...writes("not_found"),
    method: "delete",
    summary: "Delete a subscription",
    answers: { 204: { description: "Deleted, with its models and history." } },
  },
  async (c, { params, token }) => {
    const { provider } = await changed(c, token, (tools, actor) =>
      deleteSubscription(tools, token.tenant, params.id, actor),
    );
    await workOnHistory(() => tellTenant(c.env, token, provider));
    return c.body(null, 204);
  },
);

const models = endpoint(
  {
    ...BASE,
    ...asks("authorizeAdmin", "not_found", "history_unavailable"),
    method: "get",
    path: "/catalog/subscriptions/{id}/models",
    lane: "heavy",
    params: subscriptionIdParam,
    summary: "List the models of the last successful sync",
    answers: { 200: { description: "The models, ordered by id.", schema: modelList } },
  },
  async (c, { params, token }) => {
    await mayRead(c, token);
    const snapshot = await readHistory(() => readSnapshot(historyOf(c.env, token), params.id));
    return answer(c, presentSnapshot(unwrap(snapshot)));
  },
);

const history = endpoint(
  {
    ...BASE,
    ...asks("authorizeAdmin", "not_found", "history_unavailable"),
    method: "get",
    path: "/catalog/subscriptions/{id}/history",
    lane: "heavy",
    params: subscriptionIdParam,
    summary: "List the changes of a model list, newest first",
    query: historyQuery,
    answers: { 200: { description: "A page of changes, newest first.", schema: catalogHistoryList } },
  },
  async (c, { params, query, token }) => {
    await mayRead(c, token);
    const found = await readHistory(() => readModelsHistory(historyOf(c.env, token), params.id, query));
    return answer(c, presentHistory(unwrap(found), query));
  },
);

const sync = endpoint(
  {
    ...BASE,
    ...writes("not_found", "sync_in_progress", "provider_failed"),
    method: "post",
    path: "/catalog/subscriptions/{id}/sync",
    params: subscriptionIdParam,
    summary: "Sync a subscription now",
    description: "If the provider fails or its answer has the wrong format, the last good list is kept.",
    body: z.strictObject({}),
    isBodyOptional: true,
    answers: { 200: { description: "How many models were added, removed and updated.", schema: syncAnswer } },
  },
  async (c, { params, token }) => {
    const report = await changed(c, token, (tools, actor) => syncSubscription(tools, token.tenant, params.id, actor));
    await workOnHistory(() => tellTenant(c.env, token, report.provider));
    return answer(c, presentSync(report));
  },
);

export const catalogRoutes: readonly Endpoint[] = [providers, create, list, get, edit, remove, models, history, sync];
