// The models of LM Studio: its API v1 loads, unloads and downloads; an older release only lists (`/api/v0/models`).

import { setTimeout as delay } from "node:timers/promises";
import { type ModelManager, type ModelWork, TaskFailure, type WorkOptions } from "./model-manager.ts";
import { type JsonObject, listOf, numberIn, type RuntimeApi, textIn } from "./runtime-api.ts";

const LOOK_EVERY_MS = 1_000;

export const lmstudioModels = (api: RuntimeApi, maxLoaded: number | null): ModelManager => ({
  look: async (signal) => {
    const current = await api.jsonIfThere("/api/v1/models", { signal });
    if (current !== null)
      return {
        ...lists(listOf(current.models), "key", isLoadedNow),
        max_loaded: maxLoaded,
        can: ["pull", "load", "unload"],
      };
    const older = await api.json("/api/v0/models", { signal });
    return { ...lists(listOf(older.data), "id", ({ state }) => state === "loaded"), max_loaded: maxLoaded, can: [] };
  },
  work: (task, options) => {
    if (task.action === "delete") throw new TaskFailure("action_not_supported", "LM Studio's API deletes no models");
    return WORK[task.action](api, task, options);
  },
});

const isLoadedNow = ({ loaded_instances: instances }: JsonObject): boolean => listOf(instances).length > 0;

const lists = (models: readonly JsonObject[], name: string, isLoaded: (model: JsonObject) => boolean) => {
  const named = models.flatMap((one) => {
    const model = textIn(one[name]);
    return model === null ? [] : [{ model, bytes: numberIn(one.size_bytes), isLoaded: isLoaded(one) }];
  });
  const sized = named.flatMap(({ model, bytes }) => (bytes === null ? [] : [{ model, bytes: Math.round(bytes) }]));
  return {
    loaded: named.filter((one) => one.isLoaded).map(({ model }) => ({ model })),
    // Sizes that it does not tell are no sizes of zero.
    on_disk: sized.length === named.length ? sized : null,
  };
};

type Work = (api: RuntimeApi, task: ModelWork, options: WorkOptions) => Promise<void>;

const load: Work = async (api, { model }, { signal, onProgress }) => {
  onProgress({ stage: "loading" });
  await api.json("/api/v1/models/load", { method: "POST", body: { model }, signal });
};

/** Every instance that it holds of the model. */
const unload: Work = async (api, { model }, { signal }) => {
  const models = listOf((await api.json("/api/v1/models", { signal })).models);
  const found = models.find(({ key }) => key === model);
  if (found === undefined) throw new TaskFailure("not_found", `LM Studio has no model ${model}`);
  for (const { id } of listOf(found.loaded_instances))
    await api.json("/api/v1/models/unload", { method: "POST", body: { instance_id: id }, signal });
};

const pull: Work = async (api, { model }, { signal, onProgress, checkSize }) => {
  let job = await api.json("/api/v1/models/download", { method: "POST", body: { model }, signal });
  const id = textIn(job.job_id);
  for (;;) {
    const status = textIn(job.status) ?? "";
    if (status === "completed" || status === "already_downloaded") return;
    if (status === "failed" || id === null) throw new TaskFailure("pull_failed", "LM Studio could not download it");
    checkSize(numberIn(job.total_size_bytes) ?? 0);
    onProgress(progressOf(job, status));
    await delay(LOOK_EVERY_MS, undefined, { signal });
    job = await api.json(`/api/v1/models/download/status/${encodeURIComponent(id)}`, { signal });
  }
};

const progressOf = (job: JsonObject, stage: string) => {
  const [completed, total, speed] = [job.downloaded_bytes, job.total_size_bytes, job.bytes_per_second].map(numberIn);
  return {
    ...(completed == null ? {} : { completed_bytes: Math.round(completed) }),
    ...(total == null ? {} : { total_bytes: Math.round(total) }),
    ...(speed == null ? {} : { bytes_per_second: speed }),
    stage,
  };
};

const WORK: Record<Exclude<ModelWork["action"], "delete">, Work> = { pull, load, unload };
