// One job from its lease to its report. The outcome is a value; for a halted job it is only what the job spent. A bug
// in a runtime fails its job, never the worker.

import type { LeasedJob } from "../contract/fleet/worker.ts";
import { lineOf, startOf } from "../contract/text/start-of.ts";
import { MAX_RESULT_BYTES, utf8Bytes } from "../contract/words/field.ts";
import { jsonExcess } from "../contract/words/json-bounds.ts";
import { type Json, MAX_LARGE_RESULT_BYTES } from "../contract/words/values.ts";
import type { Spent } from "./apis/usage.ts";
import {
  type JobFailure,
  type Outcome,
  type Progress,
  type RunOptions,
  type Runtime,
  resultTooLarge,
  type Stored,
} from "./calls/runtime.ts";
import type { InputLoader } from "./load-input.ts";

export type FileOpener = (file: LeasedJob["files"][number], signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;

/** `isWhole`: the bytes can be read again. */
export type ResultStore = (
  job: LeasedJob,
  bytes: AsyncIterable<Uint8Array>,
  contentType: string,
  signal: AbortSignal,
  isWhole?: boolean,
) => Promise<Stored>;

export type JobOutcome =
  | ({ type: "job.completed"; model?: string } & Result & Spending & Timing)
  | ({ type: "job.failed"; error: JobFailure } & Spending & Timing)
  | { type: "job.released"; reason: string }
  | ({ type: "job.spent" } & Spending);

/** A small result, or where a large one is. */
type Result = { result: Json } | { result_file: string } | { result_bytes: number };
type Spending = Pick<Spent, "usage" | "cost_usd" | "usage_estimated">;
type Timing = { first_token_ms?: number };

/** How a job's bytes come and go that no message carries. */
export type Transfers = {
  loadInput: InputLoader;
  /** Absent: the report goes nowhere that has a limit. */
  storeResult?: ResultStore;
  openFile?: FileOpener;
};

type RunSettings = Transfers & {
  runtime: Runtime;
  configuredModel: string | null;
  offeredModels: readonly string[];
  /** For jobs without their own timeout; null: none. */
  timeoutSeconds: number | null;
  onProgress: (progress: Progress) => void;
  /** Called once, after the first event with content: telling the coordinator must not hold that up. */
  onFirstToken: () => void;
  emit: RunOptions["emit"];
  startTold?: RunOptions["startTold"];
};

const MAX_MODEL_CHARS = 256;
/** A longer timer would end at once; the config allows 30 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const MAX_RETRY_AFTER_SECONDS = 86_400;
const MAX_STATUS = 599;
const MAX_MESSAGE_CHARS = 8_000;
const MAX_REASON_CHARS = 400;

/** @param halt aborts when the job is no longer this worker's. */
export const runJob = async (job: LeasedJob, settings: RunSettings, halt: AbortSignal): Promise<JobOutcome> => {
  const timeoutSeconds = job.timeout_seconds ?? settings.timeoutSeconds;
  const stop = new AbortController();
  let isTimedOut = false;
  let spending: Spending = {};
  const timeOut = (): void => {
    isTimedOut = true;
    stop.abort();
  };
  const timer = timeoutSeconds === null ? undefined : setTimeout(timeOut, timerMs(timeoutSeconds));
  // By hand: `AbortSignal.any` takes several times as long, and leaves work for the garbage collector.
  const follow = (): void => stop.abort(halt.reason);
  halt.addEventListener("abort", follow);
  try {
    if (halt.aborted) return { type: "job.spent" };
    const { outcome, timing } = await attempt(job, { ...settings, timeoutSeconds }, stop.signal);
    spending = spendingOf(outcome);
    if (halt.aborted) return { type: "job.spent", ...spending };
    // A runtime may report an aborted call as an error of its own, or go on until it has an answer.
    if (isTimedOut) {
      return { type: "job.failed", error: timedOut(timeoutSeconds), ...spending, ...timing };
    }
    const report = await reportOf(job, outcome, timing, settings.storeResult, stop.signal);
    // If the job was halted while its result was stored, only what it spent counts.
    return halt.aborted ? { type: "job.spent", ...spending } : report;
  } catch (error) {
    if (halt.aborted) return { type: "job.spent", ...spending };
    if (isTimedOut) return { type: "job.failed", error: timedOut(timeoutSeconds), ...spending };
    const reason = error instanceof Error ? error.message : String(error);
    const message = `The ${settings.runtime.name} runtime failed with an internal error: ${reason}`;
    return { type: "job.failed", error: bounded({ code: "internal", message, retryable: false }) };
  } finally {
    clearTimeout(timer);
    halt.removeEventListener("abort", follow);
  }
};

const timerMs = (seconds: number): number => Math.min(seconds * 1000, MAX_TIMER_MS);

const attempt = async (
  job: LeasedJob,
  settings: RunSettings,
  signal: AbortSignal,
): Promise<{ outcome: Outcome; timing: Timing }> => {
  const {
    configuredModel,
    offeredModels,
    timeoutSeconds,
    storeResult,
    openFile,
    onProgress,
    onFirstToken,
    emit,
    startTold,
  } = settings;
  const isHere = job.input !== null || job.input_url === undefined;
  const loaded = isHere ? { ok: true as const, input: job.input } : await settings.loadInput(job, signal);
  if (!loaded.ok) return { outcome: loaded, timing: {} };
  const { prompt, model, api = null, headers = {} } = job;
  const task = { prompt, input: loaded.input, model, api, headers, job, timeoutSeconds };
  const startedAt = performance.now();
  let timing: Timing = {};
  const outcome = await settings.runtime.run(task, {
    configuredModel,
    offeredModels,
    signal,
    traceparent: job.traceparent ?? null,
    startTold,
    onProgress,
    ...(storeResult && {
      isPassedOn: isPassedOn(job),
      store: (bytes, type) => storeResult(job, bytes, type, signal),
    }),
    ...(openFile === undefined ? {} : { openFile: (file) => openFile(file, signal) }),
    emit: (events) => {
      const room = emit(events);
      if (timing.first_token_ms === undefined) {
        timing = { first_token_ms: Math.round(performance.now() - startedAt) };
        onFirstToken();
      }
      return room;
    },
  });
  return { outcome, timing };
};

const reportOf = async (
  job: LeasedJob,
  outcome: Outcome,
  timing: Timing,
  store: ResultStore | undefined,
  signal: AbortSignal,
): Promise<JobOutcome> => {
  const spending = spendingOf(outcome);
  if (!outcome.ok) {
    if (outcome.neverReached && !hasFirstToken(timing)) {
      return { type: "job.released", reason: lineOf(outcome.error.message, MAX_REASON_CHARS) };
    }
    return { type: "job.failed", error: bounded(outcome.error), ...spending, ...timing };
  }
  const placed = await placeResult(job, outcome, hasFirstToken(timing), store, signal);
  if ("error" in placed) return { type: "job.failed", error: bounded(placed.error), ...spending, ...timing };
  const { model } = outcome;
  return {
    type: "job.completed",
    ...placed,
    ...spending,
    ...timing,
    ...(model ? { model: lineOf(model, MAX_MODEL_CHARS) } : {}),
  };
};

/** What a report cannot carry is stored, unless its client has had it as events. */
const placeResult = async (
  job: LeasedJob,
  { result, stored, passedOnBytes }: Extract<Outcome, { ok: true }>,
  hasBegun: boolean,
  store: ResultStore | undefined,
  signal: AbortSignal,
): Promise<Result | { error: JobFailure }> => {
  if (stored !== undefined) return { result_file: stored.id };
  // Nothing of it could be told again.
  if (passedOnBytes !== undefined && result === null) return { result_bytes: passedOnBytes };
  const text = JSON.stringify(result) ?? "null";
  const bytes = passedOnBytes ?? utf8Bytes(text);
  const isCarried = bytes <= MAX_RESULT_BYTES && (passedOnBytes !== undefined || fitsFrame(text));
  // It has just been written as JSON.
  if (isCarried || store === undefined) return { result: (result ?? null) as Json };
  if (bytes > MAX_LARGE_RESULT_BYTES) return { error: resultTooLarge() };
  if (hasBegun && isPassedOn(job)) return { result_bytes: bytes };
  const kept = await store(job, { [Symbol.asyncIterator]: () => piecesOf(text) }, "application/json", signal, true);
  return kept.ok ? { result_file: kept.file.id } : { error: kept.error };
};

/** What stands before a result in its frame: a list, a message, and its other fields. */
const AROUND = `[[${",".repeat(32)}`;

/** A frame that nests too deep or has too many values would end the session, and every later one that repeats it. */
const fitsFrame = (text: string): boolean => jsonExcess(`${AROUND}${text}`) === null;

/** APIs whose clients may ask for a streamed answer later. */
const MAY_BE_STORED: ReadonlySet<string> = new Set(["responses"]);

const isPassedOn = ({ stream, api }: LeasedJob): boolean => stream && api !== null && !MAY_BE_STORED.has(api);

async function* piecesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

const hasFirstToken = ({ first_token_ms: firstTokenMs }: Timing): boolean => firstTokenMs !== undefined;

export const spendingOf = ({ usage, cost_usd, usage_estimated }: Spent): Spending => ({
  ...(usage ? { usage } : {}),
  ...(cost_usd === undefined ? {} : { cost_usd }),
  ...(usage_estimated ? { usage_estimated } : {}),
});

/** As a report takes it: what a runtime says, its status and its models' names may be anything, and a proxy's words. */
export const bounded = ({ retry_after_seconds: after, status, message, ...error }: JobFailure): JobFailure => ({
  ...error,
  message: startOf(message, MAX_MESSAGE_CHARS),
  ...(status !== undefined && { status: Math.min(status, MAX_STATUS) }),
  ...(after !== undefined && { retry_after_seconds: Math.min(after, MAX_RETRY_AFTER_SECONDS) }),
});

/** Final, as where the coordinator notices it first. */
const timedOut = (timeoutSeconds: number | null): JobFailure => ({
  code: "timeout",
  message: `The job ran longer than its timeout of ${timeoutSeconds} s`,
  retryable: false,
});
