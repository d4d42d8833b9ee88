import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { failJob } from "../../../domain/job/failure.ts";
import { type Decision, isLeased, type Job } from "../../../domain/job/job.ts";
import { cancelJob, retryJob } from "../../../domain/job/job-command.ts";
import {
  addOutput,
  completeJob,
  expireLease,
  failBegunAnswer,
  haltJob,
  heartbeatJob,
  loseJob,
  reapJob,
  releaseJob,
  startJob,
  timeOutJob,
} from "../../../domain/job/lease.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import type { Result } from "../../../domain/words/result.ts";
import {
  assign,
  assignedJob,
  decided,
  failure,
  limited,
  MINUTE_MS,
  NO_POLICY,
  NOON,
  pendingJob,
  RATE_LIMIT,
  RATE_LIMITED,
  RESULT,
  RETRYABLE,
  ready,
  refusalCode,
  run,
  runningJob,
} from "./sample-jobs.ts";

type Report = (job: Job, lease: number) => Result<Decision, Refusal>;
const LATER = NOON + MINUTE_MS;
const BEAT_STORED_MS = 15_000;

const REPORTS: Record<string, Report> = {
  start: (job, lease) => startJob(job, lease, LATER),
  heartbeat: (job, lease) => heartbeatJob(job, lease, { done: 0.5 }, BEAT_STORED_MS, LATER),
  complete: (job, lease) => completeJob(job, lease, RESULT, LATER),
  fail: (job, lease) => failJob(job, lease, failure(), NO_POLICY, LATER),
  release: (job, lease) => releaseJob(job, lease, "shutting down", LATER),
};

describe("an attempt", () => {
  test.each([
    ["given back", (job: Job) => decided(releaseJob(job, job.lease, "shutting down", LATER)).job],
    ["halted by the killswitch", (job: Job) => haltJob(job, 2, LATER).job],
    ["rate limited", (job: Job) => limited(job).job],
  ])("is not counted when the job is %s, started or not", (_, end) => {
    expect(end(runningJob()).attempts).toBe(0);
    expect(end(assignedJob()).attempts).toBe(0);
    const second = run(reapJob(runningJob(), 5, LATER).job);
    expect(second.attempts).toBe(2);
    expect(end(second).attempts).toBe(1);
  });

  test("is not counted when a lease runs out before its start", () => {
    expect(expireLease(assignedJob(), LATER).job.attempts).toBe(0);
  });

  test("is counted when it fell silent, was lost, failed, timed out or completed, started or told of later", () => {
    expect(loseJob(runningJob(), 5, LATER).job.attempts).toBe(1);
    expect(loseJob(assignedJob(), 1, LATER).job).toMatchObject({ status: "pending", attempts: 0 });
    expect(reapJob(runningJob(), 5, LATER).job.attempts).toBe(1);
    expect(timeOutJob(runningJob(), 900_000, LATER).job.attempts).toBe(1);
    for (const job of [assignedJob(), runningJob()]) {
      expect(decided(failJob(job, 1, failure(), NO_POLICY, LATER)).job.attempts).toBe(1);
      expect(decided(completeJob(job, 1, RESULT, LATER)).job.attempts).toBe(1);
    }
  });

  test("is counted once, however often its start is told", () => {
    const job = decided(startJob(runningJob(), 1, LATER)).job;
    expect(decided(heartbeatJob(job, 1, 0.5, BEAT_STORED_MS, LATER)).job.attempts).toBe(1);
  });

  test("whose worker falls silent is tried again as often as allowed, then the job fails and says so", () => {
    let job = pendingJob();
    for (const attempt of [1, 2]) {
      job = reapJob(run(job), 3, LATER).job;
      expect([job.status, job.attempts]).toEqual(["pending", attempt]);
    }
    const last = reapJob(run(job), 3, LATER).job;
    expect(last).toMatchObject({
      status: "failed",
      error: { code: "attempts_exhausted", message: "its worker fell silent on attempt 3 of 3", retryable: true },
    });
    expect(decided(retryJob(last, false, LATER)).job).toMatchObject({ status: "pending", attempts: 0, error: null });
  });

  test("whose worker dies of it and comes back without it is tried as often as allowed, and no more", () => {
    const first = loseJob(runningJob(), 2, LATER);
    expect(first.job).toMatchObject({ status: "pending", attempts: 1 });
    const detail = { reason: "its worker no longer works on it", attempt: 1, of: 2 };
    expect(first.events).toMatchObject([{ type: "job.lost", worker: "w1", detail }]);
    expect(loseJob(assign(first.job), 1, LATER).job).toMatchObject({ status: "pending", attempts: 1 });
    expect(loseJob(run(first.job), 2, LATER).job).toMatchObject({
      status: "failed",
      error: { code: "attempts_exhausted", message: "its worker lost it on attempt 2 of 2" },
    });
  });

  test("that is given back goes to the next worker at once, and from the second time on after a longer and longer wait", () => {
    let job = pendingJob();
    const waits: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      job = decided(releaseJob(run(job), job.lease + 1, "shutting down", LATER)).job;
      expect([job.delayedBy, job.orderKey === null]).toEqual(round === 0 ? [null, false] : ["release", true]);
      waits.push((job.readyAt ?? LATER) - LATER);
      job = ready(job);
    }
    expect(waits).toEqual([0, 1_000, 2_000, 4_000]);
  });

  test("that runs too long ends its job, which says how long it was given", () => {
    const error = { code: "timeout", message: "ran longer than 900 s", retryable: false };
    const { job, events } = timeOutJob(runningJob(), 900_000, LATER);
    expect(job).toMatchObject({ status: "failed", error });
    expect(events).toMatchObject([{ type: "job.timed_out", detail: error }]);
  });

  test("any mix of endings that cost nothing leaves the count alone (property)", () => {
    const ending = fc.constantFrom<(job: Job) => Job>(
      (job) => decided(releaseJob(job, job.lease, "", LATER)).job,
      (job) => haltJob(job, 1, LATER).job,
      (job) => (job.status === "assigned" ? expireLease(job, LATER).job : haltJob(job, 3, LATER).job),
      (job) => ready(limited(job, null, { rateLimit: { ...RATE_LIMIT, maxRetries: 100 } }).job),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), ending), { maxLength: 20, size: "max" }), (rounds) => {
        let job = pendingJob();
        for (const [isStarted, end] of rounds) job = end(isStarted ? run(job) : assign(job));
        expect(job).toMatchObject({ status: "pending", attempts: 0, lease: rounds.length });
      }),
    );
  });
});

describe("an attempt of which a client has received a part", () => {
  const waiting = (error: Job["error"]): Job => ({
    ...pendingJob(),
    error,
    readyAt: LATER,
    delayedBy: "retry",
  });

  test("fails for good once its worker has lost the job: nothing of another attempt can follow", () => {
    const { job } = failBegunAnswer(waiting(null), LATER);
    expect(job).toMatchObject({ status: "failed", finishedAt: LATER, readyAt: null, delayedBy: null });
    expect(job.error).toMatchObject({ code: "worker_lost", retryable: true });
  });

  test("fails with its worker's own error where it reported one", () => {
    const error = { code: "overloaded", message: "busy", retryable: true };
    expect(failBegunAnswer(waiting(error), LATER).job).toMatchObject({ status: "failed", error, readyAt: null });
  });
});

describe("a heartbeat", () => {
  test("is stored only when the stored one grows old or it brings progress, and is no new version", () => {
    const job = runningJob();
    const beat = (progress: number | undefined, ageMs: number) =>
      decided(heartbeatJob(job, 1, progress, BEAT_STORED_MS, NOON + ageMs)).job;
    expect(beat(undefined, BEAT_STORED_MS - 1)).toBe(job);
    expect(beat(undefined, BEAT_STORED_MS)).toEqual({ ...job, heartbeatAt: NOON + BEAT_STORED_MS });
    expect(beat(0.25, 1)).toEqual({ ...job, heartbeatAt: NOON + 1, progress: 0.25 });
  });

  test("without progress keeps what was told before", () => {
    const told = decided(heartbeatJob(runningJob(), 1, { step: 3 }, BEAT_STORED_MS, NOON)).job;
    expect(decided(heartbeatJob(told, 1, undefined, BEAT_STORED_MS, LATER)).job.progress).toEqual({ step: 3 });
  });

  test("of a job that was never started starts it, and its progress is kept", () => {
    expect(decided(heartbeatJob(assignedJob(), 1, { step: 1 }, BEAT_STORED_MS, LATER)).job).toMatchObject({
      status: "running",
      startedAt: LATER,
      heartbeatAt: LATER,
      progress: { step: 1 },
    });
  });
});

describe("a report", () => {
  test("with an earlier lease is refused whatever it says, and while the job is with the next worker", () => {
    const next = run(haltJob(runningJob(), 1, NOON).job, { instance: "w2", provider: "openai" });
    for (const [name, report] of Object.entries(REPORTS)) {
      expect([name, report(next, 1)]).toEqual([
        name,
        { ok: false, error: { code: "lease_lost", id: "job-1", lease: 1, current: 2, status: next.status } },
      ]);
    }
  });

  const taken: Record<string, (job: Job) => Job> = {
    "halted by the killswitch": (job) => haltJob(job, 1, NOON).job,
    "lost by its worker": (job) => loseJob(job, 5, NOON).job,
    reaped: (job) => reapJob(job, 5, NOON).job,
    "reaped for the last time": (job) => reapJob(job, 1, NOON).job,
    "timed out": (job) => timeOutJob(job, 900_000, NOON).job,
    cancelled: (job) => decided(cancelJob(job, NOON)).job,
    "retried while stuck": (job) => decided(retryJob(job, true, NOON)).job,
    "assigned, and its lease ran out": (job) => expireLease(assign(haltJob(job, 1, NOON).job), NOON).job,
  };
  test.each(Object.entries(taken))("that comes after the job was %s is late: refused, whatever it says", (_, take) => {
    const job = take(runningJob());
    for (const [name, report] of Object.entries(REPORTS)) {
      expect([name, refusalCode(report(job, job.lease))]).toEqual([name, "lease_lost"]);
    }
  });

  test("that is repeated is answered as before and changes nothing, until the job has a new holder", () => {
    const ends: Report[] = [
      (job, lease) => completeJob(job, lease, RESULT, NOON),
      (job, lease) => failJob(job, lease, failure(), NO_POLICY, NOON),
      (job, lease) => failJob(job, lease, failure(RATE_LIMITED), { ...NO_POLICY, rateLimit: RATE_LIMIT }, NOON),
      (job, lease) => failJob(job, lease, failure(RETRYABLE), { ...NO_POLICY, fallbackProviders: ["b"] }, NOON),
      (job, lease) => releaseJob(job, lease, "shutting down", NOON),
    ];
    for (const end of ends) {
      const job = decided(end(runningJob(), 1)).job;
      expect(end(job, 1)).toMatchObject({ ok: true, value: { events: [] } });
      expect(decided(end(job, 1)).job).toBe(job);
      expect(refusalCode(end(job, 0))).toBe("lease_lost");
      if (job.status !== "pending") continue;
      expect(refusalCode(end(run(ready(job)), 1))).toBe("lease_lost");
    }
  });

  test("of another kind than the report that ended the lease is late", () => {
    const completed = decided(completeJob(runningJob(), 1, RESULT, NOON)).job;
    const failed = decided(failJob(runningJob(), 1, failure(), NO_POLICY, NOON)).job;
    const released = decided(releaseJob(runningJob(), 1, "", NOON)).job;
    const codes = (job: Job) =>
      ["complete", "fail", "release"].map((name) => refusalCode((REPORTS[name] as Report)(job, 1)));
    expect(codes(completed)).toEqual([null, "lease_lost", "lease_lost"]);
    expect(codes(failed)).toEqual(["lease_lost", null, "lease_lost"]);
    expect(codes(released)).toEqual(["lease_lost", "lease_lost", null]);
  });

  test("of a rate limit that is repeated backs the provider off no further", () => {
    const first = limited(runningJob());
    expect(first.backoffUntilAt).toBe(NOON + RATE_LIMIT.retryAfterMs);
    const policy = { ...NO_POLICY, rateLimit: RATE_LIMIT };
    expect(decided(failJob(first.job, 1, failure(RATE_LIMITED), policy, LATER)).backoffUntilAt).toBeNull();
  });

  test("of the result keeps what it cost; a failure's as well", () => {
    const spent = { usage: { inputTokens: 10, outputTokens: 20 }, costNanoUsd: 1_500 };
    const done = decided(completeJob(runningJob(), 1, { result: "hello", ...spent }, LATER));
    expect(done).toMatchObject({ result: "hello", job: { ...spent, finishedAt: LATER, error: null, progress: null } });
    const told = { ...runningJob(), progress: 0.5 };
    const broken = decided(failJob(told, 1, { ...failure(), ...spent, model: "m-1" }, NO_POLICY, LATER));
    const error = { code: "bad_request" };
    expect(broken.job).toMatchObject({ ...spent, ranModel: "m-1", finishedAt: LATER, error, progress: null });
    expect(broken.result).toBeUndefined();
  });
});

test("every output that a worker stores is kept, each once", () => {
  const output = (id: string) => ({ id, name: `${id}.png`, bytes: 3, contentType: "image/png" });
  let job = runningJob();
  for (const id of ["file-1", "file-2", "file-1"]) job = decided(addOutput(job, 1, output(id), LATER)).job;
  expect(job.resultFiles).toEqual([output("file-1"), output("file-2")]);
});

describe("a lease", () => {
  test("is given to one worker once: its number never comes back", () => {
    const held = new Set<number>();
    let job = pendingJob();
    for (let round = 0; round < 5; round += 1) {
      job = assign(job, { instance: `w${round}`, provider: "openai" });
      expect(isLeased(job)).toBe(true);
      expect(held.has(job.lease)).toBe(false);
      held.add(job.lease);
      job = expireLease(job, NOON).job;
    }
  });

  test("that ends keeps the job's place in line and drops what its worker had told", () => {
    const told = decided(heartbeatJob(runningJob(), 1, 0.9, BEAT_STORED_MS, LATER)).job;
    const back = reapJob(told, 5, LATER);
    expect(back.job).toMatchObject({ progress: null, assignedWorker: null, orderKey: pendingJob().orderKey });
    expect(back.events).toMatchObject([
      { type: "job.reaped", worker: "w1", detail: { silent_since: new Date(LATER).toISOString(), attempt: 1, of: 5 } },
    ]);
  });
});
