// Keys from the Cloudflare Secrets Store. Bindings cannot be looked up by name at run time, so each key is bound under
// the name that its environment variable would have, and read with get() when needed.

import { type SecretReading, type SecretSource, variableName } from "./secret-source.ts";

type StoreBinding = { get(): Promise<string> };

export const secretsStoreSecrets = (env: Readonly<Record<string, unknown>>): SecretSource => ({
  read: async (name): Promise<SecretReading> => {
    const variable = variableName(name);
    const binding = Object.hasOwn(env, variable) ? env[variable] : undefined;
    if (!isStoreBinding(binding)) {
      return { kind: "missing", detail: `no key for provider:${name}: bind a Secrets Store secret as ${variable}` };
    }
    return readBinding(binding, variable);
  },
});

export const isStoreBinding = (value: unknown): value is StoreBinding =>
  typeof value === "object" && value !== null && typeof (value as { get?: unknown }).get === "function";

const readBinding = async (binding: StoreBinding, variable: string): Promise<SecretReading> => {
  try {
    const secret = await binding.get();
    if (typeof secret === "string" && secret.trim() !== "") return { kind: "found", secret: secret.trim() };
    return { kind: "missing", detail: `the Secrets Store secret bound as ${variable} is empty` };
  } catch {
    return { kind: "unavailable", detail: `the Secrets Store did not return the secret bound as ${variable}` };
  }
};
