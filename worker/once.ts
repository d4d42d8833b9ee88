// `--once`: one job without a coordinator. Prints what would be reported as one JSON object.

import type * as z from "zod";
import type { LeasedJob } from "../contract/fleet/worker.ts";
import { newJobRequest } from "../contract/jobs/job.ts";
import { parseJson } from "../contract/text/json-object.ts";
import { refusalOf } from "../contract/words/validation.ts";
import type { Progress, Runtime } from "./calls/runtime.ts";
import type { JobFiles } from "./job-files.ts";
import { type JobOutcome, runJob } from "./run-job.ts";

type OnceOptions = {
  text: string;
  runtime: Runtime;
  models: readonly string[];
  /** The files that the job wrote, as `listedFiles` collected them. */
  files: readonly { name: string }[];
};

type OnceResult = { ok: true; report: Record<string, unknown> } | { ok: false; problem: string };

/** Outputs are named in the report, and kept nowhere. */
export const listedFiles = (): { files: { name: string }[]; keep: JobFiles } => {
  const files: { name: string }[] = [];
  const keep: JobFiles = {
    send: async (_job, name) => {
      files.push({ name });
      return { ok: true, file: { name } };
    },
  };
  return { files, keep };
};

export const runOnce = async ({ text, runtime, models, files }: OnceOptions): Promise<OnceResult> => {
  const json = parseJson(text);
  const given = newJobRequest.safeParse(json);
  if (!given.success) {
    const what = json === undefined ? "it is not JSON" : refusalOf(newJobRequest, given.error, json).detail;
    return { ok: false, problem: `--once takes a job as JSON, such as '{"prompt": "hi"}': ${what}` };
  }
  let progress: Progress | null = null;
  const { unavailable } = await runtime.probe(null);
  const outcome: JobOutcome =
    unavailable === null
      ? await runJob(
          leaseOf(given.data),
          settingsOf(runtime, models, (told) => (progress = told)),
          halt().signal,
        )
      : { type: "job.released", reason: unavailable };
  await runtime.close?.();
  const { type, ...told } = outcome;
  const report = { status: type.replace("job.", ""), ...told, ...(files.length === 0 ? {} : { files }) };
  return { ok: true, report: progress === null ? report : { ...report, progress } };
};

/** Ctrl-C stops the job as a cancel does. */
const halt = (): AbortController => {
  const controller = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => controller.abort());
  return controller;
};

const settingsOf = (runtime: Runtime, offeredModels: readonly string[], onProgress: (progress: Progress) => void) => ({
  runtime,
  configuredModel: null,
  offeredModels,
  timeoutSeconds: null,
  loadInput: async () => ({ ok: true as const, input: null }),
  onProgress,
  onFirstToken: () => {},
  emit: () => undefined,
});

const leaseOf = (given: z.infer<typeof newJobRequest>): LeasedJob => {
  const { prompt, input = null, provider = null, model = null, tags = [], metadata = {}, stream = false } = given;
  const at = new Date().toISOString();
  return {
    id: "once",
    status: "running",
    prompt,
    input: input as LeasedJob["input"],
    provider,
    model,
    priority: given.priority ?? "normal",
    tier: given.tier ?? null,
    tags,
    assigned_worker: null,
    lease: 1,
    attempts: 1,
    result: null,
    result_file: null,
    result_bytes: null,
    files: [],
    result_files: [],
    error: null,
    progress: null,
    usage: null,
    cost_usd: null,
    ran_provider: null,
    ran_model: null,
    metadata: metadata ?? {},
    api: null,
    stream: stream ?? false,
    batch: null,
    custom_id: null,
    first_token_at: null,
    schedule: null,
    created_by: null,
    edge: true,
    fairness_key: null,
    requested_model: null,
    tried: [],
    traceparent: null,
    timeout_seconds: given.timeout_seconds ?? null,
    max_attempts: given.max_attempts ?? null,
    waiting_reason: null,
    run_at: null,
    created_at: at,
    assigned_at: at,
    started_at: at,
    finished_at: null,
    updated_at: at,
  };
};
