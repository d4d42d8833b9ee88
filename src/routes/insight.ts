// What waits, what fails, and how a job's attempts went.

import { attemptList, failureList, failuresQuery, queueView } from "../../contract/insight.ts";
import { jobIdParam } from "../../contract/worker.ts";
import { notFound } from "../../domain/refusal.ts";
import { jobAttempts } from "../history/attempts.ts";
import { listFailures } from "../history/failures.ts";
import { answer } from "../http/answer.ts";
import { asks } from "../http/asks.ts";
import { Refused, unwrap } from "../http/refused.ts";
import { type Endpoint, endpoint } from "../http/router.ts";
import { callTenant, drainTenant } from "../http/tenant.ts";

const TAG = "Jobs";

const queue = endpoint(
  {
    method: "get",
    path: "/api/queue",
    tag: TAG,
    ...asks("readQueue"),
    summary: "What waits, and why",
    description: "Waiting jobs by what they require, from the live truth, the group with the oldest job first.",
    answers: { 200: { description: "The groups.", schema: queueView } },
  },
  async (c, { token }) => answer(c, unwrap(await callTenant(c.env, token, "readQueue", null))),
);

const failures = endpoint(
  {
    method: "get",
    path: "/api/failures",
    lane: "heavy",
    tag: TAG,
    ...asks("authorizeRead", "history_unavailable"),
    summary: "What failed, by error and who ran it",
    description: "Failed jobs by the time of their failure. Without `since` and `until`: of the last hour.",
    query: failuresQuery,
    answers: { 200: { description: "The most frequent first.", schema: failureList } },
  },
  async (c, { query, token }) => {
    unwrap(await callTenant(c.env, token, "authorizeRead", null));
    await drainTenant(c.env, token);
    return answer(c, await listFailures(c.env.DB, token.tenant, query, Date.now()));
  },
);

const attempts = endpoint(
  {
    method: "get",
    path: "/api/jobs/{id}/attempts",
    lane: "heavy",
    tag: TAG,
    ...asks("authorizeRead", "not_found", "history_unavailable"),
    summary: "A job's attempts, oldest first",
    description: "One for each lease: who had it, how long it took, how it ended, what it cost.",
    params: jobIdParam,
    answers: { 200: { description: "The attempts.", schema: attemptList } },
  },
  async (c, { params, token }) => {
    unwrap(await callTenant(c.env, token, "authorizeRead", null));
    await drainTenant(c.env, token);
    const found = await jobAttempts(c.env.DB, token.tenant, params.id);
    if (found === null) throw new Refused(notFound("job", params.id));
    return answer(c, found);
  },
);

export const insightRoutes: readonly Endpoint[] = [queue, failures, attempts];
