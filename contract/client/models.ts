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
import { listing } from "./listing.ts";
import { type CallOptions, pathOf, type QueryOf, type Transport } from "./transport.ts";

export const modelVerbs = (transport: Transport) => ({
  /** Gives a worker a task. */
  task: async (instance: string, task: ModelTaskRequest, options?: CallOptions): Promise<ModelTaskResource> => {
    const path = pathOf`/api/workers/${instance}/models`;
    const given = await transport.json<ModelTaskAnswer>({ method: "POST", path, body: task, repeats: "safe", options });
    return given.task;
  },
  /** Where there is room for a model; without `dry_run` it also gives the tasks. */
  place: (placement: PlaceRequest, options?: CallOptions) =>
    transport.json<PlaceAnswer>({
      method: "POST",
      path: "/api/models/place",
      body: placement,
      repeats: "safe",
      options,
    }),
  tasks: (query: QueryOf<ModelTaskListQuery> = {}, options?: CallOptions) =>
    listing(
      query,
      (asked) => transport.json<ModelTaskList>({ method: "GET", path: "/api/model-tasks", query: asked, options }),
      ({ tasks }) => tasks,
    ),
  cancel: (id: string, options?: CallOptions) =>
    transport.json<ModelTaskResource>({ method: "POST", path: pathOf`/api/model-tasks/${id}/cancel`, options }),
  /** A worker's reports on its task. */
  progress: (id: string, progress: TaskProgressRequest, options?: CallOptions) =>
    transport.json<ModelTaskResource>({
      method: "POST",
      path: pathOf`/api/model-tasks/${id}/progress`,
      body: progress,
      repeats: "safe",
      options,
    }),
  done: (id: string, done: TaskDoneRequest = {}, options?: CallOptions) =>
    transport.json<ModelTaskResource>({
      method: "POST",
      path: pathOf`/api/model-tasks/${id}/done`,
      body: done,
      options,
    }),
});
