// What the headers of a request that creates a job say about it: its trace, which goes on to its worker, its runtime and
// its webhooks, and the person it is for.

import * as z from "zod";
import { fairnessKey } from "../../contract/jobs/job.ts";
import { traceparentOf } from "../../contract/text/traceparent.ts";
import type { NewJob } from "../../domain/job/new-job.ts";
import type { AppContext } from "./auth.ts";
import { headerOf, USER_HEADER } from "./header-value.ts";
import { idempotencyHeader } from "./idempotency.ts";

export const newJobHeaders = idempotencyHeader.extend({
  [USER_HEADER]: z
    .string()
    .optional()
    .meta({ description: "the person that it is for: whose turn it takes, whose limits hold" }),
});

export const asAsked = (c: AppContext, job: NewJob): NewJob => ({
  ...job,
  traceparent: traceparentOf(c.req.header("traceparent")),
  user: headerOf(c, USER_HEADER, fairnessKey),
});
