// What a worker says when it starts: what it serves, and why.

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
