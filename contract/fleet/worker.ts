// Workers on the wire: presence, the fleet, and the answers of the worker protocol.

import * as z from "zod";
import { parseHours } from "../../domain/fleet/hours.ts";
import { type MachineReport, UNKNOWN_MACHINE } from "../../domain/fleet/machine.ts";
import {
  MAX_CONCURRENCY,
  type PresenceReport,
  WORKER_STATUSES,
  type Worker,
  type WorkerView,
} from "../../domain/fleet/worker.ts";
import { failureRateOf, WORKER_SORTS, WORKER_STATES } from "../../domain/fleet/worker-state.ts";
import type { Job, JobPayload } from "../../domain/job/job.ts";
import { APIS } from "../../domain/words/api.ts";
import { TIERS } from "../../domain/words/requirements.ts";
import { parseTimezone } from "../../domain/words/timezone.ts";
import { jobResource, presentJob } from "../jobs/job.ts";
import { killswitchState } from "../killswitch.ts";
import {
  count,
  digits,
  fromIso,
  instanceName,
  instant,
  label,
  listQuery,
  MAX_TAG_CHARS,
  MAX_TAGS,
  modelName,
  page,
  providerName,
  readableBy,
  recordId,
  splitList,
  TAG_CHARACTERS,
  tag,
  toIso,
  toIsoOrNull,
} from "../words/field.ts";
import type { EveryFieldIsTold } from "../words/told-field.ts";
import { MAX_RUNTIME_MODELS } from "../words/values.ts";
import { machineAnswer, machineFields, presentMachine, toMachine } from "./machine.ts";
import { modelTaskResource } from "./model-task.ts";

/** Bounds the parsing; 64 KiB of models and tags is the bound that counts. */
const MAX_MODELS = 10_000;
const MAX_REPORTED_JOBS = 1000;
const MAX_PRESENT = 1000;
const MAX_OFFSET = 100_000;

/** The tags of a presence report: comma-separated, surrounding spaces ignored, stored as given. */
export const tagList = z
  .string()
  .max(MAX_TAGS * (MAX_TAG_CHARS + ", ".length))
  .refine(
    (given) => splitList(given).every((one) => tag.safeParse(one).success),
    `must be tags separated by commas, each 1 to ${MAX_TAG_CHARS} ${TAG_CHARACTERS}`,
  )
  .refine((given) => splitList(given).length <= MAX_TAGS, `must be at most ${MAX_TAGS} tags`);

const presenceFields = {
  instance: instanceName,
  status: z.enum(["online", "idle", "busy"]).optional().meta({
    description:
      "busy: it is given nothing until it reports otherwise, whatever its load; one that is only full need not say so",
  }),
  tags: tagList.optional(),
  provider: providerName,
  concurrency: z.int().min(0).max(MAX_CONCURRENCY).optional().meta({ default: 1 }),
  /** Empty: as if it were left out. */
  models: z.array(modelName).max(MAX_MODELS).nullish(),
  tier: z.enum(TIERS).nullish(),
  version: label(64).nullish(),
  apis: z
    .array(z.enum(APIS))
    .max(APIS.length)
    .optional()
    .meta({ description: "the front-door APIs that it answers; none: it takes ordinary jobs only" }),
  runtime_models: z.array(modelName).max(MAX_RUNTIME_MODELS).optional().meta({
    description:
      "the models that its runtime lists now: what a worker without `models` takes, unless the list is cut at 500",
  }),
  unavailable: label(500)
    .nullish()
    .meta({ description: "why it can take no jobs now, e.g. because its runtime does not answer; null when it can" }),
  ...machineFields,
  jobs: z.array(z.string().min(1).max(64)).max(MAX_REPORTED_JOBS).optional(),
};

export const presenceRequest = z.strictObject(presenceFields).meta({ id: "Presence" });

export const workerResource = z
  .object({
    instance: z.string(),
    provider: z.string(),
    status: z.enum(WORKER_STATUSES),
    tags: z.string(),
    models: z.array(z.string()).nullable(),
    tier: z.enum(TIERS).nullable(),
    concurrency: count,
    current_load: count,
    paused: z.boolean(),
    pause_reason: z.string().nullable(),
    paused_until: instant
      .nullable()
      .meta({ description: "when its pause ends by itself; null: never, or it has none" }),
    halt_confirmed: z.boolean().nullable().meta({
      description: "whether it has confirmed the killswitch's halt; null while nothing is halted",
    }),
    unavailable: z
      .string()
      .nullable()
      .meta({ description: "why it can take no jobs now: its hours, or its own words; null when it can" }),
    hours: z
      .object({ hours: z.string(), timezone: z.string() })
      .nullable()
      .meta({ description: "the hours that an operator gave it; null: always" }),
    failure_rate: z.number().nullable().meta({
      description:
        "share of its recent jobs that failed through its own fault, 0 to 1; null before it has finished any",
    }),
    last_heartbeat: instant,
    connected: z.boolean(),
    edge: z.boolean().meta({ description: "true: the coordinator itself, which calls the provider" }),
    version: z.string().nullable(),
    registered_at: instant,
    ...machineAnswer,
  })
  .meta({ id: "Worker" });

const modelTasks = z.array(modelTaskResource).default([]).meta({
  description: "model tasks that it has not reported on since they were given or cancelled: those are `cancelled`",
});

const leasedFile = z
  .object({ id: z.string(), name: z.string(), bytes: count, content_type: z.string(), url: z.string() })
  .meta({ id: "LeasedFile" });

/** A job in the form its worker gets. An input too large for a message is fetched: then `input` is null. */
export const leasedJob = jobResource
  .extend({
    files: z.array(leasedFile).meta({ description: "the job's files; each `url` needs no key while the job may run" }),
    input_url: z.string().optional().meta({ description: "where to fetch the input, if it is over 1 MiB" }),
    headers: z.record(z.string(), z.string()).optional().meta({
      description: "request headers for the runtime: anthropic-version, anthropic-beta",
    }),
  })
  .meta({ id: "LeasedJob" });

export const presenceAnswer = z
  .object({
    worker: workerResource,
    jobs: z.array(leasedJob),
    halted: z.array(z.string()),
    killswitch: killswitchState,
    heartbeat_interval_seconds: z.number(),
    server_time: instant,
    model_tasks: modelTasks,
  })
  .meta({ id: "PresenceAnswer" });

export const workerDetail = workerResource
  .extend({
    apis: z.array(z.enum(APIS)),
    runtime_models: z.array(z.string()).nullable(),
    jobs: z.array(jobResource),
    recent_outcomes: z.array(
      z.object({
        job_id: z.string(),
        outcome: z.enum(["completed", "failed"]),
        code: z.string().nullable(),
        at: instant,
      }),
    ),
  })
  .meta({ id: "WorkerDetail" });

export const presenceListQuery = z.strictObject({
  limit: digits(1, MAX_PRESENT).default(MAX_PRESENT),
  offset: digits(0, MAX_OFFSET).default(0),
});
export const presenceList = z.object({ workers: z.array(workerResource), total: count }).meta({ id: "PresenceList" });
export const workerListQuery = z.strictObject({
  ...listQuery,
  q: label(128).optional().meta({ description: "part of the name, the provider, a tag or a model" }),
  state: z.enum(WORKER_STATES).optional(),
  provider: providerName.optional(),
  tag: tag.optional(),
  tells_models: z.enum(["true"]).optional().meta({ description: "only those that say which models they have" }),
  sort: z
    .enum(WORKER_SORTS)
    .default("registered_at")
    .meta({ description: "newest, by name, highest load, highest failure rate or longest silent first" }),
  summary: z.enum(["true", "false"]).default("false").meta({ description: "true adds totals over the whole fleet" }),
});

export const MAX_FLEET_GROUPS = 200;

export const fleetGroup = z.object({
  value: z.string(),
  workers: count,
  places: count.meta({ description: "places of the workers that take jobs: not offline, not paused, not unavailable" }),
  load: count.meta({ description: "how many of the places are in use" }),
  failing: count,
  offline: count,
  paused: count,
});

export const fleetSums = z
  .object({
    states: z
      .record(z.enum(WORKER_STATES), count)
      .meta({ description: "workers in each state; a worker may be in several" }),
    providers: z.array(fleetGroup),
    tags: z.array(fleetGroup).meta({ description: "a worker with several tags counts in each" }),
  })
  .meta({
    id: "FleetSums",
    description: `totals over the whole fleet; at most the ${MAX_FLEET_GROUPS} largest groups`,
  });

export const workerList = z
  .object({ workers: z.array(workerResource), ...page, summary: fleetSums.optional() })
  .meta({ id: "WorkerList" });

export const pauseRequest = z
  .strictObject({ reason: label(500).nullish(), until: instant.nullish() })
  .meta({ id: "Pause" });

const MAX_HOURS_CHARS = 256;

export const hoursRequest = z
  .strictObject({
    hours: z
      .string()
      .max(MAX_HOURS_CHARS)
      .superRefine(readableBy(parseHours))
      .nullable()
      .meta({ description: 'such as "Mon-Fri 19:00-07:00; Sat,Sun 00:00-24:00"; null: always' }),
    timezone: z.string().superRefine(readableBy(parseTimezone)).default("UTC"),
  })
  .meta({ id: "WorkerHours", examples: [{ hours: "Mon-Fri 19:00-07:00", timezone: "Europe/Berlin" }] });

export const claimRequest = z
  .strictObject({ max: z.int().min(1).max(MAX_CONCURRENCY).default(1) })
  .meta({ id: "Claim" });
export const claimAnswer = z
  .object({
    jobs: z.array(leasedJob),
    skipped: z.record(z.string(), count).meta({
      description:
        "why the waiting jobs are not for this worker, and how many: the 100 most frequent reasons of the (at most 1,000) requirements that have waited longest",
    }),
    model_tasks: modelTasks,
  })
  .meta({ id: "ClaimAnswer" });

export const completeQuery = z.strictObject({
  claim: digits(0, MAX_CONCURRENCY).optional().meta({
    description: "also take leases for up to this many jobs: the answer is then {job, jobs, skipped}",
  }),
});
export const completeAndClaimAnswer = claimAnswer.extend({ job: jobResource }).meta({ id: "CompleteAndClaimAnswer" });

export const instanceParam = z.object({ instance: instanceName });
export const jobIdParam = z.object({ id: recordId });

export type PresenceRequest = z.infer<typeof presenceRequest>;
export type PresenceAnswer = z.infer<typeof presenceAnswer>;
export type WorkerResource = z.infer<typeof workerResource>;
export type WorkerDetail = z.infer<typeof workerDetail>;
export type PresenceList = z.infer<typeof presenceList>;
export type WorkerListQuery = z.infer<typeof workerListQuery>;
export type FleetSumsResource = z.infer<typeof fleetSums>;
export type FleetGroupResource = z.infer<typeof fleetGroup>;
export type WorkerList = z.infer<typeof workerList>;
export type PauseRequest = z.infer<typeof pauseRequest>;
export type HoursRequest = z.input<typeof hoursRequest>;
export type ClaimRequest = z.input<typeof claimRequest>;
export type LeasedJob = z.infer<typeof leasedJob>;
export type CompleteAndClaimAnswer = z.infer<typeof completeAndClaimAnswer>;
export type ClaimAnswer = z.infer<typeof claimAnswer>;

export const toPresence = (body: PresenceRequest): PresenceReport => ({
  instance: body.instance,
  provider: body.provider,
  tagList: body.tags ?? "",
  tags: splitList(body.tags ?? ""),
  concurrency: body.concurrency ?? 1,
  models: body.models?.length ? body.models : null,
  tier: body.tier ?? null,
  version: body.version ?? null,
  unavailable: body.unavailable ?? null,
  apis: body.apis ?? [],
  runtimeModels: body.runtime_models ?? null,
  machine: toMachine(body),
  isBusy: body.status === "busy",
  jobs: body.jobs ?? null,
});

/** A job in the form its worker gets; a large input is given as a URL. */
export const presentLease = (job: Job, payload: JobPayload, files: LeasedJob["files"]): LeasedJob => {
  const leased: LeasedJob = { ...presentJob(job, payload), files };
  if (job.frontDoor === null) return leased;
  const { isBodyHeld = false, headers = {} } = job.frontDoor;
  if (isBodyHeld) leased.input_url = `/api/jobs/${job.id}/input?lease=${job.lease}`;
  if (Object.keys(headers).length > 0) leased.headers = { ...headers };
  return leased;
};

export const toPause = (body: z.infer<typeof pauseRequest>): { reason: string | null; untilAt: number | null } => ({
  reason: body.reason ?? null,
  untilAt: body.until == null ? null : fromIso(body.until),
});

/** Fields of a record that stay inside the service, or from which others are computed: the pause, the failure rate. */
type Inside =
  | "tags"
  | "apis"
  | "runtimeModels"
  | "machine"
  | "busy"
  | "viaSocket"
  | "hasHadLine"
  | "keyId"
  | "pause"
  | "opening"
  | "isHalted"
  | "resumedEpoch"
  | "confirmedHalt"
  | "outcomes"
  | "expiredLeases"
  | "rests"
  | "missingModels"
  | "trial"
  | "provedAt"
  | "lastCompletedAt";
type Renamed = { isEdge: "edge"; tagList: "tags"; lastHeartbeatAt: "last_heartbeat" };
/** Every other field must be in the resource: a new field that is neither there nor in `Inside` does not compile. */
true satisfies EveryFieldIsTold<Worker, Inside, Renamed, WorkerResource>;

const hoursOf = ({ opening }: Worker): WorkerResource["hours"] =>
  opening === null ? null : { hours: opening.hours, timezone: opening.timezone };

/** What a worker said that is on disk only. */
export interface ToldNames {
  readonly models: readonly string[] | null;
  readonly machine: MachineReport | null;
}

export const presentWorker = (view: WorkerView, { models, machine }: ToldNames): WorkerResource => ({
  instance: view.worker.instance,
  provider: view.worker.provider,
  status: view.status,
  tags: view.worker.tagList,
  models: models === null ? null : [...models],
  tier: view.worker.tier,
  concurrency: view.worker.concurrency,
  current_load: view.load,
  paused: view.pause !== null,
  pause_reason: view.pause?.reason ?? null,
  paused_until: toIsoOrNull(view.pause?.untilAt ?? null),
  halt_confirmed: view.haltConfirmed,
  unavailable: view.unavailable,
  hours: hoursOf(view.worker),
  failure_rate: failureRateOf(view.worker),
  last_heartbeat: toIso(view.lastSeenAt),
  connected: view.connected,
  edge: view.worker.isEdge,
  version: view.worker.version,
  registered_at: toIso(view.worker.registeredAt),
  ...presentMachine(machine ?? UNKNOWN_MACHINE),
});
