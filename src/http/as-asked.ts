// What the headers of a request that creates a job say about it: its trace, which goes on to its worker, its runtime and
// its webhooks, the person it is for, and whether a hosted provider may be called for it.

import * as z from "zod";
import { fairnessKey } from "../../contract/jobs/job.ts";
import { callersTraceparent } from "../../contract/text/traceparent.ts";
import type { NewJob } from "../../domain/job/new-job.ts";
import type { AppContext } from "./auth.ts";
import { EDGE_HEADER, headerOf, isKeptFromEdge, USER_HEADER } from "./header-value.ts";
import { idempotencyHeader } from "./idempotency.ts";

export const newRunHeaders = idempotencyHeader.extend({
  [EDGE_HEADER]: z.string().optional().meta({ description: "off: as `edge: false`" }),
});

export const newJobHeaders = newRunHeaders.extend({
  [USER_HEADER]: z
    .string()
    .optional()
    .meta({ description: "the person that it is for: whose turn it takes, whose limits hold" }),
});

/** Reads the headers, once for all jobs of a request. */
export const asAsked = (c: AppContext): ((job: NewJob) => NewJob) => {
  const said = {
    traceparent: callersTraceparent(c.req.header("traceparent")),
    user: headerOf(c, USER_HEADER, fairnessKey),
    ...(isKeptFromEdge(c) ? { edge: false } : {}),
  };
  return (job) => ({ ...job, ...said });
};
