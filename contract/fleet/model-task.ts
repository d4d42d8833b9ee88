// Tasks for the models of workers on the wire, and where there is room for a model.

import * as z from "zod";
import { MODEL_ACTIONS } from "../../domain/fleet/machine.ts";
import {
  MODEL_TASK_STATUSES,
  type ModelTask,
  type TaskError,
  type TaskProgress,
} from "../../domain/fleet/model-task.ts";
import type { PlaceVerdict } from "../../domain/fleet/placement.ts";
import {
  count,
  instanceName,
  instant,
  label,
  listQuery,
  modelName,
  page,
  recordId,
  tags,
  toIso,
  toIsoOrNull,
} from "../words/field.ts";
import { MAX_COPIES } from "../words/values.ts";

const MAX_KEEP_ALIVE_CHARS = 32;
const MAX_STAGE_CHARS = 200;
const MAX_ERROR_CHARS = 2048;
const MAX_KEEP_ALIVE_SECONDS = 31_536_000;

const stage = label(MAX_STAGE_CHARS);
const bytes = count;

/** What a worker reports, and what readers see. */
export const taskProgressFields = {
  completed_bytes: bytes.nullish(),
  total_bytes: bytes.nullish(),
  bytes_per_second: z.number().min(0).nullish(),
  stage: stage.default("running").meta({ description: "what it does now, in the runtime's words: `pulling manifest`" }),
};

const taskError = z.strictObject({ code: label(64), message: z.string().max(MAX_ERROR_CHARS) });
export const taskDoneFields = { error: taskError.nullish() };

export const taskProgressRequest = z.strictObject(taskProgressFields).meta({ id: "ModelTaskProgress" });
export const taskDoneRequest = z.strictObject(taskDoneFields).meta({ id: "ModelTaskDone" });

/** As Ollama reads it. */
const GO_DURATION = /^[-+]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;

const keepAlive = z.union([
  z
    .string()
    .min(1)
    .max(MAX_KEEP_ALIVE_CHARS)
    .regex(GO_DURATION, "must be a duration, as in 30m or 1h30m; a number counts seconds, and -1 is for ever"),
  z.number().min(-1).max(MAX_KEEP_ALIVE_SECONDS),
]);

export const modelTaskRequest = z
  .strictObject({
    action: z.enum(MODEL_ACTIONS),
    model: modelName,
    keep_alive: keepAlive.nullish().meta({
      description: "for `load`: how long the model stays loaded, as Ollama reads it (`30m`, seconds, -1: for ever)",
    }),
  })
  .meta({ id: "NewModelTask" });

export const modelTaskResource = z
  .object({
    id: z.string(),
    worker: z.string(),
    action: z.enum(MODEL_ACTIONS),
    model: z.string(),
    keep_alive: z.union([z.string(), z.number()]).nullable(),
    status: z.enum(MODEL_TASK_STATUSES),
    progress: z.object({
      completed_bytes: count.optional(),
      total_bytes: count.optional(),
      bytes_per_second: z.number().optional(),
      stage: z.string(),
    }),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    created_at: instant,
    finished_at: instant.nullable(),
  })
  .meta({ id: "ModelTask" });

export const modelTaskAnswer = z.object({ task: modelTaskResource }).meta({ id: "ModelTaskAnswer" });

export const modelTaskListQuery = z.strictObject({
  ...listQuery,
  worker: instanceName.optional(),
  status: z.enum(MODEL_TASK_STATUSES).optional(),
});
export const modelTaskList = z.object({ tasks: z.array(modelTaskResource), ...page }).meta({ id: "ModelTaskList" });
export const modelTaskIdParam = z.object({ id: recordId });

export const placeRequest = z
  .strictObject({
    model: modelName,
    copies: z.int().min(1).max(MAX_COPIES).default(1).meta({
      description: "on how many workers it is to be loaded, those that have it loaded or are getting it included",
    }),
    tags: tags.optional().meta({ description: "only on workers with all of them" }),
    dry_run: z.boolean().default(false),
  })
  .meta({ id: "ModelPlacement" });

export const MAX_PLACES_SHOWN = 200;

const placedWorker = z.object({
  instance: z.string(),
  score: z.number().nullable().meta({ description: "null: it gets none, for the reasons" }),
  breakdown: z.record(z.string(), z.number()),
  reasons: z.array(z.string()),
});

export const placeAnswer = z
  .object({
    tasks: z.array(modelTaskResource),
    workers: z
      .array(placedWorker)
      .meta({ description: `best first; of more than ${MAX_PLACES_SHOWN} workers the first` }),
  })
  .meta({ id: "ModelPlacementAnswer" });

export type ModelTaskRequest = z.input<typeof modelTaskRequest>;
export type ModelTaskResource = z.infer<typeof modelTaskResource>;
export type ModelTaskAnswer = z.infer<typeof modelTaskAnswer>;
export type ModelTaskListQuery = z.infer<typeof modelTaskListQuery>;
export type ModelTaskList = z.infer<typeof modelTaskList>;
export type PlaceRequest = z.input<typeof placeRequest>;
export type PlaceAnswer = z.infer<typeof placeAnswer>;
export type TaskProgressRequest = z.infer<typeof taskProgressRequest>;
export type TaskDoneRequest = z.infer<typeof taskDoneRequest>;

export const toTaskProgress = (body: TaskProgressRequest): TaskProgress => ({
  completedBytes: body.completed_bytes ?? null,
  totalBytes: body.total_bytes ?? null,
  bytesPerSecond: body.bytes_per_second ?? null,
  stage: body.stage,
});

export const toTaskError = ({ error }: TaskDoneRequest): TaskError | null => error ?? null;

const presentProgress = ({
  completedBytes,
  totalBytes,
  bytesPerSecond,
  stage: doing,
}: TaskProgress): ModelTaskResource["progress"] => ({
  ...(completedBytes === null ? {} : { completed_bytes: completedBytes }),
  ...(totalBytes === null ? {} : { total_bytes: totalBytes }),
  ...(bytesPerSecond === null ? {} : { bytes_per_second: bytesPerSecond }),
  stage: doing,
});

export const presentPlace = ({
  instance,
  score,
  breakdown,
  reasons,
}: PlaceVerdict): PlaceAnswer["workers"][number] => ({
  instance,
  score,
  breakdown: { ...breakdown },
  reasons: [...reasons],
});

export const presentTask = (task: ModelTask): ModelTaskResource => ({
  id: task.id,
  worker: task.worker,
  action: task.action,
  model: task.model,
  keep_alive: task.keepAlive,
  status: task.status,
  progress: presentProgress(task.progress),
  error: task.error === null ? null : { ...task.error },
  created_at: toIso(task.createdAt),
  finished_at: toIsoOrNull(task.finishedAt),
});
