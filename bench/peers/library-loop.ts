// A program that uses a queue as its users do: by its library, creating jobs and working on them in one process. Counts
// the jobs that are done between the end of the warm-up and the end of the measurement, and prints them a second; and
// the CPU time of its own process a job, from its start on.

import { setTimeout as pause } from "node:timers/promises";

export interface LibraryRun {
  /** Calls under way at a time. */
  clients: number;
  /** Jobs that one call creates; with 1 it is the call for one job. */
  jobsACall: number;
  warmUpMs: number;
  measureMs: number;
}

interface Library {
  create: (count: number) => Promise<unknown>;
  /** Jobs that are stored as completed. */
  done: () => number;
}

/** Clients pause while so many jobs are unfinished. */
const MAX_UNFINISHED = 4_000;
const HOLD_BACK_MS = 1;

export const runLibrary = async (library: Library, { clients, jobsACall, warmUpMs, measureMs }: LibraryRun) => {
  let created = 0;
  let isOver = false;
  const client = async () => {
    while (!isOver) {
      if (created - library.done() + jobsACall > Math.max(MAX_UNFINISHED, 2 * clients * jobsACall)) {
        await pause(HOLD_BACK_MS);
        continue;
      }
      created += jobsACall;
      await library.create(jobsACall);
    }
  };
  const all = Promise.all(Array.from({ length: clients }, client));
  await Promise.race([pause(warmUpMs), all]);
  const before = library.done();
  const startedAt = performance.now();
  await Promise.race([pause(measureMs), all]);
  const rate = ((library.done() - before) * 1000) / (performance.now() - startedAt);
  isOver = true;
  await all;
  const { user, system } = process.cpuUsage();
  const done = library.done();
  process.stdout.write(`${JSON.stringify({ jobsPerSecond: rate, done, cpuPerJob: (user + system) / done })}\n`);
};
