// What is stored of a batch's answer under its idempotency key, and what a repetition gets of it.

import { expect, test } from "vitest";
import { presentJob } from "../../../contract/jobs/job.ts";
import { createJob } from "../../../domain/job/new-job.ts";
import { keptBatch } from "../../../durable-objects/steps/idempotency.ts";
import { asked } from "../../support/new-job.ts";

const CREATOR = { keyId: "a-key", name: "admin" };

const jobsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => {
    const { job } = createJob(asked, `job-${index}`, 1_000, CREATOR);
    return presentJob(job, asked, null, index === 0 ? "no worker is connected" : "a job before it");
  });

const kept = keptBatch<{ readonly jobs: ReturnType<typeof jobsOf> }>(Array.from({ length: 500 }, () => asked));
const stored = (jobs: ReturnType<typeof jobsOf>): string => JSON.stringify(kept.strip({ jobs }));

test("a batch's jobs are stored without what they have in common with the first, and repeated whole", () => {
  const jobs = jobsOf(500);
  const assigned = { ...jobs[2], status: "assigned" as const, assigned_worker: "w", lease: 1, waiting_reason: null };
  const all = [...jobs.slice(0, 2), assigned as (typeof jobs)[number], ...jobs.slice(3)];
  expect(kept.restore(JSON.parse(stored(all)))).toEqual({ jobs: all });
  expect(stored(all).length / all.length).toBeLessThan(65);
  expect(kept.restore(JSON.parse(stored([])))).toEqual({ jobs: [] });
});

test("an answer that an earlier release stored has all of each job", () => {
  const jobs = jobsOf(3);
  const whole = jobs.map(({ id, created_at, created_by, traceparent, status, waiting_reason }) => {
    const given = { id, created_at, created_by, traceparent, status, waiting_reason };
    return { ...given, assigned_worker: null, lease: 0, assigned_at: null };
  });
  expect(kept.restore(JSON.parse(JSON.stringify({ jobs: whole })))).toEqual({ jobs });
});
