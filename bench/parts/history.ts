// How far history is behind when a burst of jobs has been created in batches and done: until then a reader waits.

import { figure } from "../figures.ts";
import { connectFinishers, createJobs } from "../history/finished-jobs.ts";
import { median } from "../load.ts";
import type { Bench } from "../plan.ts";
import { createTenant, drainHistory, SOCKET_TAG } from "../signalbox.ts";
import { PROMPT } from "../workplace.ts";
import { tally } from "./jobs.ts";

const JOBS = 10_000;

export const history = async ({ signalbox, pace, say }: Bench): Promise<void> => {
  const used = tally(signalbox);
  const behind: number[] = [];
  for (let round = 0; round < pace.rounds; round += 1) {
    await used.add(async () => {
      const { jobsPerSecond, behindMs } = await burst(signalbox.port);
      behind.push(behindMs);
      return { jobsPerSecond, behindMs, jobs: JOBS };
    });
  }
  const note = `CPU ${used.cpuPerJob()} µs/job (${used.byProcess()})`;
  say(figure({ part: "history", what: `behind after ${JOBS} jobs`, unit: "ms", signalbox: median(behind), note }));
};

const burst = async (port: number): Promise<{ jobsPerSecond: number; behindMs: number }> => {
  const tenant = await createTenant(port);
  const workers = await connectFinishers(tenant);
  const startedAt = performance.now();
  await createJobs(tenant, JOBS, { prompt: PROMPT, tags: [SOCKET_TAG] });
  await workers.settleTo(JOBS, 0);
  const jobsPerSecond = (JOBS * 1000) / (performance.now() - startedAt);
  const behindMs = await drainHistory(tenant);
  workers.close();
  return { jobsPerSecond, behindMs };
};
