// What waits, what fails, what happened, and a job's attempts.

import { activityAnswer, activityQuery, markList } from "../../contract/activity.ts";
import { jobIdParam } from "../../contract/fleet/worker.ts";
import { attemptList, failureList, failuresQuery, queueView } from "../../contract/jobs/insight.ts";
import { latencyAnswer, latencyQuery } from "../../contract/latency.ts";
import { ROLLING_PERIODS } from "../../domain/insight/slots.ts";
import { notFound } from "../../domain/words/refusal.ts";
import { operation } from "../endpoint/operation.ts";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import { archivedLine } from "../history/archive/archived-jobs.ts";
import { jobAttempts } from "../history/attempts.ts";
import { historyOf } from "../history/databases.ts";
import { listFailures } from "../history/failures.ts";
import { listMarks } from "../history/marks.ts";
import { answer } from "../http/answer.ts";
import { Refused } from "../http/refused.ts";
import { askAndDrain } from "../tenant/ask.ts";
import { asks } from "../tenant/asks.ts";

const TAG = "Jobs";

const queue = operation(
  "readQueue",
  {
    method: "get",
    path: "/api/queue",
    tag: TAG,
    summary: "List what waits, and why",
    description: "Waiting jobs by requirements, from the live state; the group with the oldest job comes first.",
    answers: { 200: { description: "At most 200 groups, and the number of waiting jobs.", schema: queueView } },
  },
  () => null,
);

const failures = endpoint(
  {
    method: "get",
    path: "/api/failures",
    lane: "heavy",
    tag: TAG,
    ...asks("authorizeRead", "history_unavailable"),
    summary: "List what failed, by error and provider",
    description: "Failed jobs by the time of failure. Default: the last hour.",
    query: failuresQuery,
    answers: { 200: { description: "Groups of failures, most frequent first.", schema: failureList } },
  },
  async (c, { query, token }) => {
    await askAndDrain(c, token, "authorizeRead", null);
    return answer(c, await listFailures(historyOf(c.env, token), query, Date.now()));
  },
);

const attempts = endpoint(
  {
    method: "get",
    path: "/api/jobs/{id}/attempts",
    lane: "heavy",
    tag: TAG,
    ...asks("authorizeRead", "not_found", "history_unavailable", "archive_damaged"),
    summary: "List a job's attempts, oldest first",
    description: "One entry per lease: the worker, times, outcome, usage and cost in US dollars.",
    params: jobIdParam,
    answers: { 200: { description: "The attempts, oldest first.", schema: attemptList } },
  },
  async (c, { params, token }) => {
    await askAndDrain(c, token, "authorizeRead", null);
    const found =
      (await jobAttempts(historyOf(c.env, token), params.id))?.attempts ??
      (await archivedLine(c, token, params.id))?.attempt_list;
    if (found === undefined) throw new Refused(notFound("job", params.id));
    return answer(c, { attempts: [...found] });
  },
);

const latency = operation(
  "readLatency",
  {
    method: "get",
    path: "/api/latency",
    tag: TAG,
    summary: "Read how long jobs wait and run",
    description:
      "Quantiles of completed attempts: wait in the queue, first token, run time, output tokens a second; over a rolling period.",
    query: latencyQuery,
    answers: {
      200: { description: "The total, a row for each value, and a series over the period.", schema: latencyAnswer },
    },
  },
  ({ query }) => query,
);

const activity = operation(
  "readActivity",
  {
    method: "get",
    path: "/api/activity",
    tag: TAG,
    summary: "Read what happened to jobs over time",
    description:
      "Jobs that were created and that ended, what they cost, and the most at once, over a rolling period in even steps.",
    query: activityQuery,
    answers: { 200: { description: "The total, and a row for every step of the period.", schema: activityAnswer } },
  },
  ({ query }) => query,
);

const marks = endpoint(
  {
    method: "get",
    path: "/api/marks",
    lane: "heavy",
    tag: TAG,
    ...asks("authorizeRead", "history_unavailable"),
    summary: "List the events that explain a period",
    description: "Halts, pauses, changes of the config and reached budgets.",
    query: activityQuery,
    answers: { 200: { description: "The events of the period, oldest first.", schema: markList } },
  },
  async (c, { query, token }) => {
    await askAndDrain(c, token, "authorizeRead", null);
    const toAt = Date.now();
    const span = { fromAt: toAt - ROLLING_PERIODS[query.period].ms, toAt, target: null };
    return answer(c, await listMarks(historyOf(c.env, token), span));
  },
);

export const insightRoutes: readonly Endpoint[] = [queue, failures, attempts, latency, activity, marks];
