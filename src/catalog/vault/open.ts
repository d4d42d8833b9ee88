// The kind of vault that the settings select. VAULT_ADDR selects a Vault or OpenBao server; otherwise keys come from
// the environment, or from the Secrets Store if a binding has the variable's name.

import { environmentSecrets } from "./environment.ts";
import { kvSecrets } from "./kv.ts";
import type { KvAuth } from "./kv-login.ts";
import { type SecretSource, variableName } from "./secret-source.ts";
import { isStoreBinding, secretsStoreSecrets } from "./secrets-store.ts";

type Settings = Readonly<Record<string, unknown>>;
type Tools = { fetch: (request: Request) => Promise<Response>; now: () => number };

/**
 * VAULT_ADDR with VAULT_TOKEN, or with VAULT_ROLE_ID and VAULT_SECRET_ID (VAULT_APPROLE_MOUNT, default approle);
 * VAULT_NAMESPACE; VAULT_KV_MOUNT (secret); VAULT_KV_PREFIX (signalbox/providers).
 */
export const openSecrets = (settings: Settings, tools: Tools): SecretSource => {
  const address = text(settings, "VAULT_ADDR");
  if (address === undefined) return openBindings(settings);
  const auth = kvAuth(settings);
  if (auth === null) {
    const detail = "VAULT_ADDR is set: also set VAULT_TOKEN, or VAULT_ROLE_ID and VAULT_SECRET_ID";
    return { read: async () => ({ kind: "refused", detail }) };
  }
  const namespace = text(settings, "VAULT_NAMESPACE");
  const mount = text(settings, "VAULT_KV_MOUNT");
  const prefix = text(settings, "VAULT_KV_PREFIX");
  return kvSecrets({
    address,
    auth,
    fetch: tools.fetch,
    now: tools.now,
    ...(namespace === undefined ? {} : { namespace }),
    ...(mount === undefined ? {} : { mount }),
    ...(prefix === undefined ? {} : { prefix }),
  });
};

const openBindings = (settings: Settings): SecretSource => {
  const environment = environmentSecrets(settings);
  const store = secretsStoreSecrets(settings);
  return { read: (name) => (isStoreBinding(settings[variableName(name)]) ? store : environment).read(name) };
};

const kvAuth = (settings: Settings): KvAuth | null => {
  const token = text(settings, "VAULT_TOKEN");
  if (token !== undefined) return { kind: "token", token };
  const roleId = text(settings, "VAULT_ROLE_ID");
  const secretId = text(settings, "VAULT_SECRET_ID");
  if (roleId === undefined || secretId === undefined) return null;
  const mount = text(settings, "VAULT_APPROLE_MOUNT");
  return { kind: "approle", roleId, secretId, ...(mount === undefined ? {} : { mount }) };
};

const text = (settings: Settings, name: string): string | undefined => {
  const value = settings[name];
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
};
