// Presence and the fleet.

import * as z from "zod";
import { activityQuery } from "../../../contract/activity.ts";
import { fleetGrid, fleetGridQuery } from "../../../contract/fleet/fleet-grid.ts";
import {
  hoursRequest,
  instanceParam,
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
} from "../../../contract/fleet/worker.ts";
import { MAX_WORKER_JOBS, workerActivity } from "../../../contract/fleet/worker-activity.ts";
import { operation } from "../../endpoint/operation.ts";
import { type Endpoint, endpoint } from "../../endpoint/router.ts";
import { historyOf } from "../../history/databases.ts";
import { readWorkerActivity } from "../../history/worker-activity.ts";
import { answer } from "../../http/answer.ts";
import { unwrap } from "../../http/refused.ts";
import { ask, askAndDrain } from "../../tenant/ask.ts";
import { asks } from "../../tenant/asks.ts";
import { notePresent } from "../../tenant/readiness.ts";
import { callTenantForText } from "../../tenant/tenant.ts";
import { wholeList } from "../../tenant/whole-list.ts";

const TAG = "Workers";
const nothing = z.strictObject({});

const report = endpoint(
  {
    method: "post",
    path: "/presence",
    tag: TAG,
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

const present = operation(
  "listPresent",
  {
    method: "get",
    path: "/presence",
    lane: "heavy",
    tag: TAG,
    summary: "List workers that are not offline",
    description: "A page of large workers (8 MiB) is shorter than `limit`: go on behind it.",
    query: presenceListQuery,
    answers: { 200: { description: "The workers that are not offline.", schema: presenceList } },
  },
  ({ query }) => query,
);

const list = endpoint(
  {
    method: "get",
    path: "/api/workers",
    lane: "heavy",
    tag: TAG,
    ...asks("listWorkers"),
    summary: "List registered workers",
    description:
      "A worker is `failing` if at least a third of its recent jobs, of at least three, failed through its own fault. `unconfirmed`: it has not confirmed the killswitch's halt.",
    query: workerListQuery,
    answers: { 200: { description: "A page of workers.", schema: workerList } },
  },
  async (c, { query, token }) => {
    const read = (names: readonly string[]) => ask(c, token, "listWorkers", { ...query, names });
    const { rows, rest, ...counts } = await ask(c, token, "listWorkers", query);
    const whole = { workers: [], ...counts, limit: query.limit, offset: query.offset };
    return answer(c, await wholeList(whole, { rows, rest }, read));
  },
);

const grid = operation(
  "readGrid",
  {
    method: "get",
    path: "/api/fleet",
    lane: "heavy",
    tag: TAG,
    summary: "Read the whole fleet as a grid",
    description: "A few columns for each worker, in groups: thousands of workers in one answer.",
    query: fleetGridQuery,
    answers: { 200: { description: "The groups, each with a column for each field.", schema: fleetGrid } },
  },
  ({ query }) => query,
);

const activity = endpoint(
  {
    method: "get",
    path: "/api/workers/{instance}/activity",
    lane: "heavy",
    tag: TAG,
    ...asks("getWorker", "history_unavailable"),
    operationId: "readWorkerActivity",
    summary: "Read what a worker did over time",
    description: `Its jobs by when they were created, over a rolling period in even steps; of the newest ${MAX_WORKER_JOBS} jobs.`,
    params: instanceParam,
    query: activityQuery,
    answers: {
      200: { description: "Sums, a row for every step, what it served, and its pauses.", schema: workerActivity },
    },
  },
  async (c, { params, query, token }) => {
    await askAndDrain(c, token, "getWorker", params);
    return answer(c, await readWorkerActivity(historyOf(c.env, token), params.instance, query.period, Date.now()));
  },
);

const get = operation(
  "getWorker",
  {
    method: "get",
    path: "/api/workers/{instance}",
    lane: "heavy",
    tag: TAG,
    summary: "Read a worker with its open jobs and recent outcomes",
    params: instanceParam,
    answers: { 200: { description: "The worker, its open jobs and its recent outcomes.", schema: workerDetail } },
  },
  ({ params }) => params,
);

const forget = operation(
  "forgetWorker",
  {
    method: "delete",
    path: "/api/workers/{instance}",
    tag: TAG,
    summary: "Delete an offline worker",
    params: instanceParam,
    answers: { 204: { description: "Deleted. Its jobs are back in the queue." } },
  },
  ({ params }) => params,
);

const pause = operation(
  "pauseWorker",
  {
    method: "post",
    path: "/api/workers/{instance}/pause",
    tag: TAG,
    summary: "Pause a worker",
    description:
      "It gets no new jobs; its running jobs continue. The pause survives restarts, until it is resumed or `until` has passed.",
    params: instanceParam,
    body: pauseRequest,
    isBodyOptional: true,
    answers: { 200: { description: "The paused worker.", schema: workerResource } },
  },
  ({ params, body }) => ({ ...params, ...toPause(body) }),
);

const hours = operation(
  "setWorkerHours",
  {
    method: "put",
    path: "/api/workers/{instance}/hours",
    tag: TAG,
    summary: "Set or remove the hours of a worker",
    description:
      "Outside its hours a worker gets no new jobs; its running jobs continue. Windows are separated by `;`, days are `Mon-Fri` or `Sat,Sun` (none: every day), times to `24:00`; a window may pass midnight and belongs to the day on which it begins. A restart of the worker keeps them.",
    params: instanceParam,
    body: hoursRequest,
    answers: { 200: { description: "The worker with its hours.", schema: workerResource } },
  },
  ({ params, body }) => ({ ...params, ...body }),
);

const resume = operation(
  "resumeWorker",
  {
    method: "post",
    path: "/api/workers/{instance}/resume",
    tag: TAG,
    summary: "Resume a worker",
    params: instanceParam,
    body: nothing,
    isBodyOptional: true,
    answers: { 200: { description: "The resumed worker.", schema: workerResource } },
  },
  ({ params }) => params,
);

export const workerRoutes: readonly Endpoint[] = [
  report,
  present,
  list,
  grid,
  get,
  activity,
  forget,
  pause,
  hours,
  resume,
];
