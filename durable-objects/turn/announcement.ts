// What a turn announces to webhooks, and which part of it leaves the object.

import { presentJob } from "../../contract/jobs/job.ts";
import { startOf } from "../../contract/text/start-of.ts";
import { traceparentOf } from "../../contract/text/traceparent.ts";
import type { Job } from "../../domain/job/job.ts";
import type { WebhookEvent } from "../../domain/webhook.ts";
import type { Json } from "../../domain/words/json.ts";

/** Keeps a body well below 20 kB. */
const MAX_ERROR_CHARS = 2_000;

/** Sent from the object after the turn is stored. */
export interface Outgoing {
  readonly id: string;
  readonly webhookId: string;
  readonly url: string;
  readonly secrets: readonly string[];
  readonly traceparent: string | null;
  readonly body: string;
}

/** An event of the turn; `tags` are the job's if it is about a job. */
export interface Announcement {
  readonly event: WebhookEvent;
  readonly data: Json;
  readonly tags: readonly string[] | null;
  readonly traceparent?: string | null;
}

/** The job's facts without its prompt, input, result and progress. */
export const jobAnnouncement = (job: Job): Announcement => {
  const {
    prompt: _,
    input: __,
    result: ___,
    progress: ____,
    waiting_reason: _____,
    error,
    ...facts
  } = presentJob(job, { prompt: "", input: null });
  const said = error === null ? null : { ...error, message: startOf(error.message, MAX_ERROR_CHARS) };
  return {
    event: `job.${job.status}` as WebhookEvent,
    data: { ...facts, error: said } as Json,
    tags: job.tags,
    traceparent: traceparentOf(job),
  };
};
