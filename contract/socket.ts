// The worker's WebSocket: flat JSON messages, one or an array of them per frame, in both directions. The platform
// answers the text `ping` with `pong`, which counts as a heartbeat.

import * as z from "zod";
import { modelTaskResource, taskDoneFields, taskProgressFields } from "./fleet/model-task.ts";
import { leasedJob, presenceAnswer, presenceRequest } from "./fleet/worker.ts";
import {
  completeFields,
  failFields,
  givesResult,
  heartbeatFields,
  RESULT_MISSING,
  releaseFields,
  spentFields,
  startFields,
  triedFields,
} from "./jobs/report.ts";
import { killswitchState } from "./killswitch.ts";
import { problemResource } from "./words/problem.ts";

export const MAX_FRAME_MESSAGES = 1000;
/** Large enough for one result of the largest size, or many small ones. */
export const MAX_FRAME_BYTES = 4 * 1024 * 1024;

/** The message's `ack` repeats it. */
const messageId = z.string().min(1).max(64);
const report = { id: messageId, job_id: z.string().min(1).max(64) };
const taskReport = { id: messageId, task_id: z.string().min(1).max(64) };

export const workerMessage = z
  .discriminatedUnion("type", [
    presenceRequest.extend({ type: z.literal("presence"), id: messageId }),
    z.strictObject({ type: z.literal("job.started"), ...report, ...startFields }),
    z.strictObject({ type: z.literal("job.streaming"), ...report, ...startFields }),
    z.strictObject({ type: z.literal("job.heartbeat"), ...report, ...heartbeatFields }),
    z
      .strictObject({ type: z.literal("job.completed"), ...report, ...completeFields })
      .refine(givesResult, RESULT_MISSING),
    z.strictObject({ type: z.literal("job.failed"), ...report, ...failFields }),
    z.strictObject({ type: z.literal("job.released"), ...report, ...releaseFields }),
    z.strictObject({ type: z.literal("job.spent"), ...report, ...spentFields }),
    z.strictObject({ type: z.literal("runtime.tried"), id: messageId, ...triedFields }),
    z
      .strictObject({ type: z.literal("model.progress"), ...taskReport, ...taskProgressFields })
      .meta({ description: "at most one a second for each task" }),
    z.strictObject({ type: z.literal("model.done"), ...taskReport, ...taskDoneFields }),
  ])
  .meta({ id: "WorkerMessage" });

/** The `ack` of `presence` also has the fields of its HTTP answer. */
const acknowledgement = z.object({
  type: z.literal("ack"),
  id: z.string(),
  ok: z.boolean(),
  problem: problemResource.optional(),
  ...presenceAnswer.partial().shape,
});

export const coordinatorMessage = z
  .discriminatedUnion("type", [
    z.object({ type: z.literal("welcome"), ...presenceAnswer.partial({ worker: true }).shape }),
    z.object({
      type: z.literal("job.assigned"),
      job: leasedJob,
      config_etag: z.string().optional().meta({
        description: "the ETag of `GET /config` now: a worker that has read this version need not ask again",
      }),
    }),
    z.object({ type: z.literal("job.halted"), job_id: z.string(), lease: z.int(), reason: z.string() }),
    z.object({ type: z.literal("worker.paused"), reason: z.string() }),
    z.object({ type: z.literal("worker.resumed") }),
    z
      .object({ type: z.literal("runtime.try"), model: z.string().nullable() })
      .meta({ description: "generate one token with the model that failed, and answer `runtime.tried`" }),
    z
      .object({ type: z.literal("model.task"), task_id: z.string(), task: modelTaskResource })
      .meta({ description: "also sent again after `welcome` while the task is not over: a known one goes on" }),
    z
      .object({ type: z.literal("model.task_cancelled"), task_id: z.string() })
      .meta({ description: "stop it, and answer `model.done`" }),
    z.object({ type: z.literal("killswitch"), killswitch: killswitchState }),
    acknowledgement,
  ])
  .meta({ id: "CoordinatorMessage" });

export type WorkerMessage = z.infer<typeof workerMessage>;
/** A report on a job. */
export type JobReport = Extract<WorkerMessage, { job_id: string }>;
/** A report on a model task. */
export type ModelTaskReport = Extract<WorkerMessage, { task_id: string }>;
export type CoordinatorMessage = z.infer<typeof coordinatorMessage>;
