// A job's records leave out what follows from the rest: a reader of one gets the job that was written.

import { expect, test } from "vitest";
import type { Job } from "../../../domain/job/job.ts";
import { archivedRecord, currentJob, journalRecord, readArchived } from "../../../domain/job/job-record.ts";
import { USUAL } from "../../../domain/job/usual-job.ts";
import { assignedJob, completedJob, delayedJob, failedJob, pendingJob, runningJob } from "./sample-jobs.ts";

const JOBS: Readonly<Record<string, Job>> = {
  pending: pendingJob(),
  "pending, asking for all there is": pendingJob({
    provider: "openai",
    model: "m",
    tags: ["b", "a"],
    metadata: { team: 'a "quoted" name' },
    priority: "high",
    tier: "premium",
    edge: false,
    stream: true,
    files: ["file-1"],
    fairnessKey: "somebody",
    flow: "key:k",
    timeoutMs: 1_000,
    maxAttempts: 2,
    schedule: "nightly",
  }),
  delayed: delayedJob(),
  assigned: assignedJob(),
  running: runningJob(),
  "running, with an empty progress": { ...runningJob(), progress: {} },
  completed: completedJob(),
  failed: failedJob(),
  "in a group that its requirements no longer give": { ...pendingJob(), groupKey: "an older key" },
};

test.each(Object.entries(JOBS))("the journal's record of a job that is %s is the whole job", (_, job) => {
  expect(currentJob(JSON.parse(journalRecord(job)))).toEqual(job);
});

test.each(Object.entries(JOBS))(
  "history's record of a job that is %s is the whole job beside its columns",
  (_, job) => {
    const { id, version, status, assignedWorker: worker, schedule, costNanoUsd, createdAt, finishedAt } = job;
    const row = { id, version, status, worker, schedule, record: archivedRecord(job) };
    const ran = { key_id: job.keyId, ran_provider: job.ranProvider, ran_model: job.ranModel };
    const when = { cost_nano_usd: costNanoUsd, created_at: createdAt, finished_at: finishedAt };
    expect(readArchived({ ...row, ...ran, ...when })).toEqual(job);
  },
);

test("history's record has no hash of a secret, and the journal's has it", () => {
  const door = { session: "s", headers: {}, queueMs: 1, isBodyHeld: false, isSessionHit: null };
  const job = pendingJob({ frontDoor: { ...door, openedWith: "a hash" } });
  expect(JSON.parse(archivedRecord(job)).frontDoor).toEqual(door);
  expect(currentJob(JSON.parse(journalRecord(job)))).toEqual(job);
});

test("each field of a record has its own value", () => {
  const values = Object.keys(USUAL).map((name) => [name, `the ${name}`] as const);
  const record = JSON.parse(archivedRecord({ ...pendingJob(), ...Object.fromEntries(values) }));
  const told = values.filter(([name]) => name in record);
  expect(told.length).toBeGreaterThan(40);
  for (const [name, value] of told) expect(record[name]).toBe(value);
});

test("a record whose instants are fields, as an earlier release wrote it, is the whole job", () => {
  for (const job of Object.values(JOBS)) expect(currentJob(JSON.parse(JSON.stringify(job)))).toEqual(job);
});
