// The models of the fleet: tasks for a worker's models, their reports, and where there is room for a model.

import * as z from "zod";
import {
  MAX_PLACES_SHOWN,
  modelTaskAnswer,
  modelTaskIdParam,
  modelTaskList,
  modelTaskListQuery,
  modelTaskRequest,
  modelTaskResource,
  placeAnswer,
  placeRequest,
  presentPlace,
  taskDoneRequest,
  taskProgressRequest,
  toTaskError,
  toTaskProgress,
} from "../../../contract/fleet/model-task.ts";
import { instanceParam } from "../../../contract/fleet/worker.ts";
import { choosePlaces, type PlaceFacts } from "../../../domain/fleet/placement.ts";
import { operation } from "../../endpoint/operation.ts";
import { type Endpoint, endpoint } from "../../endpoint/router.ts";
import { answer } from "../../http/answer.ts";
import { ask } from "../../tenant/ask.ts";
import { asks } from "../../tenant/asks.ts";

const TAG = "Models";
const ACCEPTED = 202;

const create = operation(
  "createModelTask",
  {
    method: "post",
    path: "/api/workers/{instance}/models",
    tag: TAG,
    summary: "Pull, load, unload or delete a model on a worker",
    description:
      "Gives a worker that was started with `--manage-models` a task, which waits while it is away. An equal task that is not over is answered instead of a second one. The killswitch cancels pulls and loads.",
    params: instanceParam,
    body: modelTaskRequest,
    answers: { [ACCEPTED]: { description: "The task.", schema: modelTaskAnswer } },
  },
  ({ params, body }) => {
    return { ...params, action: body.action, model: body.model, keepAlive: body.keep_alive ?? null };
  },
);

const place = endpoint(
  {
    method: "post",
    path: "/api/models/place",
    lane: "heavy",
    tag: TAG,
    ...asks("placeModel"),
    summary: "Place copies of a model where there is room",
    description:
      "The best workers that can take it load the model, or pull it first: rather those that have it on disk, have free memory for it, are idle. `copies` counts the workers that have it loaded or are getting it. `dry_run` gives no task.",
    body: placeRequest,
    answers: { 200: { description: "The tasks that were given, and every worker's score.", schema: placeAnswer } },
  },
  async (c, { body, token }) => {
    const { model, copies, tags = [], dry_run: isDryRun } = body;
    const fleet: PlaceFacts[] = [];
    for (let from: number | null = 0; from !== null; ) {
      const part: { facts: readonly PlaceFacts[]; next: number | null } = await ask(c, token, "readPlaces", {
        model,
        tags,
        from,
      });
      fleet.push(...part.facts);
      from = part.next;
    }
    const { places, chosen } = choosePlaces(fleet, model, copies);
    const tasks = isDryRun ? [] : await ask(c, token, "placeModel", { model, chosen });
    return answer(c, { tasks, workers: places.slice(0, MAX_PLACES_SHOWN).map(presentPlace) });
  },
);

const list = endpoint(
  {
    method: "get",
    lane: "heavy",
    path: "/api/model-tasks",
    tag: TAG,
    ...asks("listModelTasks"),
    summary: "List model tasks, newest first",
    query: modelTaskListQuery,
    answers: { 200: { description: "A page of model tasks.", schema: modelTaskList } },
  },
  async (c, { query, token }) => {
    const listed = await ask(c, token, "listModelTasks", query);
    return answer(c, { ...listed, limit: query.limit, offset: query.offset });
  },
);

const cancel = operation(
  "cancelModelTask",
  {
    method: "post",
    path: "/api/model-tasks/{id}/cancel",
    tag: TAG,
    summary: "Cancel a model task",
    params: modelTaskIdParam,
    body: z.strictObject({}),
    isBodyOptional: true,
    answers: { 200: { description: "The cancelled task.", schema: modelTaskResource } },
  },
  ({ params }) => params,
);

const progress = operation(
  "progressModelTask",
  {
    method: "post",
    path: "/api/model-tasks/{id}/progress",
    tag: TAG,
    summary: "Report how far a model task is",
    description: "At most once a second. The first report shows that the worker has the task.",
    params: modelTaskIdParam,
    body: taskProgressRequest,
    answers: { 200: { description: "The task after the report.", schema: modelTaskResource } },
  },
  ({ params, body }) => ({ ...params, progress: toTaskProgress(body) }),
);

const done = operation(
  "finishModelTask",
  {
    method: "post",
    path: "/api/model-tasks/{id}/done",
    tag: TAG,
    summary: "Report that a model task is done, or failed",
    params: modelTaskIdParam,
    body: taskDoneRequest,
    isBodyOptional: true,
    answers: { 200: { description: "The task after the report.", schema: modelTaskResource } },
  },
  ({ params, body }) => ({ ...params, error: toTaskError(body) }),
);

export const modelRoutes: readonly Endpoint[] = [create, place, list, cancel, progress, done];
