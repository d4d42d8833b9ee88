// The fields of a job that an operator's own program gets: the same for a command's stdin and a handler's first argument.

import type { LeasedJob } from "../contract/fleet/worker.ts";
import { objectOf } from "../contract/text/json-object.ts";
import { lastUserText } from "./apis/text-answers.ts";
import type { JobTask } from "./calls/runtime.ts";

export type JobFacts = {
  id: string;
  /** Of a front-door request all that its user said last; the job itself has the first 2 KiB of it. */
  prompt: string;
  input: unknown;
  provider: string | null;
  /** The job's, else the first that the worker offers. */
  model: string | null;
  /** The front-door API whose request `input` is; null for ordinary jobs. */
  api: LeasedJob["api"];
  lease: number;
  /** 1 for the first. */
  attempt: number;
  timeout_seconds: number | null;
  metadata: Record<string, string>;
  tags: string[];
};

export const factsOf = (
  { prompt, input, model, job, timeoutSeconds }: JobTask,
  offered: readonly string[],
): JobFacts => {
  const { id, provider, api, lease, attempts, status, metadata, tags } = job;
  return {
    id,
    prompt: (api !== null && lastUserText(objectOf(input))) || prompt,
    input: input ?? null,
    provider,
    model: model ?? offered[0] ?? null,
    api,
    lease,
    attempt: status === "running" ? attempts : attempts + 1,
    timeout_seconds: timeoutSeconds,
    metadata,
    tags,
  };
};
