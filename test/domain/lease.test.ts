import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cancelJob, type Decision, isLeased, type Job, retryJob } from "../../domain/job.ts";
import {
  completeJob,
  expireLease,
  type FailurePolicy,
  failJob,
  haltJob,
  heartbeatJob,
  loseJob,
  RATE_LIMIT_MESSAGE,
  reapJob,
  releaseJob,
  startJob,
  timeOutJob,
} from "../../domain/lease.ts";
import { groupKeyOf } from "../../domain/queue.ts";
import type { Refusal } from "../../domain/refusal.ts";
import type { Result } from "../../domain/result.ts";
import {
  assign,
  assignedJob,
  decided,
  failure,
  MINUTE_MS,
  NO_POLICY,
  NOON,
  pendingJob,
  QUOTA,
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

const limited = (job: Job, retryAfterMs: number | null = null, policy: Partial<FailurePolicy> = {}, nowAt = NOON) =>
  decided(
    failJob(
      job,
      job.lease,
      failure(RATE_LIMITED, retryAfterMs),
      { ...NO_POLICY, rateLimit: RATE_LIMIT, ...policy },
      nowAt,
    ),
  );

describe("an attempt", () => {
  test.each([
    ["given back", (job: Job) => decided(releaseJob(job, job.lease, "shutting down", LATER)).job],
    ["halted by the killswitch", (job: Job) => haltJob(job, 2, LATER).job],
    ["lost by its worker", (job: Job) => loseJob(job, LATER).job],
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

  test("is counted when it fell silent, failed, timed out or completed, also where its start was never told", () => {
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

  test("any mix of endings that cost nothing leaves the count alone (property)", () => {
    const ending = fc.constantFrom<(job: Job) => Job>(
      (job) => decided(releaseJob(job, job.lease, "", LATER)).job,
      (job) => haltJob(job, 1, LATER).job,
      (job) => loseJob(job, LATER).job,
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

  test("of a job that was never started starts it", () => {
    expect(decided(heartbeatJob(assignedJob(), 1, undefined, BEAT_STORED_MS, LATER)).job).toMatchObject({
      status: "running",
      startedAt: LATER,
      heartbeatAt: LATER,
    });
  });
});

describe("a report", () => {
  test("with an earlier lease is refused whatever it says, and while the job is with the next worker", () => {
    const next = run(haltJob(runningJob(), 1, NOON).job, { instance: "w2", provider: "openai" });
    for (const [name, report] of Object.entries(REPORTS)) {
      expect([name, report(next, 1)]).toEqual([
        name,
        { ok: false, error: { code: "lease_lost", id: "job-1", lease: 1, current: 2 } },
      ]);
    }
  });

  const taken: Record<string, (job: Job) => Job> = {
    "halted by the killswitch": (job) => haltJob(job, 1, NOON).job,
    "lost by its worker": (job) => loseJob(job, NOON).job,
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
      if (job.status !== "pending") continue;
      expect(refusalCode(end(run(ready(job)), 1))).toBe("lease_lost");
    }
  });

  test("of another kind than the one that ended the lease is late", () => {
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
    const broken = decided(failJob(runningJob(), 1, { ...failure(), ...spent }, NO_POLICY, LATER));
    expect(broken.job).toMatchObject({ ...spent, finishedAt: LATER, error: { code: "bad_request" } });
    expect(broken.result).toBeUndefined();
  });
});

describe("a rate limit", () => {
  test("without rate_limit configured fails the job with the specification's own words", () => {
    expect(limited(runningJob(), 30_000, { rateLimit: null })).toMatchObject({
      backoffUntilAt: null,
      job: { status: "failed", error: { code: "rate_limited", message: RATE_LIMIT_MESSAGE, status: 429 } },
    });
    expect(RATE_LIMIT_MESSAGE).toBe("429 Too Many Requests / Rate limit exceeded");
  });

  test("waits and tries again max_retries times, each time longer, then fails", () => {
    let job = pendingJob();
    const waits: number[] = [];
    for (let retry = 1; retry <= RATE_LIMIT.maxRetries; retry += 1) {
      const outcome = limited(run(job));
      expect(outcome.job).toMatchObject({ status: "pending", rateLimitRetries: retry, orderKey: null });
      expect(outcome.events[0]?.detail).toMatchObject({ retry, of: 3, provider: "openai" });
      expect(outcome.backoffUntilAt).toBe(outcome.job.readyAt);
      waits.push((outcome.job.readyAt ?? 0) - NOON);
      job = ready(outcome.job);
    }
    expect(waits).toEqual([5_000, 10_000, 20_000]);
    expect(limited(run(job)).job).toMatchObject({
      status: "failed",
      error: { message: RATE_LIMIT_MESSAGE },
      attempts: 1,
    });
  });

  test("is known by its code as by its status; an exhausted quota is none", () => {
    const status = (error: object) =>
      decided(failJob(runningJob(), 1, failure(error), { ...NO_POLICY, rateLimit: RATE_LIMIT }, NOON)).job.status;
    expect(status({ code: "rate_limited" })).toBe("pending");
    expect(status({ code: "anything", status: 429 })).toBe("pending");
    expect(status({ code: "provider_error", status: 503, retryable: true })).toBe("failed");
    expect(status(QUOTA)).toBe("failed");
    expect(status({ ...QUOTA, code: "quota_exhausted" })).toBe("failed");
  });

  test("never waits less than the provider asked for or the config says (property)", () => {
    const ms = fc.integer({ min: 0, max: 86_400_000 });
    fc.assert(
      fc.property(
        fc.option(ms),
        ms,
        fc.integer({ min: 0, max: 100 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (askedMs, retryAfterMs, rateLimitRetries, jitter) => {
          const job = { ...runningJob(), rateLimitRetries };
          const outcome = limited(job, askedMs, { rateLimit: { retryAfterMs, maxRetries: 101 }, jitter });
          const waitedMs = (outcome.backoffUntilAt ?? 0) - NOON;
          expect(waitedMs).toBeGreaterThanOrEqual(Math.max(askedMs ?? 0, retryAfterMs));
          expect(outcome.job.readyAt).toBe(waitedMs > 0 ? outcome.backoffUntilAt : null);
        },
      ),
    );
  });
});

describe("the fallback", () => {
  const CHAIN = ["a", "b", "c"];
  /** What the coordinator says of the chain after a failure on this job's provider. */
  const policyFor = (job: Job): FailurePolicy => ({
    ...NO_POLICY,
    fallbackProviders: CHAIN.slice(CHAIN.indexOf(job.workerProvider ?? "") + 1),
  });
  const failOn = (job: Job, provider: string, error: object) => {
    const running = run(job, { instance: `on-${provider}`, provider });
    return decided(failJob(running, running.lease, failure(error), policyFor(running), NOON));
  };

  test("goes down the chain after retryable failures, leaving each provider behind, and fails at its end", () => {
    const first = failOn(pendingJob(), "a", RETRYABLE);
    expect(first.job).toMatchObject({ status: "pending", excludedProviders: ["a"], error: { code: "provider_error" } });
    expect(first.job.groupKey).toBe(groupKeyOf({ ...first.job, excludedProviders: ["a"] }));
    expect(first.events).toMatchObject([
      { type: "job.fell_back", worker: "on-a", lease: 1, detail: { from: "a", remaining: ["b", "c"] } },
    ]);
    const second = failOn(first.job, "b", QUOTA);
    expect(second.job).toMatchObject({ status: "pending", excludedProviders: ["a", "b"], readyAt: null });
    expect(failOn(second.job, "c", RETRYABLE).job).toMatchObject({ status: "failed", error: { status: 502 } });
  });

  test("waits at no provider for a rate limit that has no configured retries", () => {
    expect(failOn(pendingJob(), "a", RATE_LIMITED)).toMatchObject({
      backoffUntilAt: null,
      job: { status: "pending", excludedProviders: ["a"], readyAt: null },
    });
  });

  test("gives the next provider all of its own rate-limit retries", () => {
    const spent = { ...run(pendingJob(), { instance: "on-a", provider: "a" }), rateLimitRetries: 3 };
    const next = limited(spent, null, { fallbackProviders: ["b"] }).job;
    expect(next).toMatchObject({ status: "pending", excludedProviders: ["a"], rateLimitRetries: 0 });
    expect(limited(run(next, { instance: "on-b", provider: "b" })).job).toMatchObject({
      status: "pending",
      rateLimitRetries: 1,
    });
  });

  test("is not for a failure of the job itself, nor for a job that names its provider", () => {
    expect(failOn(pendingJob(), "a", {}).job.status).toBe("failed");
    expect(failOn(pendingJob({ provider: "a" }), "a", RETRYABLE).job.status).toBe("failed");
    expect(failOn(pendingJob({ provider: "a" }), "a", QUOTA).job.status).toBe("failed");
  });

  test("starts at the top again after an explicit retry", () => {
    const end = failOn(failOn(failOn(pendingJob(), "a", RETRYABLE).job, "b", RETRYABLE).job, "c", RETRYABLE).job;
    const again = decided(retryJob(end, false, LATER));
    expect(again.job).toMatchObject({
      status: "pending",
      excludedProviders: [],
      rateLimitRetries: 0,
      finishedAt: null,
    });
    expect(again.job.groupKey).toBe(pendingJob().groupKey);
    expect(again.result).toBeNull();
  });
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
