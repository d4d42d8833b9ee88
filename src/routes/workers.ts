// Presence, the fleet, and the worker protocol over HTTP.

import * as z from "zod";
import { MAX_RESULT_BYTES, utf8Bytes, waitQuery } from "../../contract/field.ts";
import { jobResource } from "../../contract/job.ts";
import {
  completeRequest,
  failRequest,
  heartbeatRequest,
  releaseRequest,
  startRequest,
  toReportedFailure,
  toSpent,
} from "../../contract/report.ts";
import {
  claimAnswer,
  claimRequest,
  completeAndClaimAnswer,
  completeQuery,
  instanceParam,
  jobIdParam,
  pauseRequest,
  presenceAnswer,
  presenceList,
  presenceListQuery,
  presenceRequest,
  toPause,
  toPresence,
  workerDetail,
  workerList,
  workerListQuery,
  workerResource,
} from "../../contract/worker.ts";
import { answer } from "../http/answer.ts";
import { asks } from "../http/asks.ts";
import { notePresent } from "../http/readiness.ts";
import { Refused, unwrap } from "../http/refused.ts";
import { type Endpoint, endpoint } from "../http/router.ts";
import { callTenant, callTenantForText, claimWaiting } from "../http/tenant.ts";
import { commandJob } from "./job-command.ts";

const FLEET = "Workers";
const PROTOCOL = "Worker protocol";
const nothing = z.strictObject({});
/** The rest of a report, without its result. */
const MAX_REPORT_BYTES = 64 * 1024;

const report = endpoint(
  {
    method: "post",
    path: "/presence",
    tag: FLEET,
    ...asks("reportPresence"),
    summary: "Report presence",
    description:
      "Registers the worker or renews its heartbeat. `jobs` lists the jobs it has; running jobs that are missing from it go back to the queue.",
    body: presenceRequest,
    answers: {
      200: {
        description:
          "The worker, leases it has not started, jobs to drop, the killswitch, and the heartbeat interval in seconds.",
        schema: presenceAnswer,
      },
    },
  },
  async (c, { body, token }) => {
    const presence = { ...toPresence(body), viaSocket: false };
    const heard = unwrap(await callTenantForText(c.env, token, "reportPresence", presence));
    notePresent(c.env, token, body.instance);
    return answer(c, heard);
  },
);

const present = endpoint(
  {
    method: "get",
    path: "/presence",
    lane: "heavy",
    tag: FLEET,
    ...asks("listPresent"),
    summary: "List workers that are not offline",
    description: "A page of large workers (8 MiB of models and tags) is shorter than `limit`: go on behind it.",
    query: presenceListQuery,
    answers: { 200: { description: "The workers that are not offline.", schema: presenceList } },
  },
  async (c, { token, query }) => answer(c, unwrap(await callTenantForText(c.env, token, "listPresent", query))),
);

const list = endpoint(
  {
    method: "get",
    path: "/api/workers",
    lane: "heavy",
    tag: FLEET,
    ...asks("listWorkers"),
    summary: "List registered workers",
    description:
      "A worker is `failing` if at least a third of its recent jobs, and at least three, failed through its own fault. `unconfirmed`: it has not confirmed the killswitch's halt.",
    query: workerListQuery,
    answers: { 200: { description: "A page of workers.", schema: workerList } },
  },
  async (c, { query, token }) => {
    const listed = unwrap(await callTenant(c.env, token, "listWorkers", query));
    return answer(c, { ...listed, limit: query.limit, offset: query.offset });
  },
);

const get = endpoint(
  {
    method: "get",
    path: "/api/workers/{instance}",
    tag: FLEET,
    ...asks("getWorker"),
    summary: "Read a worker with its open jobs and recent outcomes",
    params: instanceParam,
    answers: { 200: { description: "The worker, its open jobs and its recent outcomes.", schema: workerDetail } },
  },
  async (c, { params, token }) => {
    return answer(c, unwrap(await callTenantForText(c.env, token, "getWorker", params)));
  },
);

const forget = endpoint(
  {
    method: "delete",
    path: "/api/workers/{instance}",
    tag: FLEET,
    ...asks("forgetWorker"),
    summary: "Delete an offline worker",
    params: instanceParam,
    answers: { 204: { description: "Deleted. Its jobs are back in the queue." } },
  },
  async (c, { params, token }) => {
    unwrap(await callTenant(c.env, token, "forgetWorker", params));
    return c.body(null, 204);
  },
);

const pause = endpoint(
  {
    method: "post",
    path: "/api/workers/{instance}/pause",
    tag: FLEET,
    ...asks("pauseWorker"),
    summary: "Pause a worker",
    description:
      "It gets no new jobs; its running jobs continue. The pause survives restarts of the worker and lasts until it is resumed or `until` has passed.",
    params: instanceParam,
    body: pauseRequest,
    isBodyOptional: true,
    answers: { 200: { description: "The paused worker.", schema: workerResource } },
  },
  async (c, { params, body, token }) => {
    return answer(c, unwrap(await callTenantForText(c.env, token, "pauseWorker", { ...params, ...toPause(body) })));
  },
);

const resume = endpoint(
  {
    method: "post",
    path: "/api/workers/{instance}/resume",
    tag: FLEET,
    ...asks("resumeWorker"),
    summary: "Resume a worker",
    params: instanceParam,
    body: nothing,
    isBodyOptional: true,
    answers: { 200: { description: "The resumed worker.", schema: workerResource } },
  },
  async (c, { params, token }) => {
    return answer(c, unwrap(await callTenantForText(c.env, token, "resumeWorker", params)));
  },
);

const claim = endpoint(
  {
    method: "post",
    path: "/api/workers/{instance}/claim",
    tag: PROTOCOL,
    ...asks("claim"),
    summary: "Claim jobs",
    description:
      "Returns leases that the worker has not started, and waits for one if there is none; `skipped` says why it stays idle.",
    params: instanceParam,
    query: z.strictObject(waitQuery),
    body: claimRequest,
    isBodyOptional: true,
    answers: { 200: { description: "Up to `max` leased jobs, and why others were skipped.", schema: claimAnswer } },
  },
  async (c, { params, query, body, token }) => {
    const request = { ...params, max: body.max };
    const claimed =
      query.wait > 0
        ? await claimWaiting(c.env, token, request, query.wait * 1000)
        : await callTenantForText(c.env, token, "claim", { ...request, isWaiting: false });
    return answer(c, unwrap<unknown>(claimed));
  },
);

const REPORT = {
  method: "post",
  tag: PROTOCOL,
  params: jobIdParam,
  answers: { 200: { description: "The job after the report.", schema: jobResource } },
} as const;

const start = endpoint(
  {
    ...REPORT,
    ...asks("startJob", "history_unavailable"),
    path: "/api/jobs/{id}/start",
    summary: "Start a job",
    body: startRequest,
  },
  async (c, { params, body, token }) => {
    return answer(c, await commandJob(c, token, "startJob", { ...params, ...body }));
  },
);

const heartbeat = endpoint(
  {
    ...REPORT,
    ...asks("heartbeatJob", "history_unavailable"),
    path: "/api/jobs/{id}/heartbeat",
    summary: "Report that a job is still running",
    body: heartbeatRequest,
  },
  async (c, { params, body, token }) => {
    return answer(c, await commandJob(c, token, "heartbeatJob", { ...params, ...body }));
  },
);

const complete = endpoint(
  {
    ...REPORT,
    ...asks("completeJob", "history_unavailable"),
    path: "/api/jobs/{id}/complete",
    summary: "Report a result",
    description:
      "An assigned job may be completed without a start. A repeated report gets the first answer again. With `claim` the worker also takes its next leases in this call, without waiting.",
    query: completeQuery,
    body: completeRequest,
    maxBodyBytes: MAX_RESULT_BYTES + MAX_REPORT_BYTES,
    answers: {
      200: {
        description: "The completed job; with `claim`, the job and new leases.",
        schema: z.union([completeAndClaimAnswer, jobResource]),
      },
    },
  },
  async (c, { params, query, body, token }) => {
    // A result has its own limit, as in a worker's message.
    if (utf8Bytes(JSON.stringify(body.result)) > MAX_RESULT_BYTES)
      throw new Refused({ code: "payload_too_large", limitBytes: MAX_RESULT_BYTES });
    const request = { ...params, lease: body.lease, result: body.result ?? null, ...toSpent(body) };
    const max = query.claim ?? 0;
    if (max > 0) return answer(c, await commandJob(c, token, "completeAndClaim", { ...request, max }));
    return answer(c, await commandJob(c, token, "completeJob", request));
  },
);

const fail = endpoint(
  {
    ...REPORT,
    ...asks("failJob", "history_unavailable"),
    path: "/api/jobs/{id}/fail",
    summary: "Report a failure",
    description:
      "A retryable failure is tried again until the job has had `max_attempts`; a rate limit waits if the provider's `rate_limit` is configured, and the fallback strategy goes to the next provider. Any other failure is final.",
    body: failRequest,
  },
  async (c, { params, body, token }) => {
    const request = { ...params, lease: body.lease, ...toReportedFailure(body.error), ...toSpent(body) };
    return answer(c, await commandJob(c, token, "failJob", request));
  },
);

const release = endpoint(
  {
    ...REPORT,
    ...asks("releaseJob", "history_unavailable"),
    path: "/api/jobs/{id}/release",
    summary: "Give a job back to the queue",
    body: releaseRequest,
  },
  async (c, { params, body, token }) => {
    return answer(c, await commandJob(c, token, "releaseJob", { ...params, ...body }));
  },
);

export const workerRoutes: readonly Endpoint[] = [
  report,
  present,
  list,
  get,
  forget,
  pause,
  resume,
  claim,
  start,
  heartbeat,
  complete,
  fail,
  release,
];
