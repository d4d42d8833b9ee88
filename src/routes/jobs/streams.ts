// What a worker needs for streams: its data line, the same over HTTP, and inputs too large for a message.

import * as z from "zod";
import { instanceParam, jobIdParam } from "../../../contract/fleet/worker.ts";
import { digits, json } from "../../../contract/words/field.ts";
import { NO_CONTENT, SWITCHING_PROTOCOLS, TOO_MANY_REQUESTS } from "../../../contract/words/http-status.ts";
import { type Endpoint, endpoint } from "../../endpoint/router.ts";
import { answerBody } from "../../http/answer.ts";
import { Refused } from "../../http/refused.ts";
import { requireUpgrade } from "../../http/upgrade.ts";
import { ask } from "../../tenant/ask.ts";
import { asks } from "../../tenant/asks.ts";
import { openDataLine, readHeldBody, writeRelay } from "../../tenant/relay.ts";

const TAG = "Worker protocol";
/** A line gives up its place when its streams have ended. */
const RETRY_SECONDS = 5;
const leaseQuery = z.strictObject({ lease: digits(0, 999_999_999) });

const dataLine = endpoint(
  {
    ...asks("workAs", "upgrade_required", "overloaded"),
    method: "get",
    path: "/api/workers/{instance}/stream",
    tag: TAG,
    summary: "Open a worker's data line (WebSocket)",
    description:
      "Carries the output of jobs while they run: text frames of parts separated by U+001E, each `<job> <lease>`, a line feed, and whole events; `<job> <lease> end` ends a stream. The worker must have registered (404). Output is kept only of leases that the worker was given; over 8 MiB of others closes the line with 4429. Above a tenant's 4,096 lines an idle one is closed with 4408; without one it is 503.",
    params: instanceParam,
    isNameNew: true,
    answers: { 101: { description: "Switching protocols." } },
  },
  async (c, { params, token }) => {
    const { keyId, openedWith } = await ask(c, token, "workAs", params);
    requireUpgrade(c.req);
    const opened = await openDataLine(c.env, token, params.instance, { keyId, openedWith });
    if (opened.status === TOO_MANY_REQUESTS)
      throw new Refused({ code: "overloaded", retryAfterSeconds: RETRY_SECONDS });
    if (opened.status !== SWITCHING_PROTOCOLS) throw new Error(`the relay answered ${opened.status}`);
    return opened;
  },
);

const write = endpoint(
  {
    ...asks("holdLease", "reader_gone"),
    operationId: "writeJobStream",
    method: "post",
    path: "/api/jobs/{id}/stream",
    tag: TAG,
    summary: "Stream a job's events over HTTP",
    description:
      "For networks without WebSockets: a chunked body of events. Answered early, with 409, if the stream has no reader. The first event counts as `job.streaming`; a body left without an end for 5 s ends the stream with `stream_lost`.",
    params: jobIdParam,
    query: leaseQuery,
    rawBody: { schema: json, media: ["text/event-stream"], isAuthorizedLate: true },
    answers: { 204: { description: "Taken." } },
  },
  async (c, { params, query, token }) => {
    const { id, lease } = { ...params, ...query };
    const { instance } = await ask(c, token, "holdLease", { id, lease });
    const taken = await writeRelay(c.env, token, instance, { jobId: id, lease }, c.req.raw.body);
    if (taken.status === NO_CONTENT) return c.body(null, NO_CONTENT);
    if ((await taken.text()) === "reader_gone") throw new Refused({ code: "reader_gone" });
    // It says that the key has ended, or what became of the job.
    await ask(c, token, "holdLease", { id, lease });
    throw new Refused({ code: "lease_lost", id, lease, current: lease, status: null });
  },
);

const input = endpoint(
  {
    ...asks("holdLease"),
    operationId: "readJobInput",
    method: "get",
    path: "/api/jobs/{id}/input",
    tag: TAG,
    summary: "Read a job's input that is over 1 MiB",
    params: jobIdParam,
    query: leaseQuery,
    answers: { 200: { description: "The input, any JSON.", schema: json } },
  },
  async (c, { params, query, token }) => {
    await ask(c, token, "holdLease", { id: params.id, lease: query.lease });
    const held = await readHeldBody(c.env, token, params.id);
    const text = held ?? JSON.stringify((await ask(c, token, "getJob", { id: params.id })).input);
    return answerBody(c, text, { "content-type": "application/json" });
  },
);

export const streamRoutes: readonly Endpoint[] = [dataLine, write, input];
