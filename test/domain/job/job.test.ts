// A job as it is created, found, changed, cancelled and retried. For what its worker does see `lease.test.ts`.

import { describe, expect, test } from "vitest";
import { failJob } from "../../../domain/job/failure.ts";
import { type Job, labelsOf } from "../../../domain/job/job.ts";
import { cancelJob, patchJob, retryJob } from "../../../domain/job/job-command.ts";
import { expireLease, releaseJob, startJob } from "../../../domain/job/lease.ts";
import { createJob } from "../../../domain/job/new-job.ts";
import { groupKeyOf, orderKeyOf } from "../../../domain/job/queue.ts";
import { inLeaseOrder, makeReady, requeueJob } from "../../../domain/job/queue-place.ts";
import {
  assign,
  assignedJob,
  completedJob,
  decided,
  delayedJob,
  failedJob,
  failure,
  MINUTE_MS,
  NO_POLICY,
  NOON,
  pendingJob,
  REQUEST,
  RETRYABLE,
  refusalCode,
  runningJob,
  WORKER,
} from "./sample-jobs.ts";

const LATER = NOON + 5 * MINUTE_MS;

describe("a job that is created", () => {
  test("is its first version, waits from now on, and has done and spent nothing", () => {
    const { job, payload, events } = createJob({ ...REQUEST, tags: ["a", "b", "a"] }, "j", NOON, {
      keyId: "key",
      name: "ci",
    });
    expect(payload).toEqual({ prompt: "say hello", input: null });
    expect(events).toEqual([{ jobId: "j", at: NOON, type: "job.created", worker: null, lease: 0, detail: null }]);
    expect(job).toMatchObject({
      id: "j",
      version: 1,
      status: "pending",
      tags: ["a", "b"],
      keyId: "key",
      metadata: {},
      orderKey: orderKeyOf("normal", NOON),
      readyAt: null,
      delayedBy: null,
      lease: 0,
      attempts: 0,
      rateLimitRetries: 0,
      releases: 0,
      createdAt: NOON,
      updatedAt: NOON,
    });
    expect(createJob({ ...REQUEST, metadata: { of: "me" } }, "j", NOON).job).toMatchObject({
      metadata: { of: "me" },
      keyId: null,
    });
  });

  test.each([
    [-1, null],
    [0, null],
    [1, NOON + 1],
  ])("not before %d ms from now is held back until %s", (afterMs, readyAt) => {
    const job = pendingJob({ runAt: NOON + afterMs });
    expect(job).toMatchObject({ readyAt, runnableAt: readyAt ?? NOON, delayedBy: readyAt === null ? null : "run_at" });
    expect(job.orderKey === null).toBe(readyAt !== null);
  });

  test("takes its place in line from the instant before which it was not to run", () => {
    const { job, events } = makeReady(delayedJob());
    expect(job).toMatchObject({
      version: 1,
      orderKey: orderKeyOf("normal", NOON + 10 * MINUTE_MS),
      readyAt: null,
      delayedBy: null,
    });
    expect(events).toEqual([]);
  });
});

test("a job is found by its tags, its metadata, its batch, and what it asked for and ran on, each once", () => {
  const asked = pendingJob({ provider: "p", model: "m", metadata: { of: "me" } });
  const job = { ...asked, ranProvider: "q", ranModel: "m", batch: "batch_1" };
  expect(labelsOf(job)).toEqual([
    ["tag", "gpu"],
    ["tag", "eu"],
    ["metadata.of", "me"],
    ["provider", "p"],
    ["provider", "q"],
    ["model", "m"],
    ["batch", "batch_1"],
  ]);
  expect(labelsOf(pendingJob({ tags: [] }))).toEqual([]);
});

describe("a job that is changed", () => {
  const patched = (job: Job, patch: Parameters<typeof patchJob>[1]) => decided(patchJob(job, patch, LATER));

  test("is its next version, in the place that its priority and its creation give it", () => {
    const { job, events } = patched(pendingJob(), { priority: "high", tags: ["a", "a"], tier: "premium" });
    expect(job).toMatchObject({ version: 2, priority: "high", tags: ["a"], tier: "premium", updatedAt: LATER });
    expect(job.orderKey).toBe(orderKeyOf("high", NOON));
    expect(job.groupKey).toBe(groupKeyOf(job));
    expect(events).toMatchObject([
      { type: "job.updated", at: LATER, detail: { tags: ["a"], priority: "high", tier: "premium" } },
    ]);
  });

  test("keeps what is not named, and loses its tier with null", () => {
    const job = pendingJob({ tier: "premium", priority: "low" });
    expect(patched(job, {}).job).toMatchObject({ tier: "premium", priority: "low", tags: ["gpu", "eu"] });
    expect(patched(job, { tier: null }).job.tier).toBeNull();
  });

  test("takes no place in line that it did not have, and none at all once it is completed", () => {
    expect(patched(runningJob(), { priority: "high" }).job.orderKey).toBeNull();
    expect(patched(delayedJob(), { priority: "high" }).job.orderKey).toBeNull();
    expect(refusalCode(patchJob(completedJob(), {}, LATER))).toBe("job_completed");
    expect(patched(failedJob(), { priority: "high" }).job.priority).toBe("high");
  });
});

describe("a job that is cancelled", () => {
  test("is final, with who ended it and why where that was not its owner", () => {
    const plain = decided(cancelJob({ ...runningJob(), progress: 0.5 }, LATER));
    expect(plain.job).toMatchObject({
      status: "cancelled",
      finishedAt: LATER,
      progress: null,
      error: null,
      settledBy: null,
    });
    expect(plain.events).toMatchObject([{ type: "job.cancelled", detail: null }]);
    const error = { code: "gone", message: "x", retryable: false };
    const halted = decided(cancelJob(delayedJob(), LATER, "killswitch level 4", error));
    expect(halted.job).toMatchObject({ error, orderKey: null, readyAt: null, delayedBy: null });
    expect(halted.events).toMatchObject([{ detail: { reason: "killswitch level 4" } }]);
  });

  test("twice is refused, as is one that is completed or failed", () => {
    const cancelled = decided(cancelJob(pendingJob(), LATER)).job;
    for (const job of [cancelled, completedJob(), failedJob()])
      expect(refusalCode(cancelJob(job, LATER))).toBe("job_state");
  });
});

describe("a job that is retried", () => {
  const used: Partial<Job> = {
    attempts: 5,
    rateLimitRetries: 2,
    releases: 3,
    excludedProviders: ["p"],
    avoidedWorkers: ["w"],
    costNanoUsd: 7,
  };

  test("begins afresh, in its old place, under its old lease", () => {
    const failed = { ...failedJob(), ...used };
    const { job, events, result } = decided(retryJob(failed, false, LATER));
    expect(job).toMatchObject({
      status: "pending",
      version: failed.version + 1,
      lease: failed.lease,
      orderKey: orderKeyOf("normal", NOON),
      attempts: 0,
      rateLimitRetries: 0,
      releases: 0,
      excludedProviders: [],
      avoidedWorkers: [],
      error: null,
      usage: null,
      costNanoUsd: null,
      finishedAt: null,
      settledBy: null,
      assignedWorker: null,
    });
    expect(result).toBeNull();
    expect(events).toMatchObject([{ type: "job.retried", worker: "w1", detail: { from: "failed" } }]);
  });

  test("had failed, or is stuck with its worker", () => {
    const codes = (isStuck: boolean) =>
      [pendingJob(), runningJob(), completedJob(), failedJob()].map((job) =>
        refusalCode(retryJob(job, isStuck, LATER)),
      );
    expect(codes(false)).toEqual(["job_state", "job_state", "job_state", null]);
    expect(codes(true)).toEqual(["job_state", null, "job_state", null]);
  });

  test("is stuck, of a client or a batch, and the client has received nothing of it", () => {
    const codes = (changes: Partial<Job>) =>
      [runningJob(), failedJob()].map((job) => refusalCode(retryJob({ ...job, ...changes }, true, LATER)));
    const frontDoor = { session: null, headers: {}, queueMs: 1, isBodyHeld: false, isSessionHit: null };
    expect(codes({ api: "responses" })).toEqual([null, "job_state"]);
    const streamed = { api: "responses", frontDoor, stream: true, firstTokenAt: NOON } as const;
    expect(codes(streamed)).toEqual(["job_state", "job_state"]);
    expect(codes({ ...streamed, frontDoor: { ...frontDoor, isBackground: true } })).toEqual([null, "job_state"]);
  });
});

test("a job that goes back to the queue waits as long as it must, and no wait that is over", () => {
  const until = (at: number) => requeueJob(runningJob(), NOON, { until: at, by: "retry" });
  expect(until(NOON + 1)).toMatchObject({
    readyAt: NOON + 1,
    runnableAt: NOON + 1,
    delayedBy: "retry",
    orderKey: null,
  });
  const free = { readyAt: null, runnableAt: NOON, delayedBy: null, orderKey: orderKeyOf("normal", NOON) };
  expect(until(NOON)).toMatchObject(free);
});

test("a client waits for a worker as long as it said, and what a worker had the job unworked does not count", () => {
  const frontDoor = { session: null, headers: {}, queueMs: 30_000, isBodyHeld: false, isSessionHit: null };
  const asked = { api: "messages", frontDoor } as const;
  expect(pendingJob(asked).queueUntilAt).toBe(NOON + 30_000);
  const given = assign(pendingJob(asked), WORKER, NOON + 10_000);
  const running = decided(startJob(given, 1, NOON + 10_000)).job;
  const released = (job: Job) => decided(releaseJob(job, 1, "", LATER)).job.queueUntilAt;
  // Of the 30 s it had waited 10.
  expect([expireLease(given, LATER).job.queueUntilAt, released(given), released(running)]).toEqual(
    Array(3).fill(LATER + 20_000),
  );
  const broken = decided(failJob(running, 1, failure(RETRYABLE), NO_POLICY, LATER)).job;
  expect(broken.queueUntilAt).toBe(LATER + 1_000 + 30_000);
  expect(expireLease(assignedJob(), LATER).job.queueUntilAt).toBeNull();
});

test("leases stand in the order in which they were given, a turn that was taken at the place of the other's job", () => {
  const job = (id: string, queuedAt: number, share: { place: number; from: number } | null = null): Job => ({
    ...runningJob(),
    id,
    createdAt: queuedAt,
    share: share && { ...share, tokens: 1, weight: 1 },
  });
  const first = orderKeyOf("normal", NOON);
  const sorted = [
    job("of the first place", NOON + 5, { place: first, from: 1 }),
    job("of the same, served more", NOON + 1, { place: first, from: 2 }),
    job("uncharged, next in line", NOON + 2),
    job("a, of the same age", NOON + 3),
    job("b, of the same age", NOON + 3),
    job("of a later place", NOON, { place: first + 4, from: 0 }),
  ];
  for (const jobs of [sorted, sorted.toReversed()]) expect(inLeaseOrder(jobs)).toEqual(sorted);
});
