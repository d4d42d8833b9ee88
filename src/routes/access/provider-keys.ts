// Keys of hosted providers that the coordinator calls itself: sealed here, opened only by the vault connector.

import { providerKeyList, providerKeyParam, providerKeyRequest } from "../../../contract/access/provider-key.ts";
import { notFound } from "../../../domain/words/refusal.ts";
import { providersOf } from "../../catalog/open.ts";
import { variableName } from "../../catalog/vault/secret-source.ts";
import { mayUseOperatorsKeys } from "../../catalog/vault/tenant-secrets.ts";
import { operation } from "../../endpoint/operation.ts";
import { type Endpoint, endpoint } from "../../endpoint/router.ts";
import type { Env } from "../../env.ts";
import { answer } from "../../http/answer.ts";
import { signingSecret } from "../../http/auth.ts";
import { Refused } from "../../http/refused.ts";
import { forProviderKey, seal } from "../../http/sealed.ts";
import { ask } from "../../tenant/ask.ts";
import { asks } from "../../tenant/asks.ts";

const KEYS = "Keys";
const PATH = "/api/provider-keys/{provider}";

const put = operation(
  "putProviderKey",
  {
    method: "put",
    path: PATH,
    tag: KEYS,
    summary: "Set the tenant's key of a provider",
    description:
      "The coordinator uses it when it calls the provider itself (`providers.<provider>.edge`). It is stored sealed and shown to nobody again.",
    params: providerKeyParam,
    body: providerKeyRequest,
    refuses: ["not_found"],
    answers: { 204: { description: "Set." } },
  },
  async ({ params: { provider }, body, token }, c) => {
    if (!providersOf(c.env).has(provider)) throw new Refused(notFound("provider", provider));
    const sealed = await seal(signingSecret(c.env), forProviderKey(token.tenant, provider), body.key);
    return { provider, sealed };
  },
);

const list = endpoint(
  {
    method: "get",
    path: "/api/provider-keys",
    tag: KEYS,
    ...asks("listProviderKeys"),
    summary: "List whose provider keys there are",
    description:
      "The tenant's own keys, and the operator's (`PROVIDER_<NAME>_KEY`) if it may use them (`SERVICE_EDGE_TENANTS`). No key is shown.",
    answers: { 200: { description: "The providers with a key.", schema: providerKeyList } },
  },
  async (c, { token }) => {
    const own = await ask(c, token, "listProviderKeys", null);
    const isOwn = new Set(own.map(({ provider }) => provider));
    const lent = operatorsProviders(c.env, token.tenant).filter((provider) => !isOwn.has(provider));
    const keys = lent.map((provider) => ({ provider, source: "operator" as const, set_at: null, set_by: null }));
    return answer(c, { keys: [...own, ...keys] });
  },
);

const operatorsProviders = (env: Env, tenant: string): string[] => {
  if (!mayUseOperatorsKeys(env.SERVICE_EDGE_TENANTS, tenant)) return [];
  const settings = env as unknown as Readonly<Record<string, unknown>>;
  const isSet = (provider: string): boolean => (settings[variableName(provider)] ?? "") !== "";
  return [...providersOf(env).keys()].filter(isSet);
};

const remove = operation(
  "removeProviderKey",
  {
    method: "delete",
    path: PATH,
    tag: KEYS,
    summary: "Remove the tenant's key of a provider",
    params: providerKeyParam,
    answers: { 204: { description: "Removed." } },
  },
  ({ params }) => params,
);

export const providerKeyRoutes: readonly Endpoint[] = [put, list, remove];
