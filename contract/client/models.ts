// The models of the fleet: tasks for workers' models, and where there is room for one.

import type {
  ModelTaskAnswer,
  ModelTaskList,
  ModelTaskListQuery,
  ModelTaskRequest,
  ModelTaskResource,
  PlaceAnswer,
  PlaceRequest,
  TaskDoneRequest,
  TaskProgressRequest,
} from "../fleet/model-task.ts";
import { listAt } from "./listing.ts";
import { type CallOptions, pathOf, type QueryOf, type Transport } from "./transport.ts";

export const modelVerbs = (transport: Transport) => ({
  /** Gives a worker a task. */
  task: async (instance: string, task: ModelTaskRequest, options?: CallOptions): Promise<ModelTaskResource> => {
    const path = pathOf`/api/workers/${instance}/models`;
    const given = await transport.post<ModelTaskAnswer>(path, task, options, "safe");
    return given.task;
  },
  /** Where there is room for a model; without `dry_run` it also gives the tasks. */
  place: (placement: PlaceRequest, options?: CallOptions) =>
    transport.post<PlaceAnswer>("/api/models/place", placement, options, "safe"),
  tasks: (query: QueryOf<ModelTaskListQuery> = {}, options?: CallOptions) =>
    listAt(transport, "/api/model-tasks", query, ({ tasks }: ModelTaskList) => tasks, options),
  cancel: (id: string, options?: CallOptions) =>
    transport.post<ModelTaskResource>(pathOf`/api/model-tasks/${id}/cancel`, undefined, options),
  /** A worker's reports on its task. */
  progress: (id: string, progress: TaskProgressRequest, options?: CallOptions) =>
    transport.post<ModelTaskResource>(pathOf`/api/model-tasks/${id}/progress`, progress, options, "safe"),
  done: (id: string, done: TaskDoneRequest = {}, options?: CallOptions) =>
    transport.post<ModelTaskResource>(pathOf`/api/model-tasks/${id}/done`, done, options),
});
