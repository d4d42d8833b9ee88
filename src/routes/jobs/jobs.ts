// Jobs: create, read, change. The object decides; history answers for jobs that have left it.

import * as z from "zod";
import { jobIdParam } from "../../../contract/fleet/worker.ts";
import {
  type JobResource,
  jobBatch,
  jobEventList,
  jobResource,
  newJobBatchRequest,
  newJobRequest,
  patchJobRequest,
  toJobPatch,
  toNewJob,
} from "../../../contract/jobs/job.ts";
import { jobList, jobListQuery } from "../../../contract/jobs/job-list.ts";
import { waitQuery } from "../../../contract/words/field.ts";
import { notFound } from "../../../domain/words/refusal.ts";
import { type Endpoint, endpoint } from "../../endpoint/router.ts";
import { archivedLine, listArchived, notArchived, orArchived } from "../../history/archive/archived-jobs.ts";
import { jobOfLine } from "../../history/archive/part.ts";
import { historyOf } from "../../history/databases.ts";
import { jobTimeline } from "../../history/jobs.ts";
import { listJobs } from "../../history/lists/list-jobs.ts";
import { answer } from "../../http/answer.ts";
import { asAsked, newJobHeaders } from "../../http/as-asked.ts";
import type { AppContext } from "../../http/auth.ts";
import { answerReplayable, idempotencyOf } from "../../http/idempotency.ts";
import type { TokenFacts } from "../../http/key-format.ts";
import { Refused, unwrap } from "../../http/refused.ts";
import { ask, askAndDrain } from "../../tenant/ask.ts";
import { asks } from "../../tenant/asks.ts";
import { callTenantForText, waitForJob } from "../../tenant/tenant.ts";
import { changeMany } from "./bulk.ts";
import { commandJob } from "./job-command.ts";

const TAG = "Jobs";

const createJob = endpoint(
  {
    method: "post",
    path: "/api/jobs",
    tag: TAG,
    ...asks("createJob"),
    summary: "Create a job",
    description: "The job waits in the queue until a worker matches.",
    headers: newJobHeaders,
    body: newJobRequest,
    answers: { 201: { description: "The new job: `pending`, without a worker.", schema: jobResource } },
  },
  async (c, { body, token }) => {
    const idempotency = await idempotencyOf(c, body);
    const request = { job: asAsked(c)(toNewJob(body)), idempotency };
    const created = unwrap(await callTenantForText(c.env, token, "createJob", request, idempotency !== null));
    return answerReplayable(c, created, 201);
  },
);

const createJobs = endpoint(
  {
    method: "post",
    path: "/api/jobs/batch",
    lane: "heavy",
    tag: TAG,
    ...asks("createJobs"),
    summary: "Create many jobs",
    description: "1 to 500 jobs, all or none. The answer has the same order.",
    headers: newJobHeaders,
    body: newJobBatchRequest,
    answers: { 201: { description: "The new jobs, in the order of the request.", schema: jobBatch } },
  },
  async (c, { body, token }) => {
    const idempotency = await idempotencyOf(c, body);
    const asked = asAsked(c);
    const request = { jobs: body.jobs.map((one) => asked(toNewJob(one))), idempotency };
    const created = unwrap(await callTenantForText(c.env, token, "createJobs", request, idempotency !== null));
    return answerReplayable(c, created, 201);
  },
);

const list = endpoint(
  {
    method: "get",
    path: "/api/jobs",
    lane: "heavy",
    tag: TAG,
    ...asks("authorizeRead", "history_unavailable"),
    summary: "List jobs, newest first",
    description:
      "All filters must match. `metadata.<name>=<value>` filters by a metadata pair. `total` is exact up to 10 000.",
    query: jobListQuery,
    answers: { 200: { description: "A page of jobs.", schema: jobList } },
  },
  async (c, { query, token }) => {
    await askAndDrain(c, token, "authorizeRead", null);
    const { limit, offset } = query;
    if (query.archived === "true") return answer(c, { ...(await listArchived(c, token, query)), limit, offset });
    const { jobs, ...counted } = await listJobs(historyOf(c.env, token), query);
    return answer(c, { jobs: await withLiveState(c, token, jobs), ...counted, limit, offset });
  },
);

/** Adds the live state of open jobs: why they wait, their progress. Shortened values stay shortened. */
const withLiveState = async (c: AppContext, token: TokenFacts, jobs: JobResource[]): Promise<JobResource[]> => {
  const open = jobs.filter((job) => job.finished_at === null).map((job) => job.id);
  if (open.length === 0) return jobs;
  const live = await ask(c, token, "presentOpenJobs", { ids: open });
  const byId = new Map(live.map((job) => [job.id, job]));
  return jobs.map((job) => {
    const now = byId.get(job.id);
    if (now === undefined) return job;
    const { prompt, input, result, truncated } = job;
    const listed = { ...now, prompt, input, result };
    return truncated === undefined ? listed : { ...listed, truncated };
  });
};

const get = endpoint(
  {
    method: "get",
    path: "/api/jobs/{id}",
    tag: TAG,
    ...asks("getJob", "history_unavailable", "archive_damaged"),
    summary: "Read a job",
    description: "`wait` delays the answer until the job is final or the seconds have passed.",
    params: jobIdParam,
    query: z.strictObject(waitQuery),
    answers: { 200: { description: "The job.", schema: jobResource } },
  },
  async (c, { params, query, token }) => {
    if (query.wait > 0) {
      const waited = await waitForJob(c, token, params.id, query.wait * 1000);
      if (!waited.ok && waited.error.code !== "not_found") throw new Refused(waited.error);
    }
    const found = await orArchived(c, token, params.id, commandJob(c, token, "getJob", { id: params.id }));
    return answer(c, "line" in found ? jobOfLine(found.line) : found.own);
  },
);

const patch = endpoint(
  {
    method: "patch",
    path: "/api/jobs/{id}",
    tag: TAG,
    ...asks("patchJob", "job_archived", "archive_damaged"),
    summary: "Change a job's tags, priority or tier",
    params: jobIdParam,
    body: patchJobRequest,
    answers: { 200: { description: "The changed job.", schema: jobResource } },
  },
  async (c, { params, body, token }) => {
    const changed = commandJob(c, token, "patchJob", { id: params.id, patch: toJobPatch(body) });
    return answer(c, await notArchived(c, token, params.id, changed));
  },
);

const bodiless = z.strictObject({}).meta({ id: "Empty" });

/** A command without a body. */
const bareCommand = (name: "cancelJob" | "retryJob", path: string, summary: string, description: string): Endpoint =>
  endpoint(
    {
      method: "post",
      path,
      tag: TAG,
      ...asks(name, "job_archived", "archive_damaged"),
      summary,
      description,
      params: jobIdParam,
      body: bodiless,
      isBodyOptional: true,
      answers: { 200: { description: "The job after the command.", schema: jobResource } },
    },
    async (c, { params, token }) => {
      return answer(c, await notArchived(c, token, params.id, commandJob(c, token, name, { id: params.id })));
    },
  );

const cancel = bareCommand(
  "cancelJob",
  "/api/jobs/{id}/cancel",
  "Cancel a job",
  "Works on pending, assigned and running jobs. The job's worker is told to drop it.",
);

const retry = bareCommand(
  "retryJob",
  "/api/jobs/{id}/retry",
  "Retry a failed or stuck job",
  "A job is stuck if it is assigned or running, and past the stale threshold or its worker is offline. The job becomes pending.",
);

const events = endpoint(
  {
    method: "get",
    path: "/api/jobs/{id}/events",
    lane: "heavy",
    tag: TAG,
    ...asks("authorizeRead", "not_found", "history_unavailable", "archive_damaged"),
    summary: "List a job's events, oldest first",
    params: jobIdParam,
    answers: { 200: { description: "The events.", schema: jobEventList } },
  },
  async (c, { params, token }) => {
    await askAndDrain(c, token, "authorizeRead", null);
    const timeline =
      (await jobTimeline(historyOf(c.env, token), params.id)) ?? (await archivedLine(c, token, params.id))?.events;
    if (timeline === undefined) throw new Refused(notFound("job", params.id));
    return answer(c, { events: [...timeline] });
  },
);

export const jobRoutes: readonly Endpoint[] = [
  createJob,
  createJobs,
  list,
  changeMany,
  get,
  patch,
  cancel,
  retry,
  events,
];
