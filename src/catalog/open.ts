// Builds the catalog's dependencies from the platform's bindings: providers, vault and network. Built per invocation,
// because a connector's pending work belongs to the request that began it.

import type { AuditEntry } from "../../domain/words/event.ts";
import { loadProviders, type ProviderSet } from "./providers.ts";
import type { SyncTools } from "./sync.ts";
import { isPrivateAddress } from "./url-policy.ts";
import { vaultConnector } from "./vault/connector.ts";
import { openSecrets } from "./vault/open.ts";

export interface CatalogBindings {
  readonly SERVICE_CATALOG_FILES?: string;
  readonly SERVICE_CATALOG_LOCAL?: string;
  readonly LOCAL_NETWORK?: Fetcher;
}

export const openCatalog = (
  env: CatalogBindings,
  db: D1Database,
  now: () => number,
  audit: (db: D1Database, tenant: string, entry: AuditEntry) => D1PreparedStatement,
  onRequest: () => void = () => undefined,
): SyncTools => {
  const fetch = networkOf(env.LOCAL_NETWORK, onRequest);
  // Provider keys have names of their own (PROVIDER_<NAME>_KEY), which no interface can list.
  const source = openSecrets(env as unknown as Readonly<Record<string, unknown>>, { fetch, now });
  return {
    db,
    providers: providersOf(env),
    now,
    audit: (tenant, entry) => audit(db, tenant, entry),
    connector: vaultConnector({ source, fetch, now }),
  };
};

/**
 * Self-hosted, fetch reaches only public hosts, whatever a name resolves to; only a private address goes to the local
 * network.
 */
export const networkOf =
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
