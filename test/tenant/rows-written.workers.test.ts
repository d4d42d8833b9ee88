// What a job costs on Cloudflare, which charges for each row and each index entry that is written.

import { expect, test } from "vitest";
import { newWorld, type World } from "../support/workerd/client.ts";
import { present } from "../support/workerd/job-steps.ts";

const JOBS = 50;
const JOB = { prompt: "p".repeat(200), model: "gpt", metadata: { team: "blue" } };
const REPORT = { lease: 1, result: "done", usage: { input_tokens: 10, output_tokens: 5 } };

const written = async (world: World): Promise<Record<string, number>> => {
  const { text } = await world.get("/metrics");
  const found = [...text.matchAll(/^signalbox_rows_written_total\{place="(\w+)"\} (\d+)$/gm)];
  return Object.fromEntries(found.map(([, place, count]) => [place, Number(count)]));
};

/** Rows for each of some jobs that `make` creates, and that a worker has and completes. */
const rowsPerJob = async (make: (world: World, index: number) => Promise<{ id: string }[]>) => {
  const world = await newWorld();
  await present(world, "w", { provider: "openai", models: ["gpt"], tags: "gpu", concurrency: JOBS });
  await world.stub.drain();
  const before = await written(world);
  let done = 0;
  for (let index = 0; done < JOBS; index += 1) {
    const jobs = await make(world, index);
    await Promise.all(jobs.map(({ id }) => world.ok("POST", `/api/jobs/${id}/complete`, REPORT)));
    done += jobs.length;
  }
  await world.stub.drain();
  const after = await written(world);
  const each = (place: string): number => ((after[place] ?? 0) - (before[place] ?? 0)) / JOBS;
  return { object: each("object"), history: each("history") };
};

const inBatch = async (world: World) =>
  (await world.ok("POST", "/api/jobs/batch", { jobs: Array.from({ length: JOBS }, () => JOB) })).jobs;

test("jobs of a batch that end soon are at most 4 rows each in their object, and 15 in history", async () => {
  const rows = await rowsPerJob(inBatch);
  expect(rows.history).toBeGreaterThan(5);
  expect(rows.history).toBeLessThanOrEqual(15);
  expect(rows.object).toBeGreaterThan(0.1);
  expect(rows.object).toBeLessThanOrEqual(4);
});

test("a job of two calls is two changes that come and go, and what each load of history notes beside them", async () => {
  const rows = await rowsPerJob(async (world) => [await world.ok("POST", "/api/jobs", JOB)]);
  expect(rows.history).toBeLessThanOrEqual(15);
  expect(rows.object).toBeLessThanOrEqual(10);
});

test("a load of history is at most eight rows in the object beside its jobs' own four", async () => {
  const rows = await rowsPerJob(async (world, index) => {
    if (index > 0) await world.stub.drain();
    return [await world.ok("POST", "/api/jobs", { ...JOB, tags: ["gpu"] })];
  });
  expect(rows.object).toBeLessThanOrEqual(12);
});

test("one that history has before it ends is not written whole again", async () => {
  const rows = await rowsPerJob(async (world) => {
    const job = await world.ok("POST", "/api/jobs", JOB);
    await world.stub.drain();
    return [job];
  });
  expect(rows.history).toBeLessThanOrEqual(25);
});
