import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type FailurePolicy, failJob, RATE_LIMIT_ERROR } from "../../../domain/job/failure.ts";
import type { Job, JobError } from "../../../domain/job/job.ts";
import { retryJob } from "../../../domain/job/job-command.ts";
import { groupKeyOf } from "../../../domain/job/queue.ts";
import {
  decided,
  failure,
  limited,
  MINUTE_MS,
  NO_POLICY,
  NOON,
  pendingJob,
  QUOTA,
  RATE_LIMIT,
  RATE_LIMITED,
  RETRYABLE,
  ready,
  run,
  runningJob,
} from "./sample-jobs.ts";

const LATER = NOON + MINUTE_MS;

describe("a front-door request that fails", () => {
  const said = { code: "internal", message: "image input is not supported", status: 500, retryable: true };
  const asked = pendingJob({ api: "chat/completions" });
  const failing = (job: Job, error: Partial<JobError>): Job => {
    const given = run(ready(job));
    return decided(failJob(given, given.lease, failure(error), NO_POLICY, NOON)).job;
  };

  test("twice with the same status and words is final with the runtime's own words", () => {
    const once = failing(asked, said);
    expect(once.status).toBe("pending");
    expect(failing(once, said)).toMatchObject({ status: "failed", error: said, attempts: 2 });
  });

  test.each<[string, Partial<JobError>]>([
    ["with other words", { ...said, message: "the GPU has fallen off the bus" }],
    ["with another status", { ...said, status: 503 }],
    ["without an answer", { code: "runtime_unreachable", message: "no answer", retryable: true }],
  ])("the second time %s is tried again", (_, error) => {
    const first = error.status === undefined ? error : said;
    expect(failing(failing(asked, first), error).status).toBe("pending");
  });

  test("is told from an ordinary job, which has its attempts", () => {
    expect(failing(failing(pendingJob(), said), said).status).toBe("pending");
  });
});

describe("a runtime that asks for a longer wait than a client waits for a worker", () => {
  const QUEUE_MS = 30_000;
  const facts = { session: null, headers: {}, queueMs: QUEUE_MS, isBodyHeld: false, isSessionHit: null };
  const waited = runningJob({ api: "chat/completions", frontDoor: facts });
  const unwaited = runningJob({ api: "responses", frontDoor: { ...facts, isBackground: true } });
  const unavailable = { code: "unavailable", message: "down for the night", status: 503, retryable: true };
  const told = (job: Job, ms: number, error: Partial<JobError>, policy: Partial<FailurePolicy> = {}): Job => {
    const { rateLimit } = { rateLimit: RATE_LIMIT, ...policy };
    return decided(failJob(job, job.lease, failure(error, ms), { ...NO_POLICY, ...policy, rateLimit }, NOON)).job;
  };

  test.each([
    ["is unavailable", unavailable],
    ["limits its rate", RATE_LIMITED],
  ])("and %s fails the request at once, with when to come again", (_, error) => {
    const failed = told(waited, QUEUE_MS + 1, error);
    expect(failed).toMatchObject({ status: "failed", error, frontDoor: { ...facts, retryAfterMs: QUEUE_MS + 1 } });
    expect(told(waited, QUEUE_MS, error)).toMatchObject({ status: "pending", readyAt: NOON + QUEUE_MS });
    expect(told(waited, QUEUE_MS + 1, error, { fallbackProviders: ["b"] }).status).toBe("pending");
  });

  test("keeps the request from another worker for the usual back-off alone, unless it limits its rate", () => {
    const elsewhere = { isElsewhere: true };
    for (const ms of [10_000, QUEUE_MS + 1]) {
      const next = told(waited, ms, unavailable, elsewhere);
      expect(next).toMatchObject({ status: "pending", readyAt: NOON + 1_000, avoidedWorkers: [waited.assignedWorker] });
      expect(told(unwaited, ms, unavailable, elsewhere).readyAt).toBe(NOON + ms);
    }
    expect(told(waited, QUEUE_MS + 1, RATE_LIMITED, elsewhere).status).toBe("failed");
  });

  test("is waited for where no client is", () => {
    for (const job of [unwaited, runningJob()])
      expect(told(job, QUEUE_MS + 1, unavailable)).toMatchObject({ status: "pending", readyAt: NOON + QUEUE_MS + 1 });
  });
});

describe("a runtime that does not have the model", () => {
  const MISSING = { code: "not_found_error", message: "model 'm' not found", status: 404 };
  const answered = (policy: Partial<FailurePolicy>, error = MISSING, model: string | null = "m") => {
    const running = run(pendingJob({ model }));
    return decided(failJob(running, 1, failure(error), { ...NO_POLICY, ...policy }, NOON));
  };

  test("passes the job on at once and at no cost, where another worker may have it", () => {
    const { job, events } = answered({ isElsewhere: true });
    expect(job).toMatchObject({ status: "pending", attempts: 0, readyAt: null, settledBy: "failed" });
    expect(job.orderKey).not.toBeNull();
    expect(events).toMatchObject([
      { type: "job.released", detail: { reason: 'its runtime does not have model "m"', error: MISSING } },
    ]);
    expect(decided(failJob(job, 1, failure(MISSING), NO_POLICY, NOON)).events).toEqual([]);
  });

  test("fails it in its own words, where nobody else may have it", () => {
    expect(answered({}).job).toMatchObject({ status: "failed", attempts: 1, error: MISSING });
  });

  test("is told from one that lacks something else, and from a job that names no model", () => {
    const gone = { code: "not_found", message: "no such page", status: 404 };
    expect(answered({ isElsewhere: true }, gone).job.status).toBe("failed");
    expect(answered({ isElsewhere: true }, MISSING, null).job.status).toBe("failed");
    const said = { code: "no_model_loaded", message: "No model loaded", status: 400 };
    expect(answered({ isElsewhere: true }, said).job.status).toBe("pending");
  });
});

describe("a failure that may pass", () => {
  const broken = (job: Job, policy: Partial<FailurePolicy> = {}, instance = "w1") => {
    const running = run(job, { instance, provider: "openai" });
    return decided(failJob(running, running.lease, failure(RETRYABLE), { ...NO_POLICY, ...policy }, NOON));
  };

  test("is tried again no earlier than the runtime asks for", () => {
    const running = runningJob();
    const readyAt = (retryAfterMs: number | null) =>
      decided(failJob(running, running.lease, failure(RETRYABLE, retryAfterMs), NO_POLICY, NOON)).job.readyAt;
    expect([readyAt(null), readyAt(10), readyAt(90_000)]).toEqual([NOON + 1_000, NOON + 1_000, NOON + 90_000]);
  });

  test("or a rate limit that leads on down the chain spends no attempt", () => {
    const policy = { maxAttempts: 1, fallbackProviders: ["b"], unservedProviders: [] };
    for (const error of [RETRYABLE, RATE_LIMITED]) {
      const running = run(pendingJob(), { instance: "w1", provider: "a" });
      const next = decided(failJob(running, running.lease, failure(error), { ...NO_POLICY, ...policy }, NOON)).job;
      expect(next).toMatchObject({ status: "pending", attempts: 0, excludedProviders: ["a"] });
    }
  });

  test("leaves nothing of what ran it, once it is tried again by hand", () => {
    const running = runningJob();
    const ended = decided(
      failJob(running, running.lease, failure({ ...RETRYABLE, retryable: false }), NO_POLICY, NOON),
    ).job;
    expect(ended.ranProvider).not.toBeNull();
    expect(decided(retryJob(ended, false, LATER)).job).toMatchObject({ ranProvider: null, ranModel: null });
  });

  test("is tried again after 1, 2, 4, 8 s, until the job has had its attempts", () => {
    let job = pendingJob();
    const waits: number[] = [];
    for (let attempt = 1; attempt < 5; attempt += 1) {
      const outcome = broken(job);
      expect(outcome.job).toMatchObject({
        status: "pending",
        attempts: attempt,
        orderKey: null,
        delayedBy: "retry",
        error: { code: "provider_error" },
      });
      expect(outcome.backoffUntilAt).toBeNull();
      const delayMs = (outcome.job.readyAt ?? 0) - NOON;
      expect(outcome.events).toMatchObject([{ type: "job.attempt_failed", worker: "w1", lease: attempt }]);
      expect(outcome.events[0]?.detail).toEqual({ attempt, of: 5, delay_ms: delayMs, error: RETRYABLE });
      waits.push(delayMs);
      job = ready(outcome.job);
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000]);
    expect(broken(job).job).toMatchObject({ status: "failed", attempts: 5, error: { code: "provider_error" } });
  });

  test("waits as configured, with jitter, and never longer than the longest", () => {
    const waited = (attempts: number, policy: Partial<FailurePolicy>) =>
      (broken({ ...pendingJob(), attempts }, { maxAttempts: 99, ...policy }).job.readyAt ?? NOON) - NOON;
    const retry = { backoffMs: 500, maxBackoffMs: 3_000 };
    expect([0, 1, 2, 3, 50].map((attempts) => waited(attempts, { retry }))).toEqual([500, 1_000, 2_000, 3_000, 3_000]);
    expect(waited(0, { retry, jitter: 0.8 })).toBe(600);
    expect(waited(3, { retry, jitter: 0.8 })).toBe(3_000);
    expect(broken(pendingJob(), { retry: { backoffMs: 0, maxBackoffMs: 0 } }).job).toMatchObject({
      readyAt: null,
      delayedBy: null,
      orderKey: pendingJob().orderKey,
    });
  });

  test("remembers which workers failed the job, the latest of them, until it is explicitly retried", () => {
    const first = broken(pendingJob(), {}, "a").job;
    const second = broken(ready(first), {}, "b").job;
    expect(second.avoidedWorkers).toEqual(["a", "b"]);
    expect(broken(ready(second), {}, "a").job.avoidedWorkers).toEqual(["b", "a"]);
    expect(second.groupKey).not.toBe(first.groupKey);
    const many = { ...pendingJob(), avoidedWorkers: Array.from({ length: 16 }, (_, at) => `w-${at}`) };
    expect(broken(many, {}, "last").job.avoidedWorkers).toHaveLength(16);
    const last = broken(ready(second), { maxAttempts: 3 }).job;
    expect(last.status).toBe("failed");
    expect(decided(retryJob(last, false, LATER)).job).toMatchObject({ attempts: 0, avoidedWorkers: [] });
  });

  test("is final at once where its worker says that it may not be retried", () => {
    expect(decided(failJob(runningJob(), 1, failure(), NO_POLICY, NOON)).job.status).toBe("failed");
  });
});

describe("a rate limit", () => {
  test("without rate_limit configured fails the job with the specification's own words", () => {
    expect(limited(runningJob(), 30_000, { rateLimit: null })).toMatchObject({
      backoffUntilAt: null,
      job: { status: "failed", error: RATE_LIMIT_ERROR },
    });
    expect(RATE_LIMIT_ERROR.message).toBe("429 Too Many Requests / Rate limit exceeded");
  });

  test("fails a front-door request in the provider's own words, as one that may be sent again", () => {
    const job = runningJob({ api: "chat/completions" });
    const ends = (status: object) => {
      const said = { code: "rate_limited", message: "slow down", retryable: false, ...status };
      return decided(failJob(job, job.lease, failure(said), NO_POLICY, NOON)).job.error;
    };
    expect(ends({})).toEqual({ code: "rate_limited", message: "slow down", status: 429, retryable: true });
    expect(ends({ status: 503 })).toMatchObject({ status: 503, retryable: true });
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
    expect(limited(run(job))).toMatchObject({
      job: { status: "failed", error: RATE_LIMIT_ERROR, attempts: 1 },
      // The provider backs off, whatever happens to the job.
      backoffUntilAt: NOON + 40_000,
    });
  });

  test("lets a line of a batch wait as often as it must, and go on to the next provider of a chain if there is one", () => {
    const line = { ...runningJob(), batch: "b1", rateLimitRetries: 99 };
    for (const rateLimit of [null, RATE_LIMIT]) {
      const waiting = limited(line, null, { rateLimit, lineWaitMs: 2_000 });
      expect(waiting).toMatchObject({
        backoffUntilAt: NOON + 2_000,
        job: { status: "pending", readyAt: NOON + 2_000, attempts: 0, rateLimitRetries: 100 },
        events: [{ detail: { retry: 100, delay_ms: 2_000, provider: "openai" } }],
      });
      expect(limited(line, 30_000, { rateLimit, lineWaitMs: 2_000 }).job.readyAt).toBe(NOON + 30_000);
      const chain = { rateLimit, lineWaitMs: 2_000, fallbackProviders: ["b"] };
      expect(limited({ ...line, provider: null }, null, chain).job).toMatchObject({ status: "pending", readyAt: null });
    }
  });

  test("is recognised by code or status; an exhausted quota is not a rate limit", () => {
    const status = (error: object) =>
      decided(failJob(runningJob(), 1, failure(error), { ...NO_POLICY, rateLimit: RATE_LIMIT }, NOON)).job.status;
    expect(status({ code: "rate_limited" })).toBe("pending");
    expect(status({ code: "anything", status: 429 })).toBe("pending");
    expect(status({ code: "provider_error", status: 503 })).toBe("failed");
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
  /** The coordinator's policy after a failure on this job's provider. */
  const policyFor = (job: Job): FailurePolicy => ({
    ...NO_POLICY,
    fallbackProviders: CHAIN.slice(CHAIN.indexOf(job.workerProvider ?? "") + 1),
  });
  const failOn = (job: Job, provider: string, error: object, more: Partial<FailurePolicy> = {}) => {
    const running = run(job, { instance: `on-${provider}`, provider });
    return decided(failJob(running, running.lease, failure(error), { ...policyFor(running), ...more }, NOON));
  };

  test("goes down the chain after retryable failures, leaving each provider behind, to its end", () => {
    const first = failOn(pendingJob(), "a", RETRYABLE);
    expect(first.job).toMatchObject({ status: "pending", excludedProviders: ["a"], error: { code: "provider_error" } });
    expect(first.job.groupKey).toBe(groupKeyOf({ ...first.job, excludedProviders: ["a"] }));
    expect(first.events).toMatchObject([
      {
        type: "job.fell_back",
        worker: "on-a",
        lease: 1,
        detail: { from: "a", remaining: ["b", "c"], error: RETRYABLE },
      },
    ]);
    const second = failOn(first.job, "b", QUOTA);
    expect(second.job).toMatchObject({ status: "pending", excludedProviders: ["a", "b"], readyAt: null });
    const limitedTwice = { ...second.job, rateLimitRetries: 2 };
    const last = (maxAttempts: number) => failOn(limitedTwice, "c", RETRYABLE, { maxAttempts }).job;
    expect(last(1)).toMatchObject({ status: "failed", attempts: 1, error: { status: 502 } });
    // While attempts are left it starts again at the top of the chain, after a delay.
    const again = { status: "pending", excludedProviders: [], rateLimitRetries: 0, delayedBy: "retry" };
    expect(last(2)).toMatchObject(again);
  });

  test("waits at a provider that limits its rate while retries are left, and goes on without them", () => {
    const on = (rateLimitRetries: number, more: Partial<FailurePolicy> = {}) => {
      const job = { ...run(pendingJob(), { instance: "on-a", provider: "a" }), rateLimitRetries };
      return limited(job, null, { fallbackProviders: ["b"], ...more }).job;
    };
    expect(on(2)).toMatchObject({ status: "pending", excludedProviders: [], delayedBy: "rate_limit" });
    for (const unservedProviders of [[], ["b"]])
      expect(on(3, { unservedProviders })).toMatchObject({
        status: "pending",
        excludedProviders: ["a"],
        readyAt: null,
      });
  });

  test("waits at no provider for a rate limit that has no configured retries", () => {
    expect(failOn(pendingJob(), "a", RATE_LIMITED)).toMatchObject({
      backoffUntilAt: null,
      job: { status: "pending", excludedProviders: ["a"], readyAt: null },
    });
  });

  test("leaves a provider that refused all of the job's retries alone for a while, so that others do not hit it first", () => {
    const spent = { ...run(pendingJob(), { instance: "on-a", provider: "a" }), rateLimitRetries: 3 };
    expect(limited(spent, 60_000, { fallbackProviders: ["b"] })).toMatchObject({
      backoffUntilAt: NOON + 60_000,
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

  test("goes to a provider that nobody serves only where the job has no other chance", () => {
    const unserved = { fallbackProviders: ["b"], unservedProviders: ["b"] };
    expect(failOn(pendingJob(), "a", RETRYABLE, unserved)).toMatchObject({
      job: { status: "pending", excludedProviders: [], delayedBy: "retry" },
      events: [{ type: "job.attempt_failed", detail: { unserved_providers: ["b"] } }],
    });
    expect(failOn(pendingJob(), "a", RETRYABLE, { ...unserved, maxAttempts: 1 }).job.excludedProviders).toEqual(["a"]);
    expect(failOn(pendingJob(), "a", QUOTA, unserved).job.excludedProviders).toEqual(["a"]);
    const served = { fallbackProviders: ["b", "c"], unservedProviders: ["b"] };
    expect(failOn(pendingJob(), "a", RETRYABLE, served).job.excludedProviders).toEqual(["a"]);
  });

  test("is not for a failure of the job itself, nor for a job that names its provider", () => {
    expect(failOn(pendingJob(), "a", {}).job.status).toBe("failed");
    expect(failOn(pendingJob({ provider: "a" }), "a", RETRYABLE).job).toMatchObject({ excludedProviders: [] });
    expect(failOn(pendingJob({ provider: "a" }), "a", QUOTA).job.status).toBe("failed");
  });

  test("starts at the top again after an explicit retry", () => {
    const upTo = failOn(failOn(pendingJob(), "a", RETRYABLE).job, "b", RETRYABLE).job;
    const end = failOn(upTo, "c", RETRYABLE, { maxAttempts: 1 }).job;
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
