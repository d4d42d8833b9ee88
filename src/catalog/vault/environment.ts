// Keys from the environment: Node's, or the secrets of a Cloudflare Worker.

import { type SecretReading, type SecretSource, variableName } from "./secret-source.ts";

export const environmentSecrets = (env: Readonly<Record<string, unknown>>): SecretSource => ({
  read: async (name): Promise<SecretReading> => {
    const variable = variableName(name);
    const value = Object.hasOwn(env, variable) ? env[variable] : undefined;
    if (typeof value === "string" && value.trim() !== "") return { kind: "found", secret: value.trim() };
    return { kind: "missing", detail: `no key for provider:${name}: set ${variable}` };
  },
});
