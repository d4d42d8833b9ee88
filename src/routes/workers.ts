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
import { callTenant, claimWaiting } from "../http/tenant.ts";
import { commandJob } from "./job-command.ts";

const FLEET = "Workers";
const PROTOCOL = "Worker protocol";
const nothing = z.strictObject({});
/** What a report holds beside its result. */
const MAX_REPORT_BYTES = 64 * 1024;

const report = endpoint(
  {
    method: "post",
    path: "/presence",
    tag: FLEET,
    ...asks("reportPresence"),
    summary: "Report presence",
    description:
      "Registers the worker or renews its heartbeat. `jobs` lists what it works on and settles what was lost.",
    body: presenceRequest,
    answers: { 200: { description: "What the coordinator knows and wants of it.", schema: presenceAnswer } },
  },
  async (c, { body, token }) => {
    const presence = { ...toPresence(body), viaSocket: false };
    const heard = unwrap(await callTenant(c.env, token, "reportPresence", presence));
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
    summary: "Workers that are not offline",
    query: presenceListQuery,
    answers: { 200: { description: "The presence of each worker.", schema: presenceList } },
  },
  async (c, { token, query }) => answer(c, unwrap(await callTenant(c.env, token, "listPresent", query))),
);

const list = endpoint(
  {
    method: "get",
    path: "/api/workers",
    lane: "heavy",
    tag: FLEET,
    ...asks("listWorkers"),
    summary: "All registered workers, or those that a filter names",
    description:
      "A worker is in the state `failing` where at least a third of its recent jobs, and three of them or more, failed by its own fault. `unconfirmed`: it has not acknowledged the killswitch's halt.",
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
    summary: "A worker, its open jobs and recent outcomes",
    params: instanceParam,
    answers: { 200: { description: "The worker.", schema: workerDetail } },
  },
  async (c, { params, token }) => {
    return answer(c, unwrap(await callTenant(c.env, token, "getWorker", params)));
  },
);

const forget = endpoint(
  {
    method: "delete",
    path: "/api/workers/{instance}",
    tag: FLEET,
    ...asks("forgetWorker"),
    summary: "Forget an offline worker",
    params: instanceParam,
    answers: { 204: { description: "Forgotten; what it held is back in the queue." } },
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
    summary: "Give a worker no new jobs",
    description: "Its running jobs go on. Kept across its restarts, until it is resumed or `until` is over.",
    params: instanceParam,
    body: pauseRequest,
    isBodyOptional: true,
    answers: { 200: { description: "The worker.", schema: workerResource } },
  },
  async (c, { params, body, token }) => {
    return answer(c, unwrap(await callTenant(c.env, token, "pauseWorker", { ...params, ...toPause(body) })));
  },
);

const resume = endpoint(
  {
    method: "post",
    path: "/api/workers/{instance}/resume",
    tag: FLEET,
    ...asks("resumeWorker"),
    summary: "Give a worker jobs again",
    params: instanceParam,
    body: nothing,
    isBodyOptional: true,
    answers: { 200: { description: "The worker.", schema: workerResource } },
  },
  async (c, { params, token }) => {
    return answer(c, unwrap(await callTenant(c.env, token, "resumeWorker", params)));
  },
);

const claim = endpoint(
  {
    method: "post",
    path: "/api/workers/{instance}/claim",
    tag: PROTOCOL,
    ...asks("claim"),
    summary: "Take leases",
    description:
      "Leases the worker holds and has not started, waiting for one if there is none; `skipped` says why it stays idle.",
    params: instanceParam,
    query: z.strictObject(waitQuery),
    body: claimRequest,
    isBodyOptional: true,
    answers: { 200: { description: "Up to `max` jobs.", schema: claimAnswer } },
  },
  async (c, { params, query, body, token }) => {
    const request = { ...params, max: body.max };
    const claimed =
      query.wait > 0
        ? await claimWaiting(c.env, token, request, query.wait * 1000)
        : await callTenant(c.env, token, "claim", { ...request, isWaiting: false });
    return answer(c, unwrap(claimed));
  },
);

const REPORT = {
  method: "post",
  tag: PROTOCOL,
  params: jobIdParam,
  answers: { 200: { description: "The job.", schema: jobResource } },
} as const;

const start = endpoint(
  {
    ...REPORT,
    ...asks("startJob", "history_unavailable"),
    path: "/api/jobs/{id}/start",
    summary: "Start a job: assigned to running",
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
    summary: "Keep a job from being reaped",
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
      "An assigned job may be completed directly. Repeated, it is answered as it was the first time. With `claim` the worker takes its next leases in the same call, without a wait.",
    query: completeQuery,
    body: completeRequest,
    maxBodyBytes: MAX_RESULT_BYTES + MAX_REPORT_BYTES,
    answers: {
      200: {
        description: "The job; with `claim`, that and leases.",
        schema: z.union([completeAndClaimAnswer, jobResource]),
      },
    },
  },
  async (c, { params, query, body, token }) => {
    // A result has a bound of its own, as in a worker's message.
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
      "A rate limit waits and tries again where the provider's `rate_limit` is configured; any other failure is final, but for the fallback strategy.",
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
    summary: "Give a job back unworked",
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
