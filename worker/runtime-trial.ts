// The worker's own trial of its runtime, which the coordinator asks for after a streak of failures: one token with the
// model that failed. It goes beside the jobs and takes no slot, because the slots may all be waiting for the runtime.

import type { CoordinatorMessage } from "../contract/socket.ts";
import type { JobFailure, Outcome, Runtime } from "./calls/runtime.ts";
import type { WorkerConfig } from "./config.ts";
import { bounded } from "./run-job.ts";

/** The coordinator waits twice as long. */
const TRIAL_TIMEOUT_MS = 60_000;

type Tried = { ok: true } | { ok: false; error: JobFailure };

type TrialOptions = {
  runtime: Runtime;
  config: () => WorkerConfig;
  offeredModels: readonly string[];
};

type TrialRequest = Pick<Extract<CoordinatorMessage, { type: "runtime.try" }>, "model">;

export const tryRuntime = async (
  { runtime, config, offeredModels }: TrialOptions,
  { model }: TrialRequest,
): Promise<Tried> => {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), TRIAL_TIMEOUT_MS);
  const { signal } = timeout;
  const task = {
    prompt: "Say yes.",
    input: { max_tokens: 1 },
    model,
    api: null,
    headers: {},
    job: null,
    timeoutSeconds: null,
  };
  const options = {
    configuredModel: config().model,
    offeredModels,
    signal,
    onProgress: () => {},
    emit: () => undefined,
  };
  try {
    const outcome = await unlessAborted(runtime.run(task, options), signal);
    return outcome.ok || isAboutTheRequest(outcome.error) ? { ok: true } : { ok: false, error: bounded(outcome.error) };
  } catch (error) {
    const why = signal.aborted ? `no answer within ${TRIAL_TIMEOUT_MS / 1000} s` : String(error);
    return {
      ok: false,
      error: { code: "trial_failed", message: `The runtime's trial failed: ${why}`, retryable: true },
    };
  } finally {
    clearTimeout(timer);
  }
};

/** A runtime may ignore the end of its time. */
const unlessAborted = (run: Promise<Outcome>, signal: AbortSignal): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    run.then(resolve, reject);
  });

/** About the worker's key, its network or the runtime's time, although the status is one of a refused request. */
const RUNTIMES_OWN: readonly number[] = [401, 403, 407, 408];
/** The runtime works, whatever it says of this request, this model or the rate. */
const REQUESTS_OWN = new Set(["model_not_found", "no_model_loaded", "rate_limited", "quota_exhausted", "bad_request"]);

const isAboutTheRequest = ({ code, status = 0 }: JobFailure): boolean =>
  REQUESTS_OWN.has(code) || (status >= 400 && status < 500 && !RUNTIMES_OWN.includes(status));
