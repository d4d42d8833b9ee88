// The worker protocol over HTTP: claim, and the reports on a lease.

import * as z from "zod";
import {
  claimAnswer,
  claimRequest,
  completeAndClaimAnswer,
  completeQuery,
  instanceParam,
  jobIdParam,
} from "../../../contract/fleet/worker.ts";
import { jobResource } from "../../../contract/jobs/job.ts";
import {
  completeRequest,
  failRequest,
  heartbeatRequest,
  releaseRequest,
  resultElsewhere,
  startRequest,
  toReportedFailure,
  toSpent,
} from "../../../contract/jobs/report.ts";
import { isWithinBytes, MAX_RESULT_BYTES, waitQuery } from "../../../contract/words/field.ts";
import { type Endpoint, endpoint } from "../../endpoint/router.ts";
import { answer } from "../../http/answer.ts";
import { Refused, unwrap } from "../../http/refused.ts";
import { asks } from "../../tenant/asks.ts";
import { callTenantForText, claimWaiting } from "../../tenant/tenant.ts";
import { commandJob } from "../jobs/job-command.ts";

const TAG = "Worker protocol";
/** The rest of a report, without its result. */
const MAX_REPORT_BYTES = 64 * 1024;

const claim = endpoint(
  {
    method: "post",
    path: "/api/workers/{instance}/claim",
    tag: TAG,
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
        ? await claimWaiting(c, token, request, query.wait * 1000)
        : await callTenantForText(c.env, token, "claim", { ...request, isWaiting: false });
    return answer(c, unwrap<unknown>(claimed));
  },
);

const REPORT = {
  method: "post",
  tag: TAG,
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
      "A start is not needed. A repeated report gets the first answer again. With `claim` the worker also takes its next leases in this call, without waiting.",
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
    if (!isWithinBytes(JSON.stringify(body.result ?? null), MAX_RESULT_BYTES))
      throw new Refused({ code: "payload_too_large", limitBytes: MAX_RESULT_BYTES });
    const request = {
      ...params,
      lease: body.lease,
      result: body.result ?? null,
      ...resultElsewhere(body),
      ...toSpent(body),
    };
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
      "A retryable failure is tried again until the job has had `max_attempts`; a rate limit waits if the provider's `rate_limit` is configured. Any other failure is final.",
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

export const workerProtocolRoutes: readonly Endpoint[] = [claim, start, heartbeat, complete, fail, release];
