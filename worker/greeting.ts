// What a worker says when it starts: what it serves, and what it looked for in vain.

import type { Runtime } from "./calls/runtime.ts";
import type { Settings } from "./settings.ts";

type Told = Pick<Settings, "instance" | "provider" | "runtime" | "concurrency" | "apiUrl">;

export const greeting = (settings: Told, { name, address }: Pick<Runtime, "name" | "address">): string[] => {
  const { instance, provider, concurrency, apiUrl } = settings;
  const at = address === null ? "" : ` at ${address}`;
  const serves = `${instance} serves ${provider ?? name} with ${name}${at}, ${concurrency} at a time, for ${apiUrl}`;
  // Sought, but not found: a person who has a model wonders why their prompt comes back.
  const isStandIn = settings.runtime === null && name === "echo";
  const hint = "found no model runtime on this machine: start one, such as Ollama, then start this worker again";
  return isStandIn ? [hint, serves] : [serves];
};
