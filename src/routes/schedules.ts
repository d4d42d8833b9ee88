// Schedules: created by the caller, run by the tenant's alarm.

import * as z from "zod";
import {
  newScheduleRequest,
  patchScheduleRequest,
  previewQuery,
  scheduleHistory,
  scheduleList,
  scheduleListQuery,
  scheduleNameParam,
  schedulePreview,
  scheduleQuery,
  scheduleResource,
  scheduleRun,
  scheduleRunsQuery,
  toNewSchedule,
  toSchedulePatch,
} from "../../contract/schedule.ts";
import { fromIso } from "../../contract/words/field.ts";
import { invalid } from "../../domain/words/refusal.ts";
import { operation } from "../endpoint/operation.ts";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import { historyOf } from "../history/databases.ts";
import { listLastRuns, listRuns } from "../history/schedule-runs.ts";
import { answer } from "../http/answer.ts";
import { newRunHeaders } from "../http/as-asked.ts";
import { EDGE_HEADER, isKeptFromEdge } from "../http/header-value.ts";
import { answerReplayable, idempotencyOf } from "../http/idempotency.ts";
import { Refused, unwrap } from "../http/refused.ts";
import { ask, askAndDrain } from "../tenant/ask.ts";
import { asks } from "../tenant/asks.ts";
import { callTenantForText, drainTenant } from "../tenant/tenant.ts";
import { wholeList } from "../tenant/whole-list.ts";

const BASE = { tag: "Schedules" } as const;
const ONE = { ...BASE, path: "/api/schedules/{name}", params: scheduleNameParam } as const;
const answers = { 200: { description: "The schedule.", schema: scheduleResource } } as const;

const create = operation(
  "createSchedule",
  {
    ...BASE,
    method: "post",
    path: "/api/schedules",
    summary: "Create a schedule",
    description: "Give either `cron` (five fields) or `interval` (`<integer><s|m|h|d>`).",
    headers: newRunHeaders.pick({ [EDGE_HEADER]: true }),
    body: newScheduleRequest,
    answers: { 201: { description: "The schedule.", schema: scheduleResource } },
  },
  ({ body }, c) => {
    const kept = isKeptFromEdge(c) ? { edge: false } : {};
    return { ...toNewSchedule(body), ...kept };
  },
);

const preview = endpoint(
  {
    ...BASE,
    ...asks("previewSchedule"),
    method: "post",
    path: "/api/schedules/preview",
    summary: "Preview the next runs of a schedule, without storing it",
    query: previewQuery,
    body: newScheduleRequest,
    answers: { 200: { description: "The times of the next runs.", schema: schedulePreview } },
  },
  async (c, { body, query, token }) => {
    const request = { schedule: toNewSchedule(body), count: query.preview };
    return answer(c, { next_runs: [...(await ask(c, token, "previewSchedule", request))] });
  },
);

const list = endpoint(
  {
    ...BASE,
    ...asks("listSchedules", "history_unavailable"),
    method: "get",
    path: "/api/schedules",
    lane: "heavy",
    summary: "All schedules, newest first",
    description: "`?preview=5&runs=10` adds the times of the next five runs of each, and its last ten runs.",
    query: scheduleListQuery,
    answers: { 200: { description: "A page of schedules.", schema: scheduleList } },
  },
  async (c, { query: { preview = null, runs, ...page }, token }) => {
    const read = (names?: readonly string[]) =>
      ask(c, token, "listSchedules", { ...page, preview, ...(names === undefined ? {} : { names }) });
    const first = await read();
    if (runs !== undefined) await drainTenant(c.env, token);
    const whole = { schedules: [], total: first.total, ...page };
    const list = await wholeList(whole, first, read, async (rows) => {
      if (runs === undefined) return rows;
      const of = rows.map(({ name, created_at }) => ({ schedule: name, sinceAt: fromIso(created_at) }));
      const lastRuns = await listLastRuns(historyOf(c.env, token), of, runs);
      return rows.map((one) => ({ ...one, last_runs: lastRuns.get(one.name) ?? [] }));
    });
    return answer(c, list);
  },
);

const get = operation(
  "getSchedule",
  {
    ...ONE,
    method: "get",
    summary: "Read a schedule",
    description: "`?preview=5` adds the times of the next five runs.",
    query: scheduleQuery,
    answers,
  },
  ({ params, query }) => ({ ...params, preview: query.preview ?? null }),
);

const edit = operation(
  "editSchedule",
  {
    ...ONE,
    method: "put",
    summary: "Change a schedule",
    description: "Takes any of the fields; `status` pauses and resumes it. A run that is already due is still done.",
    body: patchScheduleRequest,
    answers,
  },
  ({ params, body }) => {
    if (body.name !== undefined && body.name !== params.name) {
      throw new Refused(invalid("name", "a schedule cannot be renamed: create a new one and delete this one"));
    }
    return { ...params, patch: toSchedulePatch(body) };
  },
);

const remove = operation(
  "deleteSchedule",
  {
    ...ONE,
    method: "delete",
    summary: "Delete a schedule",
    answers: { 204: { description: "Deleted. The jobs it created are kept." } },
  },
  ({ params }) => params,
);

const run = endpoint(
  {
    ...BASE,
    ...asks("runSchedule"),
    method: "post",
    path: "/api/schedules/{name}/run",
    params: scheduleNameParam,
    summary: "Run a schedule now",
    description: "Does not change its next due time.",
    headers: newRunHeaders,
    body: z.strictObject({}),
    isBodyOptional: true,
    answers: { 200: { description: "The run, with the job it created.", schema: scheduleRun } },
  },
  async (c, { params, token }) => {
    const idempotency = await idempotencyOf(c, params);
    const request = { ...params, idempotency, ...(isKeptFromEdge(c) ? { edge: false as const } : {}) };
    const ran = unwrap(await callTenantForText(c.env, token, "runSchedule", request, idempotency !== null));
    return answerReplayable(c, ran, 200);
  },
);

const history = endpoint(
  {
    ...BASE,
    ...asks("getSchedule", "history_unavailable"),
    operationId: "listScheduleRuns",
    method: "get",
    path: "/api/schedules/{name}/history",
    lane: "heavy",
    params: scheduleNameParam,
    summary: "List a schedule's runs, newest first",
    query: scheduleRunsQuery,
    answers: { 200: { description: "A page of runs, newest first.", schema: scheduleHistory } },
  },
  async (c, { params, query, token }) => {
    const { created_at } = await askAndDrain(c, token, "getSchedule", { ...params, preview: null });
    // Excludes runs of a deleted schedule that had the same name.
    const runs = { schedule: params.name, sinceAt: fromIso(created_at) };
    return answer(c, { ...(await listRuns(historyOf(c.env, token), runs, query)), ...query });
  },
);

export const scheduleRoutes: readonly Endpoint[] = [create, preview, list, get, edit, remove, run, history];
