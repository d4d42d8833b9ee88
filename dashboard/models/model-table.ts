// The models of the fleet as a table: which worker has which model, and what is being done with it. Pure.

import type { ModelTaskResource } from "../../contract/fleet/model-task.ts";
import type { WorkerResource } from "../../contract/fleet/worker.ts";
import type { QueueView } from "../../contract/jobs/insight.ts";
import { isTaskOver, modelKeyOf } from "../../contract/words/values.ts";

export interface ModelCell {
  readonly state: "loaded" | "on disk" | "absent";
  readonly bytes: number | null;
  readonly vramMb: number | null;
  /** What a worker is doing with it, or will do next. */
  readonly task: ModelTaskResource | null;
}

export interface ModelRow {
  readonly model: string;
  readonly cells: readonly ModelCell[];
}

export const isOpenTask = (task: ModelTaskResource): boolean => !isTaskOver(task);

const cellOf = (worker: WorkerResource, key: string, tasks: readonly ModelTaskResource[]): ModelCell => {
  const loaded = worker.loaded?.find(({ model }) => modelKeyOf(model) === key);
  const onDisk = worker.on_disk?.find(({ model }) => modelKeyOf(model) === key);
  return {
    state: loaded !== undefined ? "loaded" : onDisk !== undefined ? "on disk" : "absent",
    bytes: onDisk?.bytes ?? null,
    vramMb: loaded?.vram_mb ?? null,
    task: tasks.find((task) => task.worker === worker.instance && modelKeyOf(task.model) === key) ?? null,
  };
};

/** Every model that one of these workers has or is getting, by name; a column for each worker. */
export const modelRows = (
  workers: readonly WorkerResource[],
  tasks: readonly ModelTaskResource[],
): readonly ModelRow[] => {
  const shown = new Set(workers.map(({ instance }) => instance));
  const open = tasks.filter((task) => isOpenTask(task) && shown.has(task.worker));
  const named = [
    ...workers.flatMap(({ loaded, on_disk }) => [...(loaded ?? []), ...(on_disk ?? [])].map(({ model }) => model)),
    ...open.map(({ model }) => model),
  ];
  // The first name of a model is shown: `llama3.2` and `llama3.2:latest` are one.
  const models = new Map<string, string>();
  for (const name of named) if (!models.has(modelKeyOf(name))) models.set(modelKeyOf(name), name);
  return [...models]
    .map(([key, model]) => ({ model, cells: workers.map((worker) => cellOf(worker, key, open)) }))
    .sort((one, other) => one.model.localeCompare(other.model));
};

export interface WantedModel {
  readonly model: string;
  readonly count: number;
  readonly oldestAt: string;
}

/** Models that jobs wait for because no worker that could take them has them. The longest wait first. */
export const wantedModels = (queue: QueueView | null): readonly WantedModel[] => {
  const wanted = new Map<string, WantedModel>();
  // Groups come oldest first.
  for (const { model, reason, count, oldest_at: oldestAt } of queue?.groups ?? []) {
    if (model === null || !reason.includes(`serves model "${model}"`)) continue;
    const before = wanted.get(model);
    wanted.set(model, { model, count: count + (before?.count ?? 0), oldestAt: before?.oldestAt ?? oldestAt });
  }
  return [...wanted.values()];
};

/** From 0 to 1; null where the worker has not said how much there is. */
export const shareOf = ({ progress }: ModelTaskResource): number | null => {
  const { completed_bytes: done, total_bytes: all } = progress;
  return done === undefined || all === undefined || all === 0 ? null : Math.min(1, done / all);
};
