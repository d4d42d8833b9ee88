// Tasks for the models of one worker: given by an operator, reported on by the worker.

import { type ModelTaskListQuery, type ModelTaskResource, presentTask } from "../../../contract/fleet/model-task.ts";
import type { ModelAction } from "../../../domain/fleet/machine.ts";
import {
  endTask,
  isStoppedByKillswitch,
  isTaskOver,
  type ModelTask,
  newModelTask,
  noLongerOwed,
  noteTaskProgress,
  type TaskError,
  type TaskProgress,
} from "../../../domain/fleet/model-task.ts";
import { permit } from "../../../domain/killswitch.ts";
import { notFound, type Refusal } from "../../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../../domain/words/result.ts";
import {
  cancelAndTell,
  findTask,
  giveTask,
  MAX_OPEN_TASKS,
  MAX_TASKS_A_WORKER,
  putTask,
  showTask,
} from "../../steps/model-tasks.ts";
import type { Turn } from "../../turn/turn.ts";
import { mayActAs } from "./presence.ts";
import { findWorker } from "./workers.ts";

interface TaskOrder {
  readonly instance: string;
  readonly action: ModelAction;
  readonly model: string;
  readonly keepAlive: string | number | null;
}

/** A stored progress is renewed when it is this old; memory has a later one. */
const STORE_PROGRESS_AFTER_MS = 10_000;
const RETRY_AFTER_SECONDS = 30;

/** The killswitch refuses what it cancels. */
export const permitTask = (turn: Turn, action: ModelAction): Result<null, Refusal> =>
  permit(turn.memory.killswitch, isStoppedByKillswitch({ action }) ? "dispatch" : "other");

export const createTask = (turn: Turn, order: TaskOrder): Result<{ task: ModelTaskResource }, Refusal> => {
  const { instance, action } = order;
  const found = findWorker(turn, instance);
  if (!found.ok) return found;
  const permitted = permitTask(turn, action);
  if (!permitted.ok) return permitted;
  const can = found.value.worker.machine?.can ?? [];
  if (can.length === 0) return err({ code: "models_not_managed", instance });
  if (!can.includes(action)) return err({ code: "action_not_supported", instance, action, can });
  const given = orderTask(turn, order);
  return given.ok ? ok({ task: presentTask(given.value) }) : given;
};

/** Gives the task. An equal task that is not over stands for it. */
export const orderTask = (
  turn: Turn,
  { instance, action, model, keepAlive }: TaskOrder,
): Result<ModelTask, Refusal> => {
  const { modelTasks } = turn.memory;
  const open = modelTasks.of(instance).filter((task) => !isTaskOver(task));
  const same = open.find((one) => one.action === action && one.model === model && one.keepAlive === keepAlive);
  if (same !== undefined) return ok(same);
  for (const [limit, count] of [
    [MAX_TASKS_A_WORKER, open.length],
    [MAX_OPEN_TASKS, modelTasks.openCount],
  ] as const)
    if (count >= limit) return err({ code: "too_many_model_tasks", limit, retryAfterSeconds: RETRY_AFTER_SECONDS });
  const task = newModelTask({ id: turn.newId(), worker: instance, action, model, keepAlive }, turn.nowAt);
  for (const old of turn.store.modelTasks.removeOld(instance, MAX_TASKS_A_WORKER - 1)) modelTasks.remove(old);
  giveTask(turn, task);
  turn.audit("model_task.created", instance, { id: task.id, action, model });
  return ok(task);
};

type Listed = { tasks: ModelTaskResource[]; total: number };

export const listTasks = (turn: Turn, query: ModelTaskListQuery): Result<Listed, Refusal> => {
  const { modelTasks } = turn.store;
  const tasks = modelTasks.page(query, query.limit, query.offset);
  return ok({
    tasks: tasks.map((stored) => presentTask(turn.memory.modelTasks.find(stored.id) ?? stored)),
    total: modelTasks.count(query),
  });
};

export const cancel = (turn: Turn, { id }: { id: string }): Result<ModelTaskResource, Refusal> => {
  const task = findTask(turn, id);
  if (task === null) return err(notFound("model task", id));
  const cancelled = cancelAndTell(turn, task);
  if (!cancelled.ok) return cancelled;
  turn.audit("model_task.cancelled", task.worker, { id, action: task.action, model: task.model });
  return ok(presentTask(cancelled.value));
};

/** A worker's report on its task. A report on a task that is over is refused, which tells the worker so. */
const reportOn = (
  turn: Turn,
  id: string,
  settle: (task: ModelTask) => Result<ModelTask, Refusal>,
): Result<ModelTaskResource, Refusal> => {
  const task = findTask(turn, id);
  if (task === null) return err(notFound("model task", id));
  const allowed = mayActAs(turn, task.worker);
  if (!allowed.ok) return allowed;
  const settled = settle(task);
  if (settled.ok) return ok(presentTask(settled.value));
  if (task.isOwed) putTask(turn, noLongerOwed(task));
  return settled;
};

export const progress = (
  turn: Turn,
  request: { id: string; progress: TaskProgress },
): Result<ModelTaskResource, Refusal> =>
  reportOn(turn, request.id, (task) => {
    const noted = noteTaskProgress(task, request.progress, turn.nowAt);
    if (!noted.ok) return noted;
    const storedAt = turn.store.modelTasks.find(task.id)?.progressAt ?? Number.NEGATIVE_INFINITY;
    const isFresh = task.status === "running" && !task.isOwed && turn.nowAt - storedAt < STORE_PROGRESS_AFTER_MS;
    if (isFresh) showTask(turn, noted.value);
    else putTask(turn, noted.value);
    return noted;
  });

export const done = (
  turn: Turn,
  request: { id: string; error: TaskError | null },
): Result<ModelTaskResource, Refusal> =>
  reportOn(turn, request.id, (task) => {
    const ended = endTask(task, request.error, turn.nowAt);
    if (!ended.ok) return ended;
    putTask(turn, ended.value);
    const { worker, action, model } = task;
    const code = request.error === null ? {} : { code: request.error.code };
    turn.log("info", `model_task.${ended.value.status}`, { worker, detail: `${action} ${model}`, ...code });
    return ended;
  });
