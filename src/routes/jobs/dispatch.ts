// Dispatch, and the explanation of where a job would go.

import { dispatchQuery, explainQuery, explanation } from "../../../contract/dispatch.ts";
import { jobResource, newJobRequest, toNewJob } from "../../../contract/jobs/job.ts";
import { splitList } from "../../../contract/words/field.ts";
import { type Endpoint, endpoint } from "../../endpoint/router.ts";
import { notArchived } from "../../history/archive/archived-jobs.ts";
import { answer } from "../../http/answer.ts";
import { asAsked, newJobHeaders } from "../../http/as-asked.ts";
import { answerAsRead, idempotencyOf } from "../../http/idempotency.ts";
import { unwrap } from "../../http/refused.ts";
import { askAndAnswer } from "../../tenant/ask.ts";
import { asks } from "../../tenant/asks.ts";
import { callTenantForText } from "../../tenant/tenant.ts";
import { commandJob } from "./job-command.ts";

const TAG = "Jobs";

const dispatch = endpoint(
  {
    method: "post",
    path: "/dispatch",
    tag: TAG,
    ...asks("dispatch"),
    grows: "dispatch",
    summary: "Give a job to the best worker now",
    description:
      "Without an eligible worker the answer gives each worker's reasons and the job is not kept; `?queue=true` queues it instead.",
    headers: newJobHeaders,
    query: dispatchQuery,
    body: newJobRequest,
    answers: {
      200: { description: "The job, assigned to a worker.", schema: jobResource },
      202: { description: "With `?queue=true` and no eligible worker: the pending job.", schema: jobResource },
    },
  },
  async (c, { body, query, token }) => {
    const idempotency = await idempotencyOf(c, body);
    const mayQueue = query.queue === "true";
    const request = { job: asAsked(c)(toNewJob(body)), mayQueue, idempotency };
    const dispatched = unwrap(await callTenantForText(c.env, token, "dispatch", request, idempotency !== null));
    if (!mayQueue && idempotency === null) return answer(c, dispatched);
    return answerAsRead(c, dispatched, ({ status }) => (status === "pending" ? 202 : 200));
  },
);

const explain = endpoint(
  {
    method: "get",
    path: "/dispatch/explain",
    lane: "heavy",
    tag: TAG,
    ...asks("explain", "job_archived", "archive_damaged"),
    summary: "Explain which worker a job would go to, and why",
    description: "Changes nothing. `selected` is the worker that `POST /dispatch` would choose.",
    query: explainQuery,
    answers: { 200: { description: "Every worker with score and reasons, best first.", schema: explanation } },
  },
  async (c, { query, token }) => {
    const id = query.job_id ?? null;
    const request = {
      provider: query.provider ?? null,
      model: query.model ?? null,
      tags: splitList(query.job_tags ?? ""),
      tier: query.tier ?? null,
      urgency: query.urgency ?? ("normal" as const),
      scope: {
        ...(query.limit === undefined ? {} : { limit: query.limit }),
        ...(query.worker === undefined ? {} : { instance: query.worker }),
      },
    };
    if (id === null) return askAndAnswer(c, token, "explain", { ...request, id });
    return answer(c, await notArchived(c, token, id, commandJob(c, token, "explain", { ...request, id })));
  },
);

export const dispatchRoutes: readonly Endpoint[] = [dispatch, explain];
