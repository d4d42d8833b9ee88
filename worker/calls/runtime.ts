// The interface of a model runtime. A run ends with a value: a runtime never throws for a provider's failure, only for
// a bug. Exception: after an abort `run` may end in any way; what it reports as spent counts.

import type { LeasedJob } from "../../contract/fleet/worker.ts";
import { isNeverReached } from "../../contract/text/error-causes.ts";
import type { Api } from "../../contract/words/values.ts";
import { MAX_LARGE_RESULT_BYTES } from "../../contract/words/values.ts";
import type { Spent } from "../apis/usage.ts";

export type JobFailure = {
  code: string;
  message: string;
  status?: number;
  retryable: boolean;
  retry_after_seconds?: number;
};

/** The part of a job that a runtime works on. */
export type Task = {
  prompt: string;
  input: unknown;
  model: string | null;
  /** The API whose request `input` is, for jobs of the front door; else null. */
  api: Api | null;
  /** Headers of the client's request that belong to its API. */
  headers: Readonly<Record<string, string>>;
  /**
   * The job as it was leased, for programs that decide by more than its prompt; a large input is only above. Null in
   * a trial, which is no job: a program that is not asked to be tried answers with its probe.
   */
  job: LeasedJob | null;
  /** How long it may run, its own or the config's; null: no limit. */
  timeoutSeconds: number | null;
};

/** The task of a job, not of a trial. */
export type JobTask = Task & { job: LeasedJob };

export type RunOptions = {
  /** `<runtime>.model` of the coordinator's config, for jobs that name no model. */
  configuredModel: string | null;
  /** The worker's `--models`; the first serves jobs that name none on runtimes without a list. */
  offeredModels: readonly string[];
  signal: AbortSignal;
  /** W3C Trace Context of the job, for runtimes that trace; null if it has none. */
  traceparent?: string | null;
  /** Sends the job's start, where the connection holds it back, and resolves when it is answered. */
  startTold?: (() => Promise<void> | undefined) | undefined;
  /** May be called at any rate; the listener limits it. */
  onProgress: (progress: Progress) => void;
  /**
   * Whole SSE events in the form that readers get: the API's own, or `{"text": "…"}` for ordinary jobs. The first call
   * means that there is content, so a runtime keeps events without content back until then. A returned promise asks for
   * a pause.
   */
  emit: (events: readonly string[]) => Promise<void> | undefined;
  /** Its client has it as events, and nobody asks for its result: above 1 MiB none is kept. */
  isPassedOn?: boolean;
  /** The result is what the answer says: one that is no stream is held, as much of it as of one in events. */
  isRead?: boolean;
  /** Keeps an answer that no report carries: over 1 MiB, or not JSON. Without it such an answer fails its job. */
  store?: (bytes: AsyncIterable<Uint8Array>, contentType: string) => Promise<Stored>;
  /** Opens a file of the job. */
  openFile?: (file: LeasedJob["files"][number]) => Promise<AsyncIterable<Uint8Array>>;
};

/** Where a result is kept that no report carries. */
export type Stored = { ok: true; file: { id: string; bytes: number } } | { ok: false; error: JobFailure };

/** How much was written, or what a program says of itself: a share from 0 to 1. */
export type Progress = { output_chars: number } | { progress: number; message?: string };

/** What is read of an answer over HTTP. */
export type RuntimeAnswer = Pick<Response, "ok" | "status" | "headers"> & { body: AsyncIterable<Uint8Array> | null };

export type Outcome =
  /** `stored`: its file; then `result` is null. `passedOnBytes`: the size of a result that was not kept. */
  | ({ ok: true; result: unknown; stored?: { id: string; bytes: number }; passedOnBytes?: number } & Spent)
  /** `neverReached`: the runtime received nothing of the job, so it does not count as an attempt. */
  | ({ ok: false; error: JobFailure; neverReached?: boolean } & Spent);

/** A runtime's own list of models; null if it has none. An older list is enough if it has `named`. */
export type ModelList = (signal: AbortSignal, named?: string | null) => Promise<readonly string[] | null>;

/** What a runtime can do now. */
export type RuntimeState = {
  /** Why it can take no jobs; null when it can. */
  unavailable: string | null;
  /** It works, but it is outside its hours, or its machine is in use. */
  isClosed?: boolean;
  /** Closed only until its jobs have ended and it has seen whether its machine is in use. */
  isLooking?: boolean;
  apis: readonly Api[];
  /** Its own list; null if it has none. */
  models: readonly string[] | null;
};

export type Runtime = {
  /** The name of the config section `<name>.model`, and the worker's provider unless `--provider` is given. */
  name: string;
  /** Its address; null if it runs inside the worker. */
  address: string | null;
  run: (task: Task, options: RunOptions) => Promise<Outcome>;
  /** Minimum time between probes; a provider on the internet is not asked with each heartbeat. */
  probeEveryMs: number;
  /** Asks the runtime for its state; never throws. With `before`, the last known state, a shorter check is enough. */
  probe: (before: RuntimeState | null) => Promise<RuntimeState>;
  /** Ends what the runtime keeps; called when the worker ends. */
  close?: () => Promise<void>;
};

/** The trial of a runtime that runs a program: it must not do for a trial what it does for a job. */
export const probedOutcome = async ({ probe }: Pick<Runtime, "probe">): Promise<Outcome> => {
  const { unavailable } = await probe(null);
  if (unavailable === null) return { ok: true, result: null };
  return failed({ code: "runtime_unavailable", message: unavailable, retryable: true });
};

type FailedOutcome = Extract<Outcome, { ok: false }>;

/** More than may be kept of any job, or is kept of this one. */
export const resultTooLarge = (limitBytes: number = MAX_LARGE_RESULT_BYTES): JobFailure => {
  const message = `The runtime wrote more than the limit of ${limitBytes} bytes and was stopped; ask for less output`;
  return { code: "result_too_large", message, retryable: false };
};

/** Thrown where it is known with which failure the job ends. */
export class KnownFailure extends Error {
  readonly failure: JobFailure;

  constructor(failure: JobFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

export const failed = (error: JobFailure, spent: Spent = {}): FailedOutcome => ({ ok: false, error, ...spent });

/** The same for what was thrown, with whether the runtime received anything. */
export const failedBy = (thrown: unknown, error: JobFailure, spent: Spent = {}): FailedOutcome => {
  const outcome = failed(error, spent);
  return isNeverReached(thrown) ? { ...outcome, neverReached: true } : outcome;
};
