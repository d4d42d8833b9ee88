// Passes the trace of the request that creates a job on with the job: to its worker, its runtime and its webhooks.

import { traceparentOf } from "../../contract/text/traceparent.ts";
import type { NewJob } from "../../domain/job/job.ts";
import type { AppContext } from "./auth.ts";

export const traced = (c: AppContext, job: NewJob): NewJob => ({
  ...job,
  traceparent: traceparentOf(c.req.header("traceparent")),
});
