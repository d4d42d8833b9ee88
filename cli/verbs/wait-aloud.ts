// Waits for a job's end, and meanwhile prints what a pending job waits for: without output it looks like a hang.

import type { JobResource } from "../../contract/jobs/job.ts";
import { objectOf } from "../../contract/text/json-object.ts";
import { duration } from "../../contract/text/time-words.ts";
import { isFinal } from "../../contract/words/values.ts";
import { barOf } from "../progress.ts";
import type { Context } from "../verb.ts";
import { whileAway } from "../while-away.ts";

/** A job that starts sooner needs no words. */
const PATIENCE_SECONDS = 3;
const LIVE_EVERY_SECONDS = 1;

/** Prints each new reason on stderr. */
export const waitAloud = async (context: Context, id: string): Promise<JobResource> => {
  const { client, output, signal } = context;
  const { jobs } = client();
  let told: string | null = null;
  for (;;) {
    const job = await whileAway(context, () => jobs.get(id, { wait: PATIENCE_SECONDS, signal }));
    if (isFinal(job.status)) return job;
    const { waiting_reason: reason } = job;
    if (reason !== null && reason !== told) output.say(`Job ${id} waits: ${reason}`);
    told = reason;
  }
};

/** The share of it that is done, if its worker reports that. */
const shareOf = ({ progress }: JobResource): string => {
  const { progress: share, message } = objectOf(progress);
  const bar = typeof share === "number" ? ` ${barOf(share, 1)} ${Math.round(share * 100)} %` : "";
  return `${bar}${typeof message === "string" ? ` ${message}` : ""}`;
};

const stateOf = (job: JobResource): string => {
  const { id, created_at, started_at, waiting_reason: reason, assigned_worker: worker } = job;
  const forMs = Date.now() - Date.parse(started_at ?? created_at);
  const sinceWhen = duration(Math.max(0, forMs));
  return started_at === null
    ? `Job ${id} waits ${sinceWhen}${reason === null ? "" : `: ${reason}`}`
    : `Job ${id} runs on ${worker ?? "a worker"} for ${sinceWhen}${shareOf(job)}`;
};

/** On a terminal a line that changes, until the end; elsewhere as `waitAloud`. */
export const waitLive = async (context: Context, id: string): Promise<JobResource> => {
  const { client, output, signal } = context;
  if (!output.isLive) return waitAloud(context, id);
  const { jobs } = client();
  try {
    for (;;) {
      const job = await whileAway(context, () => jobs.get(id, { wait: LIVE_EVERY_SECONDS, signal }));
      if (isFinal(job.status)) return job;
      output.live(stateOf(job));
    }
  } finally {
    output.endLive();
  }
};
