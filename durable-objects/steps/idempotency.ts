// The same key and body of one API key get the first answer within a day; another body is refused. What follows from the
// repeated request is not stored: a day of a busy tenant has millions of answers.

import { type JobResource, presentJob } from "../../contract/jobs/job.ts";
import { ownTraceparent } from "../../contract/text/traceparent.ts";
import { fromIso } from "../../contract/words/field.ts";
import { createJob, type NewJob } from "../../domain/job/new-job.ts";
import { HOUR_MS } from "../../domain/words/duration.ts";
import type { Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import type { IdempotencyPlace } from "../store/jobs/idempotency.ts";
import type { Turn } from "../turn/turn.ts";

export interface Idempotency {
  readonly key: string;
  /** Digest of the request: the validated body, and the names in the path. */
  readonly bodyHash: string;
}

/** An answer that may be a repetition of the first. */
export type Replayable<T> = T & { readonly replayed?: boolean };

/** Each kind of request has keys of its own. */
type IdempotencyScope = "create" | "dispatch" | "batch" | "run" | "bulk" | "ask";

/** How an answer is stored, and restored with the repeated request. */
interface Kept<T> {
  readonly strip: (answer: T) => unknown;
  readonly restore: (stored: T) => T;
}

const KEPT_MS = 24 * HOUR_MS;

/** A session has the keys of the API key that opened it. */
const placeOf = (turn: Turn, scope: IdempotencyScope, key: string): IdempotencyPlace => ({
  keyId: turn.caller.keyId ?? "",
  scope,
  key,
});

/** The request was left before its answer: the same request is a new one. */
export const forgetAsk = (turn: Turn, keyId: string | null, key: string): void =>
  turn.store.idempotency.remove({ keyId: keyId ?? "", scope: "ask", key });

/** The first answer under the key; null if there is none yet. Without `kept` it was stored whole. */
export const recall = <T extends object>(
  turn: Turn,
  scope: IdempotencyScope,
  idempotency: Idempotency,
  kept?: Kept<T>,
): Result<Replayable<T> | null, Refusal> => {
  const known = turn.store.idempotency.find(placeOf(turn, scope, idempotency.key), turn.nowAt);
  if (known === null) return ok(null);
  if (known.bodyHash !== idempotency.bodyHash) return err({ code: "idempotency_key_reused", key: idempotency.key });
  const stored = JSON.parse(known.answer) as T;
  return ok({ ...(kept === undefined ? stored : kept.restore(stored)), replayed: true });
};

export const withIdempotency = <T extends object>(
  turn: Turn,
  scope: IdempotencyScope,
  idempotency: Idempotency | null,
  work: () => Result<T, Refusal>,
  kept?: Kept<T>,
): Result<Replayable<T>, Refusal> => {
  if (idempotency === null) return work();
  const known = recall(turn, scope, idempotency, kept);
  if (!known.ok || known.value !== null) return known as Result<Replayable<T>, Refusal>;
  const answered = work();
  if (answered.ok) {
    const expiresAt = turn.nowAt + KEPT_MS;
    const told = kept === undefined ? answered.value : kept.strip(answered.value);
    const first = { bodyHash: idempotency.bodyHash, answer: JSON.stringify(told) };
    turn.store.idempotency.put(placeOf(turn, scope, idempotency.key), first, expiresAt);
    turn.due(expiresAt);
  }
  return answered;
};

/**
 * What a new job has beside what follows from its request and its id: a worker may have got it in the same turn, and the
 * repeated request may be of another trace.
 */
type StoredJob = Pick<
  JobResource,
  "id" | "created_at" | "status" | "assigned_worker" | "lease" | "assigned_at" | "waiting_reason"
> & { readonly created_by?: JobResource["created_by"]; readonly traceparent?: JobResource["traceparent"] };

const stripJob = (job: JobResource): StoredJob => {
  const { id, created_at, created_by, status, assigned_worker, lease, assigned_at, waiting_reason } = job;
  const stored = { id, created_at, created_by, status, assigned_worker, lease, assigned_at, waiting_reason };
  return job.traceparent === ownTraceparent(id) ? stored : { ...stored, traceparent: job.traceparent };
};

/** The job at its creation, from the request alone. */
const asCreated = (asked: NewJob, { id, created_at: createdAt }: StoredJob): JobResource =>
  presentJob(createJob({ ...asked, traceparent: null }, id, fromIso(createdAt)).job, asked);

/** An earlier release stored more fields; those of the request are left out all the same. */
const restoreJob = (stored: StoredJob, asked: NewJob): JobResource => {
  const created = asCreated(asked, stored);
  const { prompt, input, tags, metadata } = created;
  return { ...created, ...stored, prompt, input, tags, metadata };
};

/** An answer that is the job. */
export const keptJob = (asked: NewJob): Kept<JobResource> => ({
  strip: stripJob,
  restore: (stored) => restoreJob(stored, asked),
});

/** The same, stored as every release has stored the answer of a dispatch. */
export const keptDispatch = (asked: NewJob): Kept<JobResource> => ({
  strip: (job) => ({ job: stripJob(job) }),
  restore: (stored) => restoreJob((stored as unknown as { job: StoredJob }).job, asked),
});

const isSame = (one: unknown, other: unknown): boolean =>
  one === other || (typeof one === "object" && JSON.stringify(one) === JSON.stringify(other));

/** What it has otherwise than the first job of its batch. */
const otherwise = (job: StoredJob, first: StoredJob): StoredJob => {
  const told: Record<string, unknown> = { ...job };
  // JSON leaves out what is undefined.
  for (const name of Object.keys(job) as (keyof StoredJob)[])
    if (isSame(job[name], first[name])) told[name] = undefined;
  return told as unknown as StoredJob;
};

const stripJobs = (jobs: readonly JobResource[]): StoredJob[] => {
  const [first, ...others] = jobs.map(stripJob);
  return first === undefined ? [] : [first, ...others.map((job) => otherwise(job, first))];
};

/** An answer that contains jobs in the order of the request. Earlier releases stored all of each. */
export const keptBatch = <T extends { readonly jobs: readonly JobResource[] }>(asked: readonly NewJob[]): Kept<T> => ({
  strip: (answer) => ({ ...answer, jobs: stripJobs(answer.jobs) }),
  restore: (stored) => ({
    ...stored,
    jobs: stored.jobs.map((job, index) => restoreJob({ ...stored.jobs[0], ...job }, asked[index] as NewJob)),
  }),
});
