// A tenant's way to provider keys, for the object that calls providers for it.

import type { ProviderDefinition } from "../../domain/catalog/catalog.ts";
import { openVault, providersOf } from "../catalog/open.ts";
import type { VaultConnector } from "../catalog/vault/connector.ts";
import { secretName } from "../catalog/vault/secret-source.ts";
import { mayUseOperatorsKeys } from "../catalog/vault/tenant-secrets.ts";
import type { Env } from "../env.ts";

export const providerNamed = (env: Env, name: string): ProviderDefinition | undefined => providersOf(env).get(name);

interface TenantKeys {
  readonly connector: VaultConnector;
  /** Why there is no key for a reference; null if there is one. */
  readonly missing: (ref: string) => Promise<string | null>;
}

export const openKeys = (
  env: Env,
  tenant: string,
  sealedKey: (provider: string) => Promise<string | null>,
): TenantKeys => {
  const isLent = mayUseOperatorsKeys(env.SERVICE_EDGE_TENANTS, tenant);
  const { source, connector } = openVault(env, tenant, isLent, sealedKey);
  return {
    connector,
    missing: async (ref) => {
      const reading = await source.read(secretName(ref) ?? "");
      return reading.kind === "found" ? null : reading.detail;
    },
  };
};
