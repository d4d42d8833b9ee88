// Builds the catalog's dependencies from the platform's bindings: providers, vault and network. Built per invocation,
// because a connector's pending work belongs to the request that began it.

import { loadProviders, type ProviderSet } from "./providers.ts";
import type { SyncTools } from "./sync.ts";
import { isPrivateAddress } from "./url-policy.ts";
import { type VaultConnector, vaultConnector } from "./vault/connector.ts";
import { openSecrets } from "./vault/open.ts";
import type { SecretSource } from "./vault/secret-source.ts";
import { tenantSecrets } from "./vault/tenant-secrets.ts";

export interface CatalogBindings {
  readonly SERVICE_CATALOG_FILES?: string;
  readonly SERVICE_CATALOG_LOCAL?: string;
  readonly LOCAL_NETWORK?: Fetcher;
  readonly SERVICE_SIGNING_SECRET?: string;
}

/** A tenant's own key of a provider, as it is stored; null if it has none. */
type SealedKeyOf = (tenant: string, provider: string) => Promise<string | null>;

export const openCatalog = (
  env: CatalogBindings,
  db: D1Database,
  now: () => number,
  sealedKeyOf: SealedKeyOf,
  onRequest?: () => void,
): SyncTools => ({
  db,
  providers: providersOf(env),
  now,
  // A list costs the operator nothing: every tenant may read it with the operator's key.
  connectorOf: (tenant) =>
    openVault(env, tenant, true, (provider) => sealedKeyOf(tenant, provider), onRequest).connector,
});

/** A tenant's way to provider keys: its own, else the operator's if they are lent to it. */
export const openVault = (
  env: CatalogBindings,
  tenant: string,
  isLent: boolean,
  sealedKey: (provider: string) => Promise<string | null>,
  onRequest: () => void = () => undefined,
): { readonly source: SecretSource; readonly connector: VaultConnector } => {
  const tools = { fetch: networkOf(env.LOCAL_NETWORK, onRequest), now: Date.now };
  const source = tenantSecrets({
    tenant,
    signingSecret: env.SERVICE_SIGNING_SECRET ?? "",
    // Provider keys have names of their own (PROVIDER_<NAME>_KEY), which no interface can list.
    operators: openSecrets(env as unknown as Readonly<Record<string, unknown>>, tools),
    mayUseOperators: isLent,
    sealedKey,
  });
  return { source, connector: vaultConnector({ source, ...tools }) };
};

/**
 * Self-hosted, fetch reaches only public hosts, whatever a name resolves to; only a private address goes to the local
 * network.
 */
const networkOf =
  (local: Fetcher | undefined, onRequest: () => void): ((request: Request) => Promise<Response>) =>
  (request) => {
    onRequest();
    return local !== undefined && isPrivateAddress(new URL(request.url)) ? local.fetch(request) : fetch(request);
  };

let known: { files: string | undefined; isLocalOn: boolean; providers: ProviderSet } | null = null;

/** Read once per isolate, because the settings do not change while it lives. */
export const providersOf = (
  env: Pick<CatalogBindings, "SERVICE_CATALOG_FILES" | "SERVICE_CATALOG_LOCAL">,
): ProviderSet => {
  const files = env.SERVICE_CATALOG_FILES;
  const isLocalOn = env.SERVICE_CATALOG_LOCAL?.trim() !== "0";
  if (known === null || known.files !== files || known.isLocalOn !== isLocalOn) {
    known = { files, isLocalOn, providers: loadProviders(files, isLocalOn) };
  }
  return known.providers;
};
