// Jobs on the wire: requests in, the Job resource out. The wire has snake_case and RFC 3339; the code has camelCase and
// milliseconds.

import * as z from "zod";
import { MAX_JOB_FILES } from "../../domain/file/file.ts";
import type { Job, JobPayload } from "../../domain/job/job.ts";
import type { JobPatch } from "../../domain/job/job-command.ts";
import type { NewJob } from "../../domain/job/new-job.ts";
import { usdFromNano } from "../../domain/money/price.ts";
import { APIS } from "../../domain/words/api.ts";
import type { JobEvent } from "../../domain/words/event.ts";
import { JOB_STATUSES } from "../../domain/words/job-status.ts";
import type { Json } from "../../domain/words/json.ts";
import { PRIORITIES, TIERS } from "../../domain/words/requirements.ts";
import { actor, presentIds } from "../access/person.ts";
import { fileId } from "../file.ts";
import { traceparentOf } from "../text/traceparent.ts";
import {
  CLEAN_TEXT,
  changeOf,
  count,
  fromIso,
  instant,
  isCleanText,
  json,
  jsonWithin,
  label,
  MAX_INPUT_BYTES,
  MAX_METADATA_PAIRS,
  MAX_PROMPT_BYTES,
  modelName,
  providerName,
  tags,
  text,
  toIso,
  toIsoOrNull,
} from "../words/field.ts";
import type { EveryFieldIsTold } from "../words/told-field.ts";
import { MAX_BATCH_JOBS } from "../words/values.ts";
import { presentUsage, usage } from "./usage.ts";

export const priority = z.enum(PRIORITIES);
export const tier = z.enum(TIERS);
export const jobStatus = z.enum(JOB_STATUSES);

export const metadataName = label(64);
export const metadataValue = z.string().max(256).refine(isCleanText, CLEAN_TEXT);

/** Pairs by which the caller can find jobs and group costs. */
export const metadata = z
  .record(metadataName, metadataValue)
  .refine((pairs) => Object.keys(pairs).length <= MAX_METADATA_PAIRS, `must have at most ${MAX_METADATA_PAIRS} pairs`)
  .meta({
    id: "Metadata",
    description:
      "at most 16 pairs of text (names up to 64, values up to 256 characters); lists and costs can filter by them",
  });

const isTextOrObject = (value: unknown): boolean =>
  value == null || typeof value === "string" || (typeof value === "object" && !Array.isArray(value));

/** The job's runtime checks the fields of an object, so the schema keeps every name. */
export const jobInput = jsonWithin(MAX_INPUT_BYTES)
  .refine(isTextOrObject, "must be text or an object")
  .meta({
    description: "text that follows the prompt, or an object of model parameters (see `JobInput`)",
    anyOf: [{ type: "string" }, { type: "object" }, { type: "null" }],
  });

export const jobFiles = z
  .array(fileId)
  .max(MAX_JOB_FILES)
  .meta({ description: `ids of at most ${MAX_JOB_FILES} files, which the job's worker gets` });

export const edgeAllowed = z.boolean().meta({
  description: "false: it does not go to a provider that the coordinator calls itself",
});

export const MAX_FAIRNESS_KEY_CHARS = 128;
export const fairnessKey = label(MAX_FAIRNESS_KEY_CHARS).meta({
  description: "names a flow: of equal jobs, those of the flow that was served least go first",
});

export const newJobRequest = z
  .strictObject({
    prompt: text(MAX_PROMPT_BYTES),
    input: jobInput.optional(),
    provider: providerName.nullish(),
    model: modelName.nullish(),
    priority: priority.optional(),
    urgency: priority.optional().meta({ description: "another name for priority" }),
    tier: tier.nullish(),
    tags: tags.optional(),
    timeout_seconds: z.number().positive().max(604_800).nullish(),
    run_at: instant.nullish(),
    max_attempts: z.int().min(1).max(100).nullish(),
    metadata: metadata.optional(),
    stream: z.boolean().optional().meta({ description: "true: the output can be read while it is written" }),
    files: jobFiles.optional(),
    edge: edgeAllowed.optional(),
    fairness_key: fairnessKey.nullish(),
  })
  .refine((body) => body.priority === undefined || body.urgency === undefined || body.priority === body.urgency, {
    path: ["urgency"],
    message: "differs from priority; give only one of the two",
  })
  .meta({ id: "NewJob" });

export const newJobBatchRequest = z
  .strictObject({ jobs: z.array(newJobRequest).min(1).max(MAX_BATCH_JOBS) })
  .meta({ id: "NewJobBatch" });

export const patchJobRequest = changeOf({
  tags: tags.optional(),
  priority: priority.optional(),
  tier: tier.nullish(),
}).meta({ id: "JobPatch", examples: [{ priority: "high" }] });

export const jobError = z.object({
  code: z.string(),
  message: z.string(),
  status: z.int().optional(),
  retryable: z.boolean(),
});

/** What a job asks for, as answers show it. */
export const asked = {
  prompt: z.string(),
  input: json,
  provider: z.string().nullable(),
  model: z.string().nullable(),
  priority,
  tier: tier.nullable(),
  tags: z.array(z.string()),
};

export const jobResource = z
  .object({
    id: z.string(),
    status: jobStatus,
    ...asked,
    assigned_worker: z.string().nullable(),
    lease: count,
    attempts: count,
    result: json,
    error: jobError.nullable(),
    progress: json,
    usage: usage.nullable().meta({ description: "of its last attempt; `/attempts` has that of each" }),
    cost_usd: z.number().nullable().meta({
      description: "of its last attempt; `/attempts` has that of each, `/api/cost` adds up all",
    }),
    ran_provider: z
      .string()
      .nullable()
      .meta({ description: "the provider that ran the last attempt; null until one started" }),
    ran_model: z.string().nullable(),
    metadata: z.record(z.string(), z.string()),
    api: z
      .enum(APIS)
      .nullable()
      .meta({ description: "the front-door API that the request came in by; null for ordinary jobs" }),
    stream: z.boolean(),
    files: z.array(z.string()).meta({ description: "ids of the files that its worker gets" }),
    result_files: z
      .array(z.object({ id: z.string(), name: z.string(), bytes: count, content_type: z.string() }))
      .meta({ description: "outputs that its worker stored" }),
    result_file: z
      .object({ id: z.string(), bytes: count })
      .nullable()
      .meta({ description: "the file with the result, if that is over 1 MiB; `result` is then null" }),
    result_bytes: count.nullable().meta({ description: "the size of a result over 1 MiB, which is not in the job" }),
    batch: z.string().nullable().meta({ description: "the batch that it is a line of" }),
    custom_id: z.string().nullable().meta({ description: "the line's name in its batch" }),
    first_token_at: instant.nullable(),
    schedule: z.string().nullable(),
    created_by: actor.nullable().meta({ description: "who created it; null for a schedule's job" }),
    edge: edgeAllowed,
    fairness_key: z
      .string()
      .nullable()
      .meta({ description: "the job's own, or the person that a front-door request names" }),
    requested_model: z
      .string()
      .nullable()
      .meta({ description: "the name that a front-door client or a batch's line sent; null for others" }),
    tried: z
      .array(z.object({ model: z.string().nullable(), provider: z.string().nullable(), code: z.string() }))
      .meta({ description: "the models of an alias, or of the request's list, that were asked before `model`" }),
    traceparent: z
      .string()
      .nullable()
      .meta({ description: "W3C Trace Context: that of the request that created it, else one of its own" }),
    timeout_seconds: z.number().nullable(),
    max_attempts: z.int().nullable(),
    waiting_reason: z.string().nullable(),
    run_at: instant.nullable(),
    created_at: instant,
    assigned_at: instant.nullable(),
    started_at: instant.nullable(),
    finished_at: instant.nullable(),
    updated_at: instant,
    archived: z
      .literal(true)
      .optional()
      .meta({ description: "it has left history for the archive, where it can be read and not changed" }),
    truncated: z
      .array(z.enum(["prompt", "input", "result"]))
      .optional()
      .meta({ description: "only in lists: the values that were shortened; read the job itself for the whole text" }),
  })
  .meta({ id: "Job" });

export const jobBatch = z.object({ jobs: z.array(jobResource) }).meta({ id: "JobBatch" });

const scored = { provider: z.string(), score: z.number(), breakdown: z.record(z.string(), z.number()) };

/** The detail of an assignment. Earlier releases stored no runner-up. */
export const routingDecision = z
  .looseObject({
    ...scored,
    strategy: z.string().optional(),
    chain_position: z.int().nullish(),
    refused: z.record(z.string(), count).meta({ description: "how many workers each filter turned away" }),
    runner_up: z
      .object({ worker: z.string(), ...scored })
      .nullish()
      .meta({ description: "who would have got it without the chosen one; null where nobody else might have it" }),
  })
  .meta({ id: "RoutingDecision", description: "the detail of `job.assigned`: why this worker" });

export const jobEventResource = z
  .object({
    at: instant,
    type: z.string(),
    worker: z.string().nullable(),
    lease: count,
    detail: z.union([routingDecision, json]),
  })
  .meta({ id: "JobEvent" });

export const jobEventList = z.object({ events: z.array(jobEventResource) }).meta({ id: "JobEventList" });

export type NewJobRequest = z.infer<typeof newJobRequest>;
export type JobPatchRequest = z.infer<typeof patchJobRequest>;
export type JobResource = z.infer<typeof jobResource>;
export type JobBatch = z.infer<typeof jobBatch>;
export type RoutingDecision = z.infer<typeof routingDecision>;
export type JobEventResource = z.infer<typeof jobEventResource>;
export type JobEventList = z.infer<typeof jobEventList>;

export const toNewJob = (body: NewJobRequest): NewJob => ({
  prompt: body.prompt,
  input: body.input ?? null,
  provider: body.provider ?? null,
  model: body.model ?? null,
  priority: body.priority ?? body.urgency ?? "normal",
  tier: body.tier ?? null,
  tags: body.tags ?? [],
  timeoutMs: body.timeout_seconds == null ? null : Math.ceil(body.timeout_seconds * 1000),
  maxAttempts: body.max_attempts ?? null,
  runAt: body.run_at == null ? null : fromIso(body.run_at),
  schedule: null,
  metadata: body.metadata ?? {},
  ...(body.stream === undefined ? {} : { stream: body.stream }),
  ...(body.files === undefined ? {} : { files: body.files }),
  ...(body.edge === undefined ? {} : { edge: body.edge }),
  fairnessKey: body.fairness_key ?? null,
});

export const toJobPatch = (body: z.infer<typeof patchJobRequest>): JobPatch => ({
  ...(body.tags === undefined ? {} : { tags: body.tags }),
  ...(body.priority === undefined ? {} : { priority: body.priority }),
  ...(body.tier === undefined ? {} : { tier: body.tier }),
});

/** Fields of a record that stay inside the service. */
type Inside =
  | "version"
  | "groupKey"
  | "orderKey"
  | "workerProvider"
  | "settledBy"
  | "rateLimitRetries"
  | "releases"
  | "frontDoor"
  | "queueUntilAt"
  | "keyId"
  | "flow"
  | "share"
  | "readyAt"
  | "runnableAt"
  | "delayedBy"
  | "heartbeatAt"
  | "excludedProviders"
  | "avoidedWorkers"
  | "lastWorker";
/** Given in another unit. */
type Renamed = { costNanoUsd: "cost_usd"; timeoutMs: "timeout_seconds"; batchPlace: "custom_id" };
/** Every other field must be in the resource: a new field that is neither there nor in `Inside` does not compile. */
true satisfies EveryFieldIsTold<Job, Inside, Renamed, JobResource>;

const presentCreator = ({ keyId, createdBy }: Job): JobResource["created_by"] => {
  if (createdBy === null) return null;
  const { name, personId } = createdBy;
  return { ...presentIds({ keyId, personId }), name };
};

/** The Job resource. `waitingReason` is null unless the job is pending. */
export const presentJob = (
  job: Job,
  payload: JobPayload,
  result: Json = null,
  waitingReason: string | null = null,
): JobResource => ({
  id: job.id,
  status: job.status,
  prompt: payload.prompt,
  input: payload.input,
  provider: job.provider,
  model: job.model,
  priority: job.priority,
  tier: job.tier,
  tags: [...job.tags],
  assigned_worker: job.assignedWorker,
  lease: job.lease,
  attempts: job.attempts,
  result,
  error: job.error === null ? null : { ...job.error },
  progress: job.progress,
  usage: job.usage === null ? null : presentUsage(job.usage),
  cost_usd: job.costNanoUsd === null ? null : usdFromNano(job.costNanoUsd),
  ran_provider: job.ranProvider,
  ran_model: job.ranModel,
  metadata: { ...job.metadata },
  api: job.api,
  stream: job.stream,
  files: [...job.files],
  result_files: job.resultFiles.map(({ contentType, ...file }) => ({ ...file, content_type: contentType })),
  // The result file of a client's request is only on its way to the client.
  result_file: job.resultFile === null || job.api !== null ? null : { ...job.resultFile },
  result_bytes: job.resultBytes,
  batch: job.batch,
  custom_id: job.batchPlace?.customId ?? null,
  first_token_at: toIsoOrNull(job.firstTokenAt),
  schedule: job.schedule,
  created_by: presentCreator(job),
  edge: job.edge,
  fairness_key: job.fairnessKey,
  requested_model: job.requestedModel ?? job.batchPlace?.model ?? null,
  tried: job.tried.map((one) => ({ ...one })),
  traceparent: traceparentOf(job),
  timeout_seconds: job.timeoutMs === null ? null : job.timeoutMs / 1000,
  max_attempts: job.maxAttempts,
  waiting_reason: waitingReason,
  run_at: toIsoOrNull(job.runAt),
  created_at: toIso(job.createdAt),
  assigned_at: toIsoOrNull(job.assignedAt),
  started_at: toIsoOrNull(job.startedAt),
  finished_at: toIsoOrNull(job.finishedAt),
  updated_at: toIso(job.updatedAt),
});

export const presentJobEvent = (event: Omit<JobEvent, "jobId">): JobEventResource => ({
  at: toIso(event.at),
  type: event.type,
  worker: event.worker,
  lease: event.lease,
  detail: event.detail,
});
