// Jobs: create, dispatch, read, change. The object decides; history answers for jobs that have left it.

import { z } from "zod";
import { invalid } from "../../domain/refusal.ts";
import type { AnswerOf, OperationName, RequestOf } from "../../durable-objects/api.ts";
import type { Archived } from "../../durable-objects/operations/jobs.ts";
import { dispatchQuery, explainQuery, explanation } from "../contract/dispatch.ts";
import { waitQuery } from "../contract/field.ts";
import {
  type JobResource,
  jobBatch,
  jobEventList,
  jobList,
  jobListQuery,
  jobResource,
  type NewJobRequest,
  newJobBatchRequest,
  newJobRequest,
  patchJobRequest,
  toJobPatch,
  toNewJob,
} from "../contract/job.ts";
import { jobIdParam, splitTags } from "../contract/worker.ts";
import { findArchived, jobTimeline, listJobs } from "../history/jobs.ts";
import { type AppContext, authenticateCaller } from "../http/auth.ts";
import { digest, type TokenFacts } from "../http/key-format.ts";
import { Refused, unwrap } from "../http/refused.ts";
import { type Endpoint, endpoint } from "../http/router.ts";
import { callTenant, drainTenant, waitForJob } from "../http/tenant.ts";

const TAG = "Jobs";
const NEW_JOB_REFUSALS = ["killswitch_active", "history_backlog", "idempotency_key_reused"] as const;
const COMMAND_REFUSALS = ["not_found", "killswitch_active", "history_unavailable"] as const;
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

const idempotencyHeader = z.object({
  "idempotency-key": z.string().optional().meta({ description: "1 to 255 visible ASCII characters; kept for 24 h" }),
});

/** The key and the digest of what was asked: the parsed body has its fields in the schema's order. */
const idempotencyOf = async (c: AppContext, body: NewJobRequest) => {
  const key = c.req.header("idempotency-key");
  if (key === undefined) return null;
  if (!IDEMPOTENCY_KEY.test(key)) {
    throw new Refused(invalid("Idempotency-Key", "must be 1 to 255 visible ASCII characters"));
  }
  return { key, bodyHash: await digest(JSON.stringify(sorted(body))) };
};

/** Objects with their keys in order, so that the same body is the same text. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
};

const noteReplay = (c: AppContext, answer: { replayed?: boolean }): void => {
  if (answer.replayed === true) c.header("Idempotency-Replayed", "true");
};

type JobCommandName =
  | "getJob"
  | "patchJob"
  | "cancelJob"
  | "retryJob"
  | "startJob"
  | "heartbeatJob"
  | "completeJob"
  | "failJob"
  | "releaseJob";

/** Carries out a command on a job; one that has left the object is brought along from history. */
export const commandJob = async <Name extends JobCommandName & OperationName>(
  c: AppContext,
  token: TokenFacts,
  name: Name,
  request: RequestOf<Name> & { id: string },
): Promise<AnswerOf<Name>> => {
  const answer = await callTenant(c.env, token, name, request);
  if (answer.ok || answer.error.code !== "not_found") return unwrap(answer);
  const archived: Archived | null = await findArchived(c.env.DB, token.tenant, request.id);
  if (archived === null) return unwrap(answer);
  return unwrap(await callTenant(c.env, token, name, { ...request, archived } as RequestOf<Name>));
};

const createJob = endpoint(
  {
    method: "post",
    path: "/api/jobs",
    tag: TAG,
    access: "standard",
    summary: "Create a job",
    description: "The queue gives it to a worker as soon as one matches.",
    headers: idempotencyHeader,
    body: newJobRequest,
    answers: { 201: { description: "The job as created: pending, no worker.", schema: jobResource } },
    refuses: [...NEW_JOB_REFUSALS],
  },
  async (c, { body }) => {
    const token = await authenticateCaller(c);
    const idempotency = await idempotencyOf(c, body);
    const request = { job: toNewJob(body), idempotency };
    const created = unwrap(await callTenant(c.env, token, "createJob", request, idempotency !== null));
    noteReplay(c, created);
    const { replayed: _replayed, ...job } = created;
    return c.json(job, 201);
  },
);

const createJobs = endpoint(
  {
    method: "post",
    path: "/api/jobs/batch",
    tag: TAG,
    access: "standard",
    summary: "Create many jobs",
    description: "1 to 500 of them, in one step: all or none. The answer keeps their order.",
    body: newJobBatchRequest,
    answers: { 201: { description: "The jobs as created.", schema: jobBatch } },
    refuses: ["killswitch_active", "history_backlog"],
  },
  async (c, { body }) => {
    const token = await authenticateCaller(c);
    const jobs = unwrap(await callTenant(c.env, token, "createJobs", { jobs: body.jobs.map((one) => toNewJob(one)) }));
    return c.json({ jobs }, 201);
  },
);

const dispatch = endpoint(
  {
    method: "post",
    path: "/dispatch",
    tag: TAG,
    access: "standard",
    summary: "Give a job to the best worker now",
    description:
      "Without an eligible worker the answer says why, worker by worker, and no job is kept; `?queue=true` keeps it.",
    headers: idempotencyHeader,
    query: dispatchQuery,
    body: newJobRequest,
    answers: {
      200: { description: "The job with its worker.", schema: jobResource },
      202: { description: "With `?queue=true`: nobody may have it now, it waits.", schema: jobResource },
    },
    refuses: [...NEW_JOB_REFUSALS, "no_eligible_workers", "budget_reached"],
  },
  async (c, { body, query }) => {
    const token = await authenticateCaller(c);
    const idempotency = await idempotencyOf(c, body);
    const request = { job: toNewJob(body), mayQueue: query.queue === "true", idempotency };
    const dispatched = unwrap(await callTenant(c.env, token, "dispatch", request, idempotency !== null));
    noteReplay(c, dispatched);
    return c.json(dispatched.job, dispatched.isQueued ? 202 : 200);
  },
);

const list = endpoint(
  {
    method: "get",
    path: "/api/jobs",
    tag: TAG,
    access: "standard",
    summary: "List jobs, newest first",
    query: jobListQuery,
    answers: { 200: { description: "A page of jobs.", schema: jobList } },
    refuses: ["history_unavailable"],
  },
  async (c, { query }) => {
    const token = await authenticateCaller(c);
    unwrap(await callTenant(c.env, token, "authorizeRead", null));
    await drainTenant(c.env, token);
    const { jobs, total } = await listJobs(c.env.DB, token.tenant, query);
    const { limit, offset } = query;
    return c.json({ jobs: await withLiveState(c, token, jobs), total, limit, offset });
  },
);

/** Open jobs as the object has them: why they wait, their progress. What was shortened stays shortened. */
const withLiveState = async (c: AppContext, token: TokenFacts, jobs: JobResource[]): Promise<JobResource[]> => {
  const open = jobs.filter((job) => job.finished_at === null).map((job) => job.id);
  if (open.length === 0) return jobs;
  const live = unwrap(await callTenant(c.env, token, "presentOpenJobs", { ids: open }));
  const byId = new Map(live.map((job) => [job.id, job]));
  return jobs.map((job) => {
    const now = byId.get(job.id);
    if (now === undefined) return job;
    const { prompt, input, result, truncated } = job;
    return truncated === undefined ? now : { ...now, prompt, input, result, truncated };
  });
};

const get = endpoint(
  {
    method: "get",
    path: "/api/jobs/{id}",
    tag: TAG,
    access: "worker",
    summary: "Read a job",
    description: "`wait` holds the answer until the job is final, or the seconds are over.",
    params: jobIdParam,
    query: z.strictObject(waitQuery),
    answers: { 200: { description: "The job.", schema: jobResource } },
    refuses: ["not_found", "history_unavailable"],
  },
  async (c, { params, query }) => {
    const token = await authenticateCaller(c);
    if (query.wait > 0) {
      const waited = await waitForJob(c.env, token, params.id, query.wait * 1000);
      if (waited.ok) return c.json(waited.value);
    }
    return c.json(await commandJob(c, token, "getJob", { id: params.id }));
  },
);

const patch = endpoint(
  {
    method: "patch",
    path: "/api/jobs/{id}",
    tag: TAG,
    access: "standard",
    summary: "Change a job's tags, priority or tier",
    params: jobIdParam,
    body: patchJobRequest,
    answers: { 200: { description: "The job.", schema: jobResource } },
    refuses: [...COMMAND_REFUSALS, "job_completed"],
  },
  async (c, { params, body }) => {
    const token = await authenticateCaller(c);
    return c.json(await commandJob(c, token, "patchJob", { id: params.id, patch: toJobPatch(body) }));
  },
);

const bodiless = z.strictObject({}).meta({ id: "Empty" });

const cancel = endpoint(
  {
    method: "post",
    path: "/api/jobs/{id}/cancel",
    tag: TAG,
    access: "standard",
    summary: "Cancel a job",
    description: "Pending, assigned or running: its worker is told to drop it.",
    params: jobIdParam,
    body: bodiless,
    isBodyOptional: true,
    answers: { 200: { description: "The job.", schema: jobResource } },
    refuses: [...COMMAND_REFUSALS, "job_state"],
  },
  async (c, { params }) => {
    const token = await authenticateCaller(c);
    return c.json(await commandJob(c, token, "cancelJob", { id: params.id }));
  },
);

const retry = endpoint(
  {
    method: "post",
    path: "/api/jobs/{id}/retry",
    tag: TAG,
    access: "standard",
    summary: "Retry a failed or stuck job",
    description: "Stuck: assigned or running, and past the stale threshold or its worker offline. Back to pending.",
    params: jobIdParam,
    body: bodiless,
    isBodyOptional: true,
    answers: { 200: { description: "The job.", schema: jobResource } },
    refuses: [...COMMAND_REFUSALS, "job_state"],
  },
  async (c, { params }) => {
    const token = await authenticateCaller(c);
    return c.json(await commandJob(c, token, "retryJob", { id: params.id }));
  },
);

const events = endpoint(
  {
    method: "get",
    path: "/api/jobs/{id}/events",
    tag: TAG,
    access: "standard",
    summary: "A job's timeline, oldest first",
    params: jobIdParam,
    answers: { 200: { description: "What happened to it.", schema: jobEventList } },
    refuses: ["not_found", "history_unavailable"],
  },
  async (c, { params }) => {
    const token = await authenticateCaller(c);
    unwrap(await callTenant(c.env, token, "authorizeRead", null));
    await drainTenant(c.env, token);
    const timeline = await jobTimeline(c.env.DB, token.tenant, params.id);
    if (timeline === null) throw new Refused({ code: "not_found", kind: "job", id: params.id });
    return c.json({ events: timeline });
  },
);

const explain = endpoint(
  {
    method: "get",
    path: "/dispatch/explain",
    tag: TAG,
    access: "standard",
    summary: "Whom a job would go to, and why",
    description: "Changes nothing; its winner is whom `POST /dispatch` would take.",
    query: explainQuery,
    answers: { 200: { description: "Every worker, best first.", schema: explanation } },
    refuses: ["not_found", "job_state"],
  },
  async (c, { query }) => {
    const token = await authenticateCaller(c);
    const request = {
      jobId: query.job_id ?? null,
      provider: query.provider ?? null,
      model: query.model ?? null,
      tags: splitTags(query.job_tags ?? ""),
      tier: query.tier ?? null,
      urgency: query.urgency ?? ("normal" as const),
    };
    return c.json(unwrap(await callTenant(c.env, token, "explain", request)));
  },
);

export const jobRoutes: readonly Endpoint[] = [
  createJob,
  createJobs,
  dispatch,
  explain,
  list,
  get,
  patch,
  cancel,
  retry,
  events,
];
