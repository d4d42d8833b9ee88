// A worker over plain HTTP: presence, claim, reports. Every second one does not list its jobs.

import { setTimeout as pause } from "node:timers/promises";
import type { LeasedJob } from "../../contract/fleet/worker.ts";
import { callOnce, type Stage } from "./stage.ts";
import { Hands } from "./work.ts";

const CONCURRENCY = 6;
const AFTER_REFUSAL_MS = 50;
const PRESENCE_EVERY_MS = 800;

export const runHttpWorker = async (stage: Stage, instance: string, tags: string, saysJobs: boolean): Promise<void> => {
  const hands = new Hands(stage, instance, async (verb, jobId, fields) => {
    const answer = await callOnce(stage, stage.rough, {
      method: "POST",
      path: `/api/jobs/${jobId}/${verb}`,
      body: fields,
    });
    return answer === null ? null : (answer.code ?? "ok");
  });
  const tell = async (): Promise<void> => {
    const jobs = saysJobs ? { jobs: [...hands.jobIds] } : {};
    const body = { instance, provider: "chaos", status: "online", tags, concurrency: CONCURRENCY, ...jobs };
    const answer = await callOnce(stage, stage.rough, { method: "POST", path: "/presence", body });
    if (answer?.status === 200) for (const job of (answer.body as { jobs: LeasedJob[] }).jobs) hands.take(job);
  };
  const beat = async (): Promise<void> => {
    while (!stage.isOver) {
      await tell();
      await pause(PRESENCE_EVERY_MS);
    }
  };
  const claim = async (): Promise<void> => {
    while (!stage.isOver) {
      const path = `/api/workers/${instance}/claim?wait=1`;
      const answer = await callOnce(stage, stage.rough, { method: "POST", path, body: { max: 3 } });
      if (answer?.status !== 200) await pause(AFTER_REFUSAL_MS);
      else for (const job of (answer.body as { jobs: LeasedJob[] }).jobs) hands.take(job);
      // A lease that this worker lost is sent again until it expires.
      await pause(AFTER_REFUSAL_MS * stage.random.next());
    }
  };
  await Promise.all([beat(), claim()]);
};
