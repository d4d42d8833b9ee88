// The tools of the MCP server, one row each. A tool makes one or two API calls; its arguments are fields of the schemas
// that validate those calls.

import * as z from "zod";
import { batchId } from "../../contract/batch.ts";
import { explainQuery } from "../../contract/dispatch.ts";
import { instanceParam, jobIdParam, pauseRequest } from "../../contract/fleet/worker.ts";
import { newOpenAiBatchRequest } from "../../contract/front-door/openai-batch.ts";
import { type JobResource, newJobRequest } from "../../contract/jobs/job.ts";
import { jobListQuery } from "../../contract/jobs/job-list.ts";
import { killswitchRequest } from "../../contract/killswitch.ts";
import { isFinal, MAX_PAGE, MAX_WAIT_SECONDS, PERIODS } from "../../contract/words/values.ts";
import { type Ask, pathOf, type ToolAnswer } from "./ask.ts";

export interface Tool {
  readonly title: string;
  readonly description: string;
  /** What a call may do; clients ask their user before a destructive one. */
  readonly effect: "reads" | "changes" | "destroys";
  readonly input: z.ZodObject;
  readonly run: (ask: Ask, args: never) => Promise<ToolAnswer>;
}

interface ToolOf<Input extends z.ZodObject> extends Omit<Tool, "input" | "run"> {
  readonly input: Input;
  readonly run: (ask: Ask, args: z.infer<Input>) => Promise<ToolAnswer>;
}

const tool = <Input extends z.ZodObject>(row: ToolOf<Input>): Tool => row as Tool;

const nothing = z.strictObject({});
const job = z.strictObject({ id: jobIdParam.shape.id });
const worker = z.strictObject({ instance: instanceParam.shape.instance });
const batch = z.strictObject({ id: batchId });
const limit = z.int().min(1).max(MAX_PAGE).default(20);
const jobFields = newJobRequest.shape;

/** The new job when it is final, or its state after the longest wait that the API allows. */
const runJob = async (ask: Ask, { wait_seconds, ...body }: { wait_seconds: number }): Promise<ToolAnswer> => {
  const created = await ask("POST", "/api/jobs", body);
  const { id, status } = created.body as Partial<JobResource>;
  if (!created.isOk || wait_seconds === 0 || status === undefined || isFinal(status)) return created;
  return ask("GET", pathOf(`/api/jobs/${id}`, { wait: wait_seconds }));
};

export const TOOLS: Readonly<Record<string, Tool>> = {
  run_batch: tool({
    title: "Run a batch",
    description:
      "Runs a stored file of requests (JSONL, {custom_id, method, url, body} a line) when the fleet has room. Returns the batch at once: read it again with get_batch.",
    effect: "changes",
    input: newOpenAiBatchRequest.pick({ input_file_id: true, endpoint: true }).extend({
      completion_window: newOpenAiBatchRequest.shape.completion_window.default("24h"),
    }),
    run: (ask, args) => ask("POST", "/v1/batches", args),
  }),
  get_batch: tool({
    title: "Read a batch",
    description: "Its progress, rate, expected end, errors, cost, files, and what it waits for.",
    effect: "reads",
    input: batch,
    run: (ask, { id }) => ask("GET", `/api/batches/${id}`),
  }),
  run_job: tool({
    title: "Run a job",
    description:
      "Creates a job and waits for its end. If it is not final by then, returns its id, status and why it waits: read it again with get_job.",
    effect: "changes",
    input: z.strictObject({
      prompt: jobFields.prompt,
      input: jobFields.input,
      provider: jobFields.provider,
      model: jobFields.model,
      tags: jobFields.tags,
      priority: jobFields.priority,
      tier: jobFields.tier,
      timeout_seconds: jobFields.timeout_seconds,
      wait_seconds: z.int().min(0).max(MAX_WAIT_SECONDS).default(MAX_WAIT_SECONDS),
    }),
    run: runJob,
  }),
  get_job: tool({
    title: "Read a job",
    description: "Returns a job with its result, its error, or why it waits.",
    effect: "reads",
    input: z.strictObject({
      id: jobIdParam.shape.id,
      wait_seconds: z.int().min(0).max(MAX_WAIT_SECONDS).default(0),
    }),
    run: (ask, { id, wait_seconds }) => ask("GET", pathOf(`/api/jobs/${id}`, { wait: wait_seconds })),
  }),
  list_jobs: tool({
    title: "List jobs",
    description: "Returns jobs, newest first. Long prompts and results are shortened; get_job returns them whole.",
    effect: "reads",
    input: z.strictObject({
      limit,
      status: jobListQuery.shape.status,
      provider: jobListQuery.shape.provider,
      tag: jobListQuery.shape.tag,
      worker: jobListQuery.shape.worker,
      since: jobListQuery.shape.since,
    }),
    run: (ask, args) => ask("GET", pathOf("/api/jobs", args)),
  }),
  cancel_job: tool({
    title: "Cancel a job",
    description: "Cancels a job that is not final. Its worker is told to drop it.",
    effect: "destroys",
    input: job,
    run: (ask, { id }) => ask("POST", `/api/jobs/${id}/cancel`),
  }),
  retry_job: tool({
    title: "Retry a job",
    description: "Puts a failed or stuck job back into the queue.",
    effect: "changes",
    input: job,
    run: (ask, { id }) => ask("POST", `/api/jobs/${id}/retry`),
  }),
  explain_dispatch: tool({
    title: "Explain a dispatch",
    description:
      "Returns the worker that a job would go to, each worker's score, and the reasons against it. Pass job_id for a waiting job.",
    effect: "reads",
    input: z.strictObject({ ...explainQuery.shape, limit }),
    run: (ask, args) => ask("GET", pathOf("/dispatch/explain", args)),
  }),
  what_waits: tool({
    title: "What waits",
    description:
      "Returns the waiting jobs grouped by requirements, oldest first, with the reason why each group waits.",
    effect: "reads",
    input: nothing,
    run: (ask) => ask("GET", "/api/queue"),
  }),
  what_fails: tool({
    title: "What fails",
    description: "Returns the failures of a time span by error, provider and model, with the count of the span before.",
    effect: "reads",
    input: z.strictObject({ since: jobListQuery.shape.since, until: jobListQuery.shape.since }),
    run: (ask, args) => ask("GET", pathOf("/api/failures", args)),
  }),
  list_workers: tool({
    title: "List workers",
    description: "Returns the registered workers with status, load, models, and why a worker is paused.",
    effect: "reads",
    input: z.strictObject({ limit }),
    run: (ask, args) => ask("GET", pathOf("/api/workers", args)),
  }),
  pause_worker: tool({
    title: "Pause a worker",
    description: "Gives a worker no new jobs. Its running jobs continue.",
    effect: "changes",
    input: z.strictObject({ ...worker.shape, ...pauseRequest.shape }),
    run: (ask, { instance, ...pause }) => ask("POST", `/api/workers/${instance}/pause`, pause),
  }),
  resume_worker: tool({
    title: "Resume a worker",
    description: "Gives a paused worker jobs again.",
    effect: "changes",
    input: worker,
    run: (ask, { instance }) => ask("POST", `/api/workers/${instance}/resume`),
  }),
  cost_summary: tool({
    title: "Cost",
    description: "Returns the cost of today, this week or this month by provider and model, in US dollars.",
    effect: "reads",
    input: z.strictObject({ period: z.enum(PERIODS).default("day") }),
    run: (ask, args) => ask("GET", pathOf("/api/cost/providers", args)),
  }),
  list_models: tool({
    title: "List models",
    description: "Returns the models that the workers offer now.",
    effect: "reads",
    input: nothing,
    run: (ask) => ask("GET", "/v1/models"),
  }),
  killswitch_status: tool({
    title: "Read the killswitch",
    description: "Returns whether all work is halted, why, and which workers have confirmed it.",
    effect: "reads",
    input: nothing,
    run: (ask) => ask("GET", "/killswitch"),
  }),
  engage_killswitch: tool({
    title: "Engage the killswitch",
    description:
      "Halts all running jobs, pauses all workers and refuses dispatches. Level 1 puts work back into the queue, 2 also stops schedules, 3 also refuses new jobs, 4 cancels all work. Only people can clear it, in the dashboard or on the command line.",
    effect: "destroys",
    input: z.strictObject({ level: z.int().min(1).max(4), reason: killswitchRequest.shape.reason }),
    run: (ask, args) => ask("POST", "/killswitch", args),
  }),
};
