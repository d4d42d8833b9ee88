// What a worker says when it starts: what it serves, and why; and that its coordinator is of another version, which a
// program of the package says, too.

import { isObject, parseJson } from "../contract/text/json-object.ts";
import { packageAt, VERSION } from "../contract/words/version.ts";
import type { Runtime } from "./calls/runtime.ts";
import type { Settings } from "./settings.ts";

type Told = Pick<Settings, "instance" | "provider" | "runtime" | "concurrency" | "apiUrl">;

/** A person who has a model wonders why their prompt comes back. */
const FOUND_NONE = "because it found no model runtime on this machine: start one, such as Ollama, and start again";

export const greeting = (settings: Told, { name, address }: Pick<Runtime, "name" | "address">): string => {
  const { instance, provider, concurrency, apiUrl } = settings;
  const at = address === null ? "" : ` at ${address}`;
  const serves = `${instance} serves ${provider ?? name} with ${name}${at}, ${concurrency} at a time, for ${apiUrl}`;
  const isStandIn = settings.runtime === null && name === "echo";
  return isStandIn ? `${serves}, ${FOUND_NONE}` : serves;
};

const ANSWER_WITHIN_MS = 3_000;

/**
 * An older worker still works, so this only warns; null if the versions are the same, or no coordinator answers. `tell`
 * says how the package at an address is used.
 */
export const versionWarning = async (
  apiUrl: string,
  tell: (address: string) => string,
  send: typeof fetch = fetch,
): Promise<string | null> => {
  try {
    const response = await send(`${apiUrl}/health`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    const health = parseJson(await response.text());
    const version = isObject(health) ? health.version : undefined;
    if (typeof version !== "string" || version === VERSION) return null;
    const same = tell(packageAt(apiUrl, version));
    return `this is version ${VERSION}, the coordinator is ${version}: ${same} has the same version`;
  } catch {
    return null;
  }
};
