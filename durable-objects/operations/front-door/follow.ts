// A job of the front door, for the client that waits for it: its state, and which change of it ends a wait.

import type { JobResource } from "../../../contract/jobs/job.ts";
import type { Job, JobError } from "../../../domain/job/job.ts";
import type { Api } from "../../../domain/words/api.ts";
import { isFinal, isLeasedStatus, type JobStatus } from "../../../domain/words/job-status.ts";
import type { Json } from "../../../domain/words/json.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import { ok, type Result } from "../../../domain/words/result.ts";
import { findJob, type JobCommand } from "../../steps/find-job.ts";
import { allowReading } from "../../steps/reading.ts";
import type { Turn } from "../../turn/turn.ts";

/** A job's state for the client that waits for it. */
export interface Followed {
  readonly id: string;
  readonly api: Api | null;
  readonly stream: boolean;
  readonly status: JobStatus;
  readonly lease: number;
  readonly worker: string | null;
  readonly provider: string | null;
  /** The name that was asked of the provider. */
  readonly model: string | null;
  /** It was not the first model of a list. */
  readonly isFallback: boolean;
  readonly error: JobError | null;
  /** Of a completed job. */
  readonly result: Json;
  /** The file with its answer, until the client has it. */
  readonly answerFile: string | null;
  readonly isSessionHit: boolean | null;
  readonly hasFirstToken: boolean;
  readonly retryAfterMs: number | null;
}

export const follow = (turn: Turn, request: JobCommand): Result<Followed, Refusal> => {
  const found = findJob(turn, request);
  if (!found.ok) return found;
  const allowed = allowReading(turn, found.value);
  return allowed.ok ? ok(present(turn, found.value, request.archived?.result ?? null)) : allowed;
};

export const present = (turn: Turn, job: Job, archived: Json): Followed => ({
  id: job.id,
  api: job.api,
  stream: job.stream,
  status: job.status,
  lease: job.lease,
  worker: job.assignedWorker,
  provider: job.workerProvider,
  model: job.model,
  isFallback: job.tried.length > 0,
  error: job.error,
  result: job.status === "completed" ? (turn.store.payloads.findResult(job.id) ?? archived) : null,
  answerFile: job.resultFile?.id ?? null,
  isSessionHit: job.frontDoor?.isSessionHit ?? null,
  hasFirstToken: job.firstTokenAt !== null,
  retryAfterMs: job.frontDoor?.retryAfterMs ?? null,
});

/** A repeated request whose job has left: the edge reads the job from history. */
export const gone = (job: JobResource): Followed => ({
  id: job.id,
  api: job.api,
  stream: job.stream,
  status: "pending",
  lease: job.lease,
  worker: null,
  provider: null,
  model: null,
  isFallback: false,
  error: null,
  result: null,
  answerFile: null,
  isSessionHit: null,
  hasFirstToken: false,
  retryAfterMs: null,
});

/** How long the answer to a request may wait, and for what. */
export interface AskWait {
  readonly until: "assigned" | "final";
  /** In units of `front_door.commit_after_seconds`. */
  readonly commits: number;
}

export const isReached = ({ status }: { readonly status: JobStatus }, until: AskWait["until"]): boolean =>
  isFinal(status) || (until === "assigned" && status !== "pending");

interface Stand {
  readonly status: JobStatus;
  readonly lease: number;
}

/** Assigned and running are the same to the waiting client. */
export const isSameStand = (job: Stand, seen: Stand): boolean =>
  job.lease === seen.lease &&
  (job.status === seen.status || (isLeasedStatus(job.status) && isLeasedStatus(seen.status)));
