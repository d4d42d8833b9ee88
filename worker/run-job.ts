// One job from its lease to its report. The outcome is a value, null when the job was halted: then nobody wants one.
// A runtime's bug fails its job, never the worker.

import { MAX_RESULT_BYTES, utf8Bytes } from "../contract/field.ts";
import type { JobResource } from "../contract/job.ts";
import type { JobFailure, Progress, Runtime } from "./runtimes/runtime.ts";

export type JobOutcome =
  | ({ type: "job.completed"; result: unknown; model?: string } & ReportedSpending)
  | ({ type: "job.failed"; error: JobFailure } & ReportedSpending);

type ReportedSpending = { usage?: { input_tokens: number; output_tokens: number }; cost_usd?: number };

export type RunSettings = {
  runtime: Runtime;
  configuredModel: string | null;
  offeredModels: readonly string[];
  /** For jobs that name no timeout of their own; null for none. */
  timeoutSeconds: number | null;
  onProgress: (progress: Progress) => void;
};

const MAX_MODEL_CHARS = 256;
const MAX_RETRY_AFTER_SECONDS = 86_400;

/** @param halt aborts when the job is no longer this worker's. */
export async function runJob(job: JobResource, settings: RunSettings, halt: AbortSignal): Promise<JobOutcome | null> {
  const timeoutSeconds = job.timeout_seconds ?? settings.timeoutSeconds;
  const timeout = new AbortController();
  const timer = timeoutSeconds === null ? undefined : setTimeout(() => timeout.abort(), timeoutSeconds * 1000);
  try {
    return await attempt(job, settings, halt, AbortSignal.any([halt, timeout.signal]));
  } catch (error) {
    if (halt.aborted) return null;
    if (timeout.signal.aborted) return { type: "job.failed", error: timedOut(timeoutSeconds) };
    const reason = error instanceof Error ? error.message : String(error);
    const message = `The ${settings.runtime.name} runtime broke: ${reason}`;
    return { type: "job.failed", error: { code: "internal", message, retryable: false } };
  } finally {
    clearTimeout(timer);
  }
}

async function attempt(
  job: JobResource,
  settings: RunSettings,
  halt: AbortSignal,
  signal: AbortSignal,
): Promise<JobOutcome | null> {
  const { configuredModel, offeredModels, onProgress } = settings;
  const task = { prompt: job.prompt, input: job.input, model: job.model };
  const outcome = await settings.runtime.run(task, { configuredModel, offeredModels, signal, onProgress });
  if (halt.aborted) return null;
  const { usage, cost_usd, model } = outcome;
  const spending = { ...(usage ? { usage } : {}), ...(cost_usd === undefined ? {} : { cost_usd }) };
  if (!outcome.ok) {
    // A runtime may put an aborted call into words of its own.
    signal.throwIfAborted();
    return { type: "job.failed", error: bounded(outcome.error), ...spending };
  }
  const bytes = utf8Bytes(JSON.stringify(outcome.result) ?? "null");
  if (bytes > MAX_RESULT_BYTES) return { type: "job.failed", error: tooLarge(bytes), ...spending };
  return {
    type: "job.completed",
    result: outcome.result ?? null,
    ...spending,
    ...(model ? { model: model.replace(/\p{Cc}/gu, " ").slice(0, MAX_MODEL_CHARS) } : {}),
  };
}

function bounded(error: JobFailure): JobFailure {
  if (error.retry_after_seconds === undefined) return error;
  return { ...error, retry_after_seconds: Math.min(error.retry_after_seconds, MAX_RETRY_AFTER_SECONDS) };
}

function timedOut(timeoutSeconds: number | null): JobFailure {
  return { code: "timeout", message: `The job ran longer than its timeout of ${timeoutSeconds} s`, retryable: true };
}

function tooLarge(bytes: number): JobFailure {
  const message = `The result has ${bytes} bytes, more than the ${MAX_RESULT_BYTES} that can be kept; ask for less output`;
  return { code: "result_too_large", message, retryable: false };
}
