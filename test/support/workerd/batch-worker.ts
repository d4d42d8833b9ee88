// A worker of the tests that does whatever it is given, over HTTP, until it is stopped.

import type { Body, World } from "./client.ts";

export interface BatchWorker {
  /** Every job that it was given, in order. */
  readonly jobs: Body[];
  readonly stop: () => Promise<void>;
}

/** What the runtime says to a job: its body, or an error. Null: it keeps the job and says nothing. */
export type Says = (job: Body) => { result: Body } | { error: Body } | null;

const CLAIMED = 50;
const PAUSE_MS = 5;

const echoed: Says = (job) => ({ result: { object: "answer", of: job.custom_id, model: job.input.model } });

export const batchWorker = async (world: World, says: Says = echoed, offer: Body = {}): Promise<BatchWorker> => {
  const presence = {
    instance: "w1",
    provider: "local",
    models: ["m1"],
    concurrency: CLAIMED,
    apis: ["chat/completions", "completions", "embeddings", "responses", "messages"],
    ...offer,
  };
  const jobs: Body[] = [];
  let isStopped = false;
  const worker = await world.withKey("worker");
  await worker.ok("POST", "/presence", presence);
  const end = async (job: Body): Promise<void> => {
    const said = says(job);
    if (said === null) return;
    const usage = { input_tokens: 3, output_tokens: 2 };
    if ("result" in said)
      await worker.post(`/api/jobs/${job.id}/complete`, { lease: job.lease, result: said.result, usage });
    else await worker.post(`/api/jobs/${job.id}/fail`, { lease: job.lease, error: said.error });
  };
  const work = async (): Promise<void> => {
    while (!isStopped) {
      const claimed = await worker.post(`/api/workers/${presence.instance}/claim`, { max: CLAIMED });
      const given: Body[] = claimed.status === 200 ? claimed.body.jobs : [];
      jobs.push(...given);
      await Promise.all(given.map(end));
      if (given.length === 0) await scheduler.wait(PAUSE_MS);
    }
  };
  const working = work();
  return {
    jobs,
    stop: async () => {
      isStopped = true;
      await working;
    },
  };
};
