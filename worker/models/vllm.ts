// The models of vLLM: it serves the model that it was started with. Where its sleep mode is on, loading wakes it and
// unloading sends it to sleep.

import { type ModelManager, TaskFailure } from "./model-manager.ts";
import { listOf, type RuntimeApi, textIn } from "./runtime-api.ts";

export const vllmModels = (api: RuntimeApi): ModelManager => ({
  look: async (signal) => {
    const served = listOf((await api.json("/v1/models", { signal })).data).flatMap(({ id }) => textIn(id) ?? []);
    const sleep = await api.jsonIfThere("/is_sleeping", { signal });
    const isAsleep = sleep?.is_sleeping === true;
    return {
      loaded: isAsleep ? [] : served.map((model) => ({ model })),
      on_disk: null,
      max_loaded: null,
      can: sleep === null ? [] : ["load", "unload"],
    };
  },
  work: async ({ action }, { signal }) => {
    const path = action === "load" ? "/wake_up" : action === "unload" ? "/sleep?level=1" : null;
    if (path === null) throw new TaskFailure("action_not_supported", `vLLM cannot ${action} models`);
    await api.json(path, { method: "POST", signal });
  },
});
