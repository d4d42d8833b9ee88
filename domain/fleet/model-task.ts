// A task for the models of one worker: pull, load, unload or delete one. It is lost with nobody: until it is over, its
// worker is given it again whenever it is back.
//
// queued → running → done or failed; queued, running → cancelled

import type { RefusalOf } from "../words/refusal.ts";
import { err, ok, type Result } from "../words/result.ts";
import type { ModelAction } from "./machine.ts";

export const MODEL_TASK_STATUSES = ["queued", "running", "done", "failed", "cancelled"] as const;
type ModelTaskStatus = (typeof MODEL_TASK_STATUSES)[number];

export interface TaskProgress {
  readonly completedBytes: number | null;
  readonly totalBytes: number | null;
  readonly bytesPerSecond: number | null;
  readonly stage: string;
}

export interface TaskError {
  readonly code: string;
  readonly message: string;
}

export interface ModelTask {
  readonly id: string;
  readonly worker: string;
  readonly action: ModelAction;
  readonly model: string;
  /** How long the model stays loaded, as its runtime reads it; null: as the runtime is set. */
  readonly keepAlive: string | number | null;
  readonly status: ModelTaskStatus;
  readonly progress: TaskProgress;
  readonly error: TaskError | null;
  readonly createdAt: number;
  readonly finishedAt: number | null;
  /** Its worker has not reported on it since it was created, cancelled, or since the worker is back. */
  readonly isOwed: boolean;
  /** When the stored progress was reported. */
  readonly progressAt: number | null;
}

/** Killed with the work: what takes disk, bandwidth and memory. */
const STOPPED_BY_KILLSWITCH: ReadonlySet<ModelAction> = new Set(["pull", "load"]);
export const isStoppedByKillswitch = ({ action }: Pick<ModelTask, "action">): boolean =>
  STOPPED_BY_KILLSWITCH.has(action);

export const isTaskOver = ({ status }: Pick<ModelTask, "status">): boolean =>
  status !== "queued" && status !== "running";

const NO_PROGRESS = { completedBytes: null, totalBytes: null, bytesPerSecond: null } as const;

export const newModelTask = (
  order: Pick<ModelTask, "id" | "worker" | "action" | "model" | "keepAlive">,
  nowAt: number,
): ModelTask => ({
  ...order,
  status: "queued",
  progress: { ...NO_PROGRESS, stage: "queued" },
  error: null,
  createdAt: nowAt,
  finishedAt: null,
  isOwed: true,
  progressAt: null,
});

type Changed = Result<ModelTask, RefusalOf<"task_over">>;

const whileOpen = (task: ModelTask, change: () => ModelTask): Changed =>
  isTaskOver(task) ? err({ code: "task_over", id: task.id, status: task.status }) : ok(change());

export const noteTaskProgress = (task: ModelTask, progress: TaskProgress, nowAt: number): Changed =>
  whileOpen(task, () => ({ ...task, status: "running", progress, isOwed: false, progressAt: nowAt }));

/** A worker tells its progress once a second at most, so the last one it told may fall short. */
const whole = (progress: TaskProgress): TaskProgress => ({
  ...progress,
  completedBytes: progress.totalBytes ?? progress.completedBytes,
});

export const endTask = (task: ModelTask, error: TaskError | null, nowAt: number): Changed =>
  whileOpen(task, () => ({
    ...task,
    status: error === null ? "done" : "failed",
    progress: error === null ? whole(task.progress) : task.progress,
    error,
    finishedAt: nowAt,
    isOwed: false,
  }));

/** Its worker is told, whether or not it had begun. */
export const cancelTask = (task: ModelTask, nowAt: number): Changed =>
  whileOpen(task, () => ({ ...task, status: "cancelled", finishedAt: nowAt, isOwed: true }));

/** Not over, or its worker is still to be told that it is. */
export const isTaskLive = (task: ModelTask): boolean => task.isOwed || !isTaskOver(task);

/** Its worker is back, and may have lost it. */
export const owedAgain = (task: ModelTask): ModelTask => (isTaskOver(task) ? task : { ...task, isOwed: true });

/** A report, even if it comes too late, shows that the worker knows how the task stands. */
export const noLongerOwed = (task: ModelTask): ModelTask => ({ ...task, isOwed: false });

/** A task that runs is given again when nothing was reported for so long: its worker may have been started again. */
export const isToBeGiven = (task: ModelTask, silentAfterMs: number, nowAt: number): boolean =>
  task.isOwed || (task.status === "running" && nowAt - (task.progressAt ?? task.createdAt) > silentAfterMs);
