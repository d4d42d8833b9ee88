// What the worker asks of a model runtime. A run ends in a value: a runtime never throws for what a provider did,
// only for a bug. The one exception is an aborted signal: then `run` may end any way it likes; what it says it spent
// counts.

import type { Api } from "../../contract/values.ts";

export type Usage = {
  input_tokens: number;
  output_tokens: number;
  cached_input_tokens?: number;
  reasoning_tokens?: number;
};

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
};

export type RunOptions = {
  /** `<runtime>.model` of the coordinator's config, for jobs that name none. */
  configuredModel: string | null;
  /** The worker's `--models`; the first serves jobs that name none on runtimes with no list of their own. */
  offeredModels: readonly string[];
  signal: AbortSignal;
  /** W3C Trace Context of the job, for runtimes that trace; null where it has none. */
  traceparent?: string | null;
  /** Called as often as the runtime likes; the listener thins it out. */
  onProgress: (progress: Progress) => void;
  /**
   * Whole SSE events, as a reader shall have them: the API's own, or `{"text": "…"}` where there is none. The first call
   * says that there is content, so a runtime that has only said hello keeps that back. A promise asks for a pause.
   */
  emit: (events: readonly string[]) => Promise<void> | undefined;
};

export type Progress = { output_chars: number };

/** What an attempt spent. Absent fields were not reported by the runtime, and are never guessed. */
export type Spent = { usage?: Usage; cost_usd?: number; model?: string };

export type Outcome =
  | ({ ok: true; result: unknown } & Spent)
  /** `neverReached`: the runtime has seen nothing of the job, so that it counts as no attempt. */
  | ({ ok: false; error: JobFailure; neverReached?: boolean } & Spent);

/** What a runtime can do now. */
export type RuntimeState = {
  /** Why it can take nothing, null when it can. */
  unavailable: string | null;
  apis: readonly Api[];
  /** Its own list; null where it keeps none. */
  models: readonly string[] | null;
};

export type Runtime = {
  /** Names the config section `<name>.model`, and the worker's provider unless `--provider` says otherwise. */
  name: string;
  /** Where it listens; null for what runs inside the worker. */
  address: string | null;
  run: (task: Task, options: RunOptions) => Promise<Outcome>;
  /** How often it may be asked how it is, at most: a provider on the internet is not asked with each heartbeat. */
  probeEveryMs: number;
  /** Asks the runtime how it is; never throws. With `before`, what was known, a lighter look may do. */
  probe: (before: RuntimeState | null) => Promise<RuntimeState>;
};

export type FailedOutcome = Extract<Outcome, { ok: false }>;

export function failed(error: JobFailure, spent: Spent = {}): FailedOutcome {
  return { ok: false, error, ...spent };
}
