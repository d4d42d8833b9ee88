// A new job: what a request asks for, and the record that it becomes.

import type { Api } from "../words/api.ts";
import type { Actor } from "../words/event.ts";
import type { Priority, Requirements, Tier } from "../words/requirements.ts";
import { type Decision, type Job, type JobPayload, jobEvent, type Metadata } from "./job.ts";
import type { BatchPlace, FrontDoorFacts, Tried } from "./job-facts.ts";
import { groupKeyOf, orderKeyOf } from "./queue.ts";
import { queueEndOf } from "./queue-place.ts";
import { USUAL } from "./usual-job.ts";

export interface NewJob extends JobPayload {
  /** false: not to a provider that the coordinator calls itself. */
  readonly edge?: boolean;
  /** The name that the client sent. */
  readonly requestedModel?: string;
  readonly tried?: readonly Tried[];
  readonly provider: string | null;
  readonly model: string | null;
  readonly tags: readonly string[];
  readonly priority: Priority;
  readonly tier: Tier | null;
  readonly timeoutMs: number | null;
  readonly maxAttempts: number | null;
  readonly runAt: number | null;
  readonly schedule: string | null;
  /** The caller's own pairs for searching and grouping; a schedule's job has none. */
  readonly metadata?: Metadata;
  /** W3C Trace Context of the request that created it; a job without one begins a trace of its own. */
  readonly traceparent?: string | null;
  /** Its output can be read while it is written. */
  readonly stream?: boolean;
  /** Ids of the files that its worker gets. */
  readonly files?: readonly string[];
  readonly api?: Api;
  readonly frontDoor?: FrontDoorFacts;
  /** Names its flow, whatever is configured. */
  readonly fairnessKey?: string | null;
  /** The person that the request is for, as its client says. */
  readonly user?: string | null;
  /** Whose turn it takes (`flows.ts`). */
  readonly flow?: string;
  /** Its batch's id; `batchPlace` says which line. */
  readonly batch?: string | null;
  readonly batchPlace?: BatchPlace | null;
}

/** Most lists have one name or none, and need no set. */
const distinct = (list: readonly string[]): readonly string[] => (list.length < 2 ? list : [...new Set(list)]);

/** What a new job requires of a worker. */
export const requirementsOfNew = ({ provider, model, tags, api, batch, edge = true }: NewJob): Requirements => ({
  edge,
  provider,
  model,
  tags: distinct(tags),
  api: api ?? null,
  excludedProviders: [],
  avoidedWorkers: [],
  batch: batch ?? null,
});

/** `by` is missing for a schedule's job. */
export const createJob = (request: NewJob, id: string, nowAt: number, by: Actor | null = null): Decision => {
  const { prompt, input, runAt, frontDoor = null } = request;
  const asked = requirementsOfNew(request);
  const readyAt = runAt !== null && runAt > nowAt ? runAt : null;
  const job: Job = {
    ...USUAL,
    // The request's fields by name: to spread it as well takes four times as long.
    provider: request.provider,
    model: request.model,
    tags: asked.tags,
    priority: request.priority,
    tier: request.tier,
    schedule: request.schedule,
    timeoutMs: request.timeoutMs,
    maxAttempts: request.maxAttempts,
    edge: request.edge ?? USUAL.edge,
    requestedModel: request.requestedModel ?? null,
    tried: request.tried ?? [],
    api: request.api ?? null,
    stream: request.stream ?? USUAL.stream,
    traceparent: request.traceparent ?? null,
    batch: request.batch ?? null,
    batchPlace: request.batchPlace ?? null,
    metadata: request.metadata ?? {},
    files: distinct(request.files ?? []),
    fairnessKey: request.fairnessKey ?? request.user ?? null,
    flow: request.flow ?? USUAL.flow,
    frontDoor,
    id,
    version: 1,
    status: "pending",
    queueUntilAt: queueEndOf(frontDoor, nowAt),
    keyId: by?.keyId ?? null,
    createdBy: by === null ? null : { name: by.name, personId: by.personId ?? null },
    groupKey: groupKeyOf(asked),
    orderKey: readyAt === null ? (request.batchPlace?.yieldsUntilAt ?? orderKeyOf(request.priority, nowAt)) : null,
    runAt,
    readyAt,
    runnableAt: readyAt ?? nowAt,
    delayedBy: readyAt === null ? null : "run_at",
    createdAt: nowAt,
    updatedAt: nowAt,
  };
  return { job, payload: { prompt, input }, events: [jobEvent(job, "job.created", nowAt)] };
};
