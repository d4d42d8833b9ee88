// A tenant's way to provider keys, for the object that calls providers for it.

import type { ProviderDefinition } from "../../domain/catalog/catalog.ts";
import { networkOf, providersOf } from "../catalog/open.ts";
import { type VaultConnector, vaultConnector } from "../catalog/vault/connector.ts";
import { openSecrets } from "../catalog/vault/open.ts";
import { secretName } from "../catalog/vault/secret-source.ts";
import { mayUseOperatorsKeys, tenantSecrets } from "../catalog/vault/tenant-secrets.ts";
import type { Env } from "../env.ts";

export const providerNamed = (env: Env, name: string): ProviderDefinition | undefined => providersOf(env).get(name);

export interface TenantKeys {
  readonly connector: VaultConnector;
  /** Why there is no key for a reference; null if there is one. */
  readonly missing: (ref: string) => Promise<string | null>;
}

export const openKeys = (
  env: Env,
  tenant: string,
  sealedKey: (provider: string) => Promise<string | null>,
): TenantKeys => {
  const fetch = networkOf(env.LOCAL_NETWORK, () => undefined);
  const now = Date.now;
  const source = tenantSecrets({
    tenant,
    signingSecret: env.SERVICE_SIGNING_SECRET ?? "",
    operators: openSecrets(env as unknown as Readonly<Record<string, unknown>>, { fetch, now }),
    mayUseOperators: mayUseOperatorsKeys(env.SERVICE_EDGE_TENANTS, tenant),
    sealedKey,
  });
  return {
    connector: vaultConnector({ source, fetch, now }),
    missing: async (ref) => {
      const reading = await source.read(secretName(ref) ?? "");
      return reading.kind === "found" ? null : reading.detail;
    },
  };
};
