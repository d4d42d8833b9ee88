// What the loop asks of a model runtime. A run ends in a value: a runtime never throws for what a provider did,
// only for a bug. The one exception is an aborted signal: then `run` may end any way it likes, nobody reads the answer.

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
export type Task = { prompt: string; input: unknown; model: string | null };

export type RunOptions = {
  /** `<runtime>.model` of the coordinator's config, for jobs that name none. */
  configuredModel: string | null;
  /** The worker's `--models`; the first serves jobs that name none on runtimes with no list of their own. */
  offeredModels: readonly string[];
  signal: AbortSignal;
  /** Called as often as the runtime likes; whoever listens thins it out. */
  onProgress: (progress: Progress) => void;
};

export type Progress = { output_chars: number };

/** What an attempt spent. Absent fields were not reported by the runtime, and are never guessed. */
export type Spent = { usage?: Usage; cost_usd?: number; model?: string };

export type Outcome = ({ ok: true; result: unknown } & Spent) | ({ ok: false; error: JobFailure } & Spent);

export type Runtime = {
  /** Names the config section `<name>.model`, and the worker's provider unless `--provider` says otherwise. */
  name: string;
  run: (task: Task, options: RunOptions) => Promise<Outcome>;
};

export function failed(error: JobFailure, spent: Spent = {}): Outcome {
  return { ok: false, error, ...spent };
}
