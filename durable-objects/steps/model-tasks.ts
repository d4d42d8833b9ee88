// What a turn does with model tasks, whichever operation it belongs to: store and tell them, give them to a worker that
// is back, end them with their worker or with the killswitch.

import { type ModelTaskResource, presentTask } from "../../contract/fleet/model-task.ts";
import type { CoordinatorMessage } from "../../contract/socket.ts";
import {
  cancelTask,
  endTask,
  isStoppedByKillswitch,
  isTaskOver,
  isToBeGiven,
  type ModelTask,
  owedAgain,
} from "../../domain/fleet/model-task.ts";
import type { Turn } from "../turn/turn.ts";

/** Of one worker, those that are over included: the oldest of these are forgotten. */
export const MAX_TASKS_A_WORKER = 100;
/** Of all workers, not over. */
export const MAX_OPEN_TASKS = 5_000;

/** The only writer of model tasks. */
export const putTask = (turn: Turn, task: ModelTask): void => {
  turn.store.modelTasks.put(task);
  showTask(turn, task);
};

/** A change that may be lost with the object's memory. */
export const showTask = (turn: Turn, task: ModelTask): void => {
  turn.memory.modelTasks.put(task);
  turn.effects.changedModelTasks.add(task.id);
};

/** As it is now; its row may have an older progress. */
export const findTask = (turn: Turn, id: string): ModelTask | null =>
  turn.memory.modelTasks.find(id) ?? turn.store.modelTasks.find(id);

/** Sends a task to its worker, or wakes the claim of a worker without a socket. */
export const giveTask = (turn: Turn, task: ModelTask): void => {
  putTask(turn, task);
  turn.send(task.worker, taskMessage(task));
  turn.effects.wokenWorkers.add(task.worker);
};

const taskMessage = (task: ModelTask): CoordinatorMessage =>
  task.status === "cancelled"
    ? { type: "model.task_cancelled", task_id: task.id }
    : { type: "model.task", task_id: task.id, task: presentTask(task) };

/** What a worker that has opened its socket is told. */
export const taskMessages = (turn: Turn, instance: string): CoordinatorMessage[] =>
  turn.memory.modelTasks.of(instance).map(taskMessage);

/** The tasks that an answer over HTTP has. */
export const givenTasks = (turn: Turn, instance: string): ModelTaskResource[] =>
  tasksToGive(turn, instance).map(presentTask);

/** The same for a claim. If it may wait, it gets them once. */
export const claimedTasks = (turn: Turn, instance: string, isWaiting: boolean): ModelTaskResource[] => {
  const tasks = tasksToGive(turn, instance);
  const isNews = turn.memory.modelTasks.hand(tasks);
  return isWaiting && !isNews ? [] : tasks.map(presentTask);
};

const tasksToGive = (turn: Turn, instance: string): ModelTask[] => {
  const { modelTasks, config } = turn.memory;
  return modelTasks.of(instance).filter((task) => isToBeGiven(task, config.presence.offlineAfterMs, turn.nowAt));
};

/** The worker was away, and may have lost what it had. */
export const oweTasks = (turn: Turn, instance: string): void => {
  for (const task of turn.memory.modelTasks.of(instance)) if (!task.isOwed) putTask(turn, owedAgain(task));
};

/** It was started again without allowing model tasks. */
export const failUnmanaged = (turn: Turn, instance: string): void => {
  const error = { code: "models_not_managed", message: "the worker was started again without --manage-models" };
  for (const task of turn.memory.modelTasks.of(instance)) putIfDone(turn, endTask(task, error, turn.nowAt));
};

/** Cancels all pulls and loads. Their workers are told. */
export const stopTasks = (turn: Turn): void => {
  const stopped = turn.memory.modelTasks.all().filter((task) => isStoppedByKillswitch(task) && !isTaskOver(task));
  for (const task of stopped) cancelAndTell(turn, task);
};

export const cancelAndTell = (turn: Turn, task: ModelTask): ReturnType<typeof cancelTask> => {
  const cancelled = cancelTask(task, turn.nowAt);
  if (!cancelled.ok) return cancelled;
  // Of very many, those whose worker is away learn it from the answer to their next report.
  const isTold = turn.memory.modelTasks.size <= MAX_OPEN_TASKS;
  giveTask(turn, { ...cancelled.value, isOwed: isTold });
  return cancelled;
};

/** Its worker is forgotten. */
export const forgetTasks = (turn: Turn, instance: string): void => {
  for (const task of turn.memory.modelTasks.of(instance)) turn.memory.modelTasks.remove(task);
  turn.store.modelTasks.removeOf(instance);
};

const putIfDone = (turn: Turn, done: ReturnType<typeof endTask>): void => {
  if (done.ok) putTask(turn, done.value);
};
