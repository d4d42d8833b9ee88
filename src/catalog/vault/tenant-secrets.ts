// The keys that calls for one tenant may use: its own, which an admin has set, else the operator's, but only for the
// tenants that the operator lets use them, so that no tenant spends another's money.

import { forProviderKey, unseal } from "../../http/sealed.ts";
import type { SecretReading, SecretSource } from "./secret-source.ts";

const DEFAULT_TENANTS = "default";
const EVERY_TENANT = "*";

/** `listed`: SERVICE_EDGE_TENANTS, separated by commas. */
export const mayUseOperatorsKeys = (listed: string | undefined, tenant: string): boolean => {
  const names = (listed?.trim() || DEFAULT_TENANTS).split(",").map((name) => name.trim());
  return names.includes(EVERY_TENANT) || names.includes(tenant);
};

interface TenantSecrets {
  readonly tenant: string;
  readonly signingSecret: string;
  readonly operators: SecretSource;
  readonly mayUseOperators: boolean;
  readonly sealedKey: (provider: string) => Promise<string | null>;
}

export const tenantSecrets = (options: TenantSecrets): SecretSource => {
  const { tenant, signingSecret, operators, mayUseOperators, sealedKey } = options;
  return {
    read: async (name): Promise<SecretReading> => {
      const sealed = await sealedKey(name);
      if (sealed !== null) {
        const secret = await unseal(signingSecret, forProviderKey(tenant, name), sealed);
        if (secret !== null) return { kind: "found", secret };
        const detail = `the key for ${name} was sealed with another signing secret: set it again`;
        return { kind: "refused", detail };
      }
      if (mayUseOperators) {
        const read = await operators.read(name);
        if (read.kind !== "missing") return read;
        return { ...read, detail: `${read.detail}, or this tenant's own: signalbox provider-keys set ${name}` };
      }
      const detail = `no key for ${name}: set one with PUT /api/provider-keys/${name}, or have the operator add this tenant to SERVICE_EDGE_TENANTS`;
      return { kind: "missing", detail };
    },
  };
};
