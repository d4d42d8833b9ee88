// The models of Ollama: `/api/tags` on disk, `/api/ps` in memory, a pull that tells its bytes, and loading by a request
// without a prompt.

import { megabytes } from "./hardware.ts";
import {
  type ModelManager,
  type ModelProgress,
  type ModelWork,
  TaskFailure,
  type WorkOptions,
} from "./model-manager.ts";
import { type JsonObject, listOf, numberIn, type RuntimeApi, saidBy, textIn } from "./runtime-api.ts";
import { Speed } from "./speed.ts";

export const ollamaModels = (api: RuntimeApi, maxLoaded: number | null): ModelManager => ({
  look: async (signal) => {
    const [running, stored] = await Promise.all([api.json("/api/ps", { signal }), api.json("/api/tags", { signal })]);
    return {
      loaded: listOf(running.models).flatMap(loadedModel),
      on_disk: listOf(stored.models).flatMap(({ name, size }) => {
        const model = textIn(name);
        return model === null ? [] : [{ model, bytes: Math.round(numberIn(size) ?? 0) }];
      }),
      max_loaded: maxLoaded,
      can: ["pull", "load", "unload", "delete"],
    };
  },
  work: (task, options) => WORK[task.action](api, task, options),
});

const loadedModel = ({ name, size_vram: size, expires_at: expires }: JsonObject) => {
  const model = textIn(name);
  if (model === null) return [];
  const vram = numberIn(size);
  const expiresAt = Date.parse(textIn(expires) ?? "");
  return [
    {
      model,
      ...(vram === null ? {} : { vram_mb: megabytes(vram) }),
      ...(Number.isNaN(expiresAt) ? {} : { expires_at: new Date(expiresAt).toISOString() }),
    },
  ];
};

const pull = async (api: RuntimeApi, { model }: ModelWork, { signal, onProgress, checkSize }: WorkOptions) => {
  const layers = new Layers();
  let stage = "";
  for await (const line of api.lines("/api/pull", { method: "POST", body: { model, stream: true }, signal })) {
    if (line.error != null) throw new TaskFailure("pull_failed", saidBy(JSON.stringify(line)) ?? "the pull failed");
    stage = textIn(line.status) ?? stage;
    layers.note(line);
    checkSize(layers.totalBytes);
    onProgress(layers.progress(stage));
  }
  if (stage !== "success") throw new TaskFailure("pull_failed", `the pull ended at ${stage || "its beginning"}`);
};

/** Of any model's; those beyond it are not told. */
const MAX_LAYERS = 1_000;

/** Ollama tells each layer by its digest, and a resumed one from where it was. */
class Layers {
  readonly #byDigest = new Map<string, { completed: number; total: number }>();
  readonly #speed = new Speed();

  note({ digest, completed, total }: JsonObject): void {
    const layer = textIn(digest);
    const known = layer === null ? undefined : this.#byDigest.get(layer);
    if (layer === null || (known === undefined && this.#byDigest.size >= MAX_LAYERS)) return;
    this.#byDigest.set(layer, {
      completed: numberIn(completed) ?? known?.completed ?? 0,
      total: numberIn(total) ?? known?.total ?? 0,
    });
  }

  get totalBytes(): number {
    return [...this.#byDigest.values()].reduce((sum, { total }) => sum + total, 0);
  }

  progress(stage: string): ModelProgress {
    const total = this.totalBytes;
    if (total === 0) return { stage };
    const completed = [...this.#byDigest.values()].reduce((sum, one) => sum + one.completed, 0);
    const speed = this.#speed.at(completed, performance.now());
    return {
      completed_bytes: completed,
      total_bytes: total,
      ...(speed === null ? {} : { bytes_per_second: speed }),
      stage,
    };
  }
}

const keep = async (api: RuntimeApi, model: string, keepAlive: unknown, signal: AbortSignal): Promise<void> => {
  const body = { model, stream: false, ...(keepAlive === null ? {} : { keep_alive: keepAlive }) };
  await api.json("/api/generate", { method: "POST", body, signal }).catch((error: unknown) => {
    // A model for embeddings generates nothing.
    if (!(error instanceof TaskFailure && error.message.includes("does not support generate"))) throw error;
    return api.json("/api/embed", { method: "POST", body: { ...body, input: "" }, signal });
  });
};

const WORK: Record<ModelWork["action"], (api: RuntimeApi, task: ModelWork, options: WorkOptions) => Promise<void>> = {
  pull,
  load: (api, { model, keep_alive }, { signal, onProgress }) => {
    onProgress({ stage: "loading" });
    return keep(api, model, keep_alive, signal);
  },
  unload: (api, { model }, { signal }) => keep(api, model, 0, signal),
  delete: async (api, { model }, { signal }) => {
    await api.json("/api/delete", { method: "DELETE", body: { model }, signal });
  },
};
