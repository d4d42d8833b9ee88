// Waits for a job's end, and says meanwhile what a pending job waits for: silence looks like a hang.

import type { JobResource } from "../../contract/job.ts";
import { isFinal } from "../../contract/values.ts";
import type { Context } from "../verb.ts";

/** A job that starts sooner needs no words. */
const PATIENCE_SECONDS = 3;

/** Each reason is said on stderr when it is new. */
export const waitAloud = async ({ client, output, signal }: Context, id: string): Promise<JobResource> => {
  const { jobs } = client();
  let told: string | null = null;
  for (;;) {
    const job = await jobs.get(id, { wait: PATIENCE_SECONDS, signal });
    if (isFinal(job.status)) return job;
    const { waiting_reason: reason } = job;
    if (reason !== null && reason !== told) output.say(`Job ${id} waits: ${reason}`);
    told = reason;
  }
};
