// Jobs that somebody waits for on an open connection: how they end, and what is kept of them.

import { describe, expect, test } from "vitest";
import {
  giveUpWaiting,
  isClientsFault,
  keepsResult,
  keptPayload,
  moveOn,
  waitedInVain,
} from "../../../domain/front-door/front-door.ts";
import type { Job } from "../../../domain/job/job.ts";
import { retryJob } from "../../../domain/job/job-command.ts";
import type { FrontDoorFacts } from "../../../domain/job/job-facts.ts";
import { expireLease, loseJob, releaseJob, startJob } from "../../../domain/job/lease.ts";
import { hasFirstToken } from "../../../domain/job/lease-fence.ts";
import {
  assign,
  assignedJob,
  decided,
  failedJob,
  MINUTE_MS,
  NOON,
  pendingJob,
  runningJob,
  WORKER,
} from "../job/sample-jobs.ts";

const LATER = NOON + 1_000;
const start = (job: Job): Job => decided(startJob(job, job.lease, job.assignedAt ?? NOON)).job;
const asked = (job: Job, more: Partial<Job> = {}): Job => ({ ...job, api: "messages", ...more });

test.each([
  ["none", { prompt: "", input: null }, false],
  ["result", { prompt: "hello", input: null }, true],
  ["all", { prompt: "hello", input: { a: 1 } }, true],
] as const)(
  "with front_door.store %s of a request is kept %j, of its answer everything: %s",
  (kept, payload, result) => {
    expect(keptPayload(kept, { prompt: "hello", input: { a: 1 } })).toEqual(payload);
    expect(keepsResult(kept)).toBe(result);
  },
);

describe("a request whose time in the queue is over", () => {
  test.each([
    [true, "queue_timeout"],
    [false, "no_eligible_workers"],
  ])("where workers are merely full: %s, fails with %s and says how long it waited", (isFull, code) => {
    const frontDoor = { queueMs: 2_500 } as FrontDoorFacts;
    const waiting = asked(pendingJob(), { frontDoor });
    const { job, events } = giveUpWaiting(waiting, waitedInVain(waiting, "nobody is there", isFull), LATER);
    const error = { code, message: "no worker took it within 2.5 s: nobody is there", retryable: true };
    expect(job).toMatchObject({ status: "failed", error, orderKey: null, queueUntilAt: null, finishedAt: LATER });
    expect(events).toMatchObject([{ type: "job.failed", detail: error }]);
  });

  test("that never had any is told so", () => {
    expect(waitedInVain(pendingJob(), "x", false).message).toContain("within 0 s");
  });
});

describe("a request that was with a worker", () => {
  const leftMs = 20_000;
  const frontDoor = { queueMs: 30_000 } as FrontDoorFacts;
  const given = assign(pendingJob({ api: "messages", frontDoor }), WORKER, NOON + frontDoor.queueMs - leftMs);
  const endedAt = NOON + MINUTE_MS;

  test.each([
    ["gave it back", (job: Job) => decided(releaseJob(start(job), 1, "busy", endedAt)).job],
    ["did not start it", (job: Job) => expireLease(job, endedAt).job],
    ["lost it before its start", (job: Job) => loseJob(job, 5, endedAt).job],
  ])("has what was left of its time in the queue if the worker %s", (_, end) => {
    expect(end(given)).toMatchObject({ status: "pending", queueUntilAt: endedAt + leftMs });
    expect(end(assignedJob())).toMatchObject({ status: "pending", queueUntilAt: null });
  });

  test("has all of its time again after an attempt that counts", () => {
    expect(loseJob(start(given), 5, endedAt).job.queueUntilAt).toBe(endedAt + frontDoor.queueMs);
  });
});

describe("an attempt that says nothing", () => {
  const silent = (more: Partial<Job> = {}) => moveOn(asked(runningJob(), more), 1_500, 3, LATER);

  test("goes to another worker while attempts are left", () => {
    const { job, events } = silent({ attempts: 2, avoidedWorkers: ["w0", "w1"] });
    expect(job).toMatchObject({
      status: "pending",
      avoidedWorkers: ["w0", "w1"],
      assignedWorker: null,
      error: { code: "first_token_timeout", message: 'worker "w1" said nothing for 1.5 s', retryable: true },
    });
    expect(events).toMatchObject([{ type: "job.reaped", worker: "w1", detail: { silent_for_ms: 1_500, attempt: 2 } }]);
    const many = Array.from({ length: 16 }, (_, at) => `other${at}`);
    expect(silent({ attempts: 2, avoidedWorkers: many }).job.avoidedWorkers).toEqual([...many.slice(1), "w1"]);
    expect(silent({ attempts: 2, avoidedWorkers: ["w0"] }).job.avoidedWorkers).toEqual(["w0", "w1"]);
    expect(silent({ attempts: 2, avoidedWorkers: ["w0"], assignedWorker: null }).job.avoidedWorkers).toEqual(["w0"]);
  });

  test("fails with the last one", () => {
    expect(silent({ attempts: 3 }).job).toMatchObject({ status: "failed", error: { code: "first_token_timeout" } });
  });
});

test.each([
  [undefined, false],
  [399, false],
  [400, true],
  [401, false],
  [402, true],
  [403, false],
  [404, true],
  [406, true],
  [407, false],
  [408, false],
  [409, true],
  [499, true],
  [500, false],
])("a runtime's %s says that the client asked for something wrong: %s", (status, isTheirs) => {
  const error = { code: "x", message: "y", retryable: false, ...(status === undefined ? {} : { status }) };
  expect(isClientsFault({ api: "messages" }, error)).toBe(isTheirs);
  expect(isClientsFault({ api: null }, error)).toBe(false);
});

test("a request of the front door that has failed is not tried again: its client has its answer", () => {
  expect(retryJob(asked(failedJob()), true, LATER)).toMatchObject({ error: { code: "job_state", command: "retry" } });
});

test.each([
  [{ api: "messages", stream: true, firstTokenAt: NOON }, true],
  [{ api: "messages", stream: false, firstTokenAt: NOON }, false],
  [{ api: "messages", stream: true, firstTokenAt: null }, false],
] as const)("its client has heard a beginning with %j: %s", (more, expected) => {
  const frontDoor = { queueMs: 0 } as FrontDoorFacts;
  expect(hasFirstToken({ ...asked(runningJob(), { frontDoor }), ...more })).toBe(expected);
});

test("nobody has heard a beginning of a job that no client waits for", () => {
  const begun = { stream: true, firstTokenAt: NOON };
  expect(hasFirstToken({ ...runningJob(), ...begun })).toBe(false);
  const frontDoor = { queueMs: 0, isBackground: true } as FrontDoorFacts;
  expect(hasFirstToken({ ...asked(runningJob(), { frontDoor }), ...begun })).toBe(false);
});
