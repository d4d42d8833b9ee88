// The models of llama.cpp's server: a router lists many with their status and loads them by name; a server of one model
// only tells which.

import { setTimeout as delay } from "node:timers/promises";
import { objectOf } from "../../contract/text/json-object.ts";
import { type ModelManager, type ModelWork, TaskFailure, type WorkOptions } from "./model-manager.ts";
import { type JsonObject, listOf, type RuntimeApi, textIn } from "./runtime-api.ts";

const LOADED = new Set(["loaded", "sleeping"]);
const LOOK_EVERY_MS = 500;

export const llamacppModels = (api: RuntimeApi, maxLoaded: number | null): ModelManager => ({
  look: async (signal) => {
    const models = await listed(api, signal);
    const isRouter = models.some(({ status }) => status !== null);
    const loaded = models.filter(({ status }) => status === null || LOADED.has(status)).map(({ model }) => ({ model }));
    return isRouter
      ? { loaded, on_disk: null, max_loaded: maxLoaded, can: ["load", "unload"] }
      : { loaded, on_disk: null, max_loaded: 1, can: [] };
  },
  work: async (task, options) => {
    const { action, model } = task;
    if (action !== "load" && action !== "unload") throw new TaskFailure("action_not_supported", `cannot ${action}`);
    await api.json(`/models/${action}`, { method: "POST", body: { model }, signal: options.signal });
    await untilSettled(api, task, options);
  },
});

type Listed = { model: string; status: string | null; hasFailed: boolean };

const listed = async (api: RuntimeApi, signal: AbortSignal): Promise<Listed[]> =>
  listOf((await api.json("/models", { signal })).data).flatMap(listedModel);

const listedModel = ({ id, status: said }: JsonObject): Listed[] => {
  const model = textIn(id);
  const { value, failed } = objectOf(said);
  return model === null ? [] : [{ model, status: textIn(value), hasFailed: failed === true }];
};

/** Both calls answer before the router is done. */
const untilSettled = async (api: RuntimeApi, { action, model }: ModelWork, { signal, onProgress }: WorkOptions) => {
  for (;;) {
    const found = (await listed(api, signal)).find((one) => one.model === model);
    if (found === undefined) throw new TaskFailure("not_found", `llama.cpp lists no model ${model}`);
    // A model that had to be killed to be unloaded counts as failed, too.
    if (action === "load" && found.hasFailed) throw new TaskFailure("load_failed", `llama.cpp could not load ${model}`);
    const isLoaded = LOADED.has(found.status ?? "");
    if (action === "load" ? isLoaded : !isLoaded) return;
    onProgress({ stage: found.status ?? action });
    await delay(LOOK_EVERY_MS, undefined, { signal });
  }
};
