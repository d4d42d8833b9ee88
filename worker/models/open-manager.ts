// The manager of a runtime's models, by the runtime's name.

import { llamacppModels } from "./llamacpp.ts";
import { lmstudioModels } from "./lmstudio.ts";
import type { ModelManager } from "./model-manager.ts";
import { ollamaModels } from "./ollama.ts";
import { RuntimeApi } from "./runtime-api.ts";
import { vllmModels } from "./vllm.ts";

type Kind = {
  open: (api: RuntimeApi, maxLoaded: number | null) => ModelManager;
  /** The runtime's own variable for how many models it holds, which no API tells. */
  maxLoadedVariable?: string;
};

const KINDS: Readonly<Record<string, Kind>> = {
  ollama: { open: ollamaModels, maxLoadedVariable: "OLLAMA_MAX_LOADED_MODELS" },
  llamacpp: { open: llamacppModels, maxLoadedVariable: "LLAMA_ARG_MODELS_MAX" },
  lmstudio: { open: lmstudioModels },
  vllm: { open: vllmModels },
};

type ManagedRuntime = { name: string; address: string | null };

/** Null: nothing is known of this kind's models. */
export const openManager = (
  { name, address }: ManagedRuntime,
  key: string | null,
  env: Readonly<Record<string, string | undefined>>,
): ModelManager | null => {
  const kind = KINDS[name];
  if (kind === undefined || address === null) return null;
  const given = Number(env[kind.maxLoadedVariable ?? ""]);
  const maxLoaded = Number.isInteger(given) && given > 0 ? given : null;
  return kind.open(new RuntimeApi({ origin: address, key }), maxLoaded);
};
