// A job: what was asked, its status, who holds it. Records are immutable; every change is a new version.
//
// pending ──assign──▶ assigned ──start──▶ running ──complete──▶ completed
//  ▲  ▲                │                  │  ├──fail, timeout──▶ failed ──retry──▶ pending
//  │  └─accept expired─┘                  │  └──cancel──▶ cancelled
//  └──release, halt, reap, retryable failure, rate limit, fallback──┘   (cancel: also from pending and assigned)

import type { JobEvent } from "../words/event.ts";
import { isLeasedStatus, type JobStatus } from "../words/job-status.ts";
import type { Json } from "../words/json.ts";
import type { Priority, Requirements, Tier } from "../words/requirements.ts";
import type { Charge } from "./fair-order.ts";
import type { BatchPlace, FrontDoorFacts, Tried } from "./job-facts.ts";

/** What was written to a provider's cache, in all and to be kept for an hour: part of the input, at a price of its own. */
export interface CacheWrites {
  readonly cacheWriteTokens?: number;
  readonly cacheWrite1hTokens?: number;
}

/** Token counts; `inputTokens` includes cached ones, `outputTokens` includes reasoning. */
export interface Usage extends CacheWrites {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
  readonly reasoningTokens?: number;
}

export interface JobError {
  readonly code: string;
  readonly message: string;
  readonly status?: number;
  readonly retryable: boolean;
}

export interface JobPayload {
  readonly prompt: string;
  readonly input: Json;
}

export interface ResultFile {
  readonly id: string;
  readonly name: string;
  readonly bytes: number;
  readonly contentType: string;
}

export type Metadata = Readonly<Record<string, string>>;

/** Why a pending job may not run yet. */
export type Delay = "run_at" | "retry" | "rate_limit" | "release";

/** How a lease ended, so that a repeated report is recognised. */
export type Settlement = "completed" | "failed" | "released";

/** Who created a job, besides its `keyId`. */
interface Creator {
  readonly name: string;
  readonly personId: string | null;
}

/** Instants are epoch milliseconds, durations milliseconds, money integer nano-dollars. */
export interface Job extends Requirements {
  readonly edge: boolean;
  /** The name that a front-door client sent; null for other jobs. */
  readonly requestedModel: string | null;
  /** The models that were asked before this one. */
  readonly tried: readonly Tried[];
  readonly id: string;
  readonly version: number;
  readonly status: JobStatus;
  readonly priority: Priority;
  readonly tier: Tier | null;
  readonly groupKey: string;
  /** Position in the queue; null unless the job is pending and may run now. */
  readonly orderKey: number | null;
  readonly assignedWorker: string | null;
  /** Who had it before it came back to the queue: a report that this worker repeats is answered again. */
  readonly lastWorker: string | null;
  readonly workerProvider: string | null;
  readonly lease: number;
  readonly settledBy: Settlement | null;
  /** Attempts made or in progress since creation or the last explicit retry. */
  readonly attempts: number;
  readonly rateLimitRetries: number;
  /** How often workers gave it back unworked, since creation or the last explicit retry. */
  readonly releases: number;
  readonly error: JobError | null;
  readonly progress: Json;
  readonly stream: boolean;
  /** When the current or last attempt sent its first event with content. */
  readonly firstTokenAt: number | null;
  /** Set for a job with an `api` that is no line of a batch. */
  readonly frontDoor: FrontDoorFacts | null;
  /** When a pending front-door job is given up. */
  readonly queueUntilAt: number | null;
  /** The key that created it; null for a schedule's job. */
  readonly keyId: string | null;
  /** Who created it; null for a schedule's, and for jobs of older releases. */
  readonly createdBy: Creator | null;
  readonly usage: Usage | null;
  readonly costNanoUsd: number | null;
  readonly schedule: string | null;
  /** Set exactly if `batch` is. */
  readonly batchPlace: BatchPlace | null;
  readonly metadata: Metadata;
  /** What ran its last attempt; null until one started. */
  readonly ranProvider: string | null;
  readonly ranModel: string | null;
  /** Of its caller; null: it begins a trace of its own. */
  readonly traceparent: string | null;
  readonly files: readonly string[];
  /** Outputs that its workers stored, oldest first. */
  readonly resultFiles: readonly ResultFile[];
  /** A result too large for a row; then the job has no other. */
  readonly resultFile: { readonly id: string; readonly bytes: number } | null;
  /** The size of a result that is not in the job; null up to 1 MiB. */
  readonly resultBytes: number | null;
  /** For what person or group, as its request says: its `fairness_key`, or the person of a front-door request. */
  readonly fairnessKey: string | null;
  /** Whose turn it takes (`flows.ts`). */
  readonly flow: string;
  /** What its flow was charged for its current or last lease; null before the first. */
  readonly share: Charge | null;
  readonly timeoutMs: number | null;
  readonly maxAttempts: number | null;
  readonly runAt: number | null;
  /** A pending job does not run before this instant (`run_at`, or a back-off). */
  readonly readyAt: number | null;
  /** Since when it could run, or since when it can: its creation, its `run_at`, the end of a back-off. */
  readonly runnableAt: number | null;
  /** What it waits for until then. */
  readonly delayedBy: Delay | null;
  readonly createdAt: number;
  readonly assignedAt: number | null;
  readonly startedAt: number | null;
  readonly heartbeatAt: number | null;
  readonly finishedAt: number | null;
  readonly updatedAt: number;
}

/** A change of one job: what to store and which events to record. Nothing else is written. */
export interface Decision {
  readonly job: Job;
  readonly events: readonly JobEvent[];
  /** Set if the change brings a result (or clears one). */
  readonly result?: Json;
  /** Set only on creation. */
  readonly payload?: JobPayload;
}

/** The labels that a job is found by; each appears once. */
export const labelsOf = (job: Job): (readonly [name: string, value: string])[] => {
  const labels: (readonly [string, string])[] = [];
  const add = (name: string, value: string | null): void => {
    if (value !== null) labels.push([name, value]);
  };
  for (const tag of job.tags) add("tag", tag);
  for (const name of Object.keys(job.metadata)) add(`metadata.${name}`, job.metadata[name] ?? null);
  add("provider", job.provider);
  if (job.ranProvider !== job.provider) add("provider", job.ranProvider);
  add("model", job.model);
  if (job.ranModel !== job.model) add("model", job.ranModel);
  add("batch", job.batch);
  return labels;
};

/** What a label takes beside its name and its value. */
const LABEL_CHARS = 8;

/** About how many characters its tags and metadata take in history: they stand in its record, and as labels. */
export const labelChars = ({ tags, metadata }: Pick<Job, "tags" | "metadata">): number => {
  let chars = 0;
  for (const tag of tags) chars += LABEL_CHARS + tag.length;
  for (const name of Object.keys(metadata)) chars += LABEL_CHARS + name.length + (metadata[name]?.length ?? 0);
  return 2 * chars;
};

/** A client waits for it on an open connection. */
export const isWaitedFor = ({ frontDoor }: Pick<Job, "frontDoor">): boolean =>
  frontDoor !== null && frontDoor.isBackground !== true;

export const isLeased = ({ status }: Job): boolean => isLeasedStatus(status);

/** A job that does not wait has no place in the queue. */
export const NO_PLACE = { orderKey: null, readyAt: null, delayedBy: null } as const;

/** The next version of a job. Every rule that changes a job goes through here. */
export const changeJob = (job: Job, changes: Partial<Job>, nowAt: number): Job => ({
  ...job,
  ...changes,
  version: job.version + 1,
  updatedAt: nowAt,
});

/** A job that leaves its worker is given as it was before: the event is about the lease that ended. */
export const jobEvent = (job: Job, type: JobEvent["type"], nowAt: number, detail: Json = null): JobEvent => ({
  jobId: job.id,
  at: nowAt,
  type,
  worker: job.assignedWorker,
  lease: job.lease,
  detail,
});
