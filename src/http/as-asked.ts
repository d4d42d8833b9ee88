// What the headers of a request that creates a job say about it: its trace, which goes on to its worker, its runtime and
// its webhooks, and the person it is for.

import * as z from "zod";
import { fairnessKey } from "../../contract/jobs/job.ts";
import { traceparentOf } from "../../contract/text/traceparent.ts";
import type { NewJob } from "../../domain/job/job.ts";
import { invalid } from "../../domain/words/refusal.ts";
import type { AppContext } from "./auth.ts";
import { idempotencyHeader } from "./idempotency.ts";
import { Refused } from "./refused.ts";

const USER = "x-signalbox-user";

export const newJobHeaders = idempotencyHeader.extend({
  [USER]: z
    .string()
    .optional()
    .meta({ description: "the person that it is for: whose turn it takes, whose limits hold" }),
});

const userOf = (c: AppContext): string | null => {
  const named = c.req.header(USER)?.trim();
  if (named === undefined || named === "") return null;
  const read = fairnessKey.safeParse(named);
  if (!read.success) throw new Refused(invalid(USER, read.error.issues[0]?.message ?? "is invalid"));
  return read.data;
};

export const asAsked = (c: AppContext, job: NewJob): NewJob => ({
  ...job,
  traceparent: traceparentOf(c.req.header("traceparent")),
  user: userOf(c),
});
