// What becomes of a job that fails, stalls, times out, waits or is rate limited, and of a worker that misbehaves. Time
// passes by ageing the stored record and firing the alarm; the alarm may come twice, early, late or for nothing.

import { evictDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { ageJob, alarm, type Body, inStorage, newWorld, type World } from "../support/workerd/client.ts";

/** The Cron Trigger's minute. */
const minute = () =>
  (exports.default as unknown as { scheduled(event: { cron: string }): Promise<unknown> }).scheduled({
    cron: "* * * * *",
  });

const present = (world: World, instance = "w", more: Record<string, unknown> = {}) =>
  world.ok("POST", "/presence", { instance, status: "online", provider: "openai", tags: "", concurrency: 50, ...more });
const dispatch = (world: World, more: Record<string, unknown> = {}) =>
  world.ok("POST", "/dispatch", { prompt: "x", ...more });
const get = (world: World, { id }: Body) => world.ok("GET", `/api/jobs/${id}`);
const start = (world: World, job: Body) => world.ok("POST", `/api/jobs/${job.id}/start`, { lease: job.lease });
const fail = (world: World, job: Body, error: Record<string, unknown>) =>
  world.ok("POST", `/api/jobs/${job.id}/fail`, { lease: job.lease, error: { message: "broke", ...error } });
const events = async (world: World, { id }: Body): Promise<Body[]> =>
  (await world.ok("GET", `/api/jobs/${id}/events`)).events;
const typesOf = async (world: World, job: Body) => (await events(world, job)).map((event) => event.type);

const runningJob = async (world: World, more: Record<string, unknown> = {}) => {
  await present(world);
  return start(world, await dispatch(world, more));
};

const age = async (world: World, { id }: Body, seconds: number) => {
  await ageJob(world, id, seconds * 1000, [
    "createdAt",
    "assignedAt",
    "startedAt",
    "heartbeatAt",
    "readyAt",
    "runAt",
    "updatedAt",
  ]);
  await evictDurableObject(world.stub);
};

describe("a job whose worker falls silent", () => {
  it("goes back to the queue once its last heartbeat is stale, and not before", async () => {
    const world = await newWorld();
    const job = await runningJob(world);
    await age(world, job, 100);
    await alarm(world);
    expect(await get(world, job)).toMatchObject({ status: "running", lease: 1 });
    await world.ok("POST", "/api/workers/w/pause");
    await age(world, job, 21);
    await alarm(world);
    expect(await get(world, job)).toMatchObject({ status: "pending", attempts: 1, assigned_worker: null });
    expect(await typesOf(world, job)).toContain("job.reaped");
    expect((await world.post(`/api/jobs/${job.id}/complete`, { lease: 1, result: "late" })).body.code).toBe(
      "lease_lost",
    );
  });

  it("is kept alive by job heartbeats, and by presence that names it", async () => {
    const world = await newWorld();
    const job = await runningJob(world);
    await age(world, job, 100);
    const beaten = await world.ok("POST", `/api/jobs/${job.id}/heartbeat`, { lease: 1, progress: { percent: 40 } });
    expect(beaten.progress).toEqual({ percent: 40 });
    await age(world, job, 100);
    await present(world, "w", { jobs: [job.id] });
    await age(world, job, 100);
    await alarm(world);
    expect(await get(world, job)).toMatchObject({ status: "running", progress: { percent: 40 } });
  });

  it("fails with attempts_exhausted when it has been tried often enough", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { jobs: { max_attempts: 2 } });
    let job = await runningJob(world);
    await age(world, job, 121);
    await alarm(world);
    job = await start(world, await get(world, job));
    expect(job).toMatchObject({ status: "running", attempts: 2, lease: 2 });
    await age(world, job, 121);
    await alarm(world);
    await alarm(world);
    expect(await get(world, job)).toMatchObject({ status: "failed", error: { code: "attempts_exhausted" } });
    expect(await world.ok("POST", `/api/jobs/${job.id}/retry`)).toMatchObject({
      status: "pending",
      attempts: 0,
      error: null,
    });
  });

  it("follows its own max_attempts, and a config that turns reaping off", async () => {
    const world = await newWorld();
    const once = await runningJob(world, { max_attempts: 1 });
    await age(world, once, 121);
    await alarm(world);
    expect(await get(world, once)).toMatchObject({ status: "failed", error: { code: "attempts_exhausted" } });
    await world.ok("PUT", "/config", { jobs: { reap_stale_after_seconds: null, timeout_seconds: null } });
    const forever = await runningJob(world);
    await age(world, forever, 1_000_000);
    await alarm(world);
    expect(await get(world, forever)).toMatchObject({ status: "running" });
  });

  it("goes back when its worker no longer names it", async () => {
    const world = await newWorld();
    const job = await runningJob(world);
    await present(world, "w", { jobs: [] });
    const back = await get(world, job);
    expect(back).toMatchObject({ attempts: 0, lease: 2, status: "assigned" });
    expect(await typesOf(world, job)).toContain("job.lost");
  });
});

describe("a job that runs too long", () => {
  it("fails with timeout, though it beats", async () => {
    const world = await newWorld();
    const job = await runningJob(world);
    await age(world, job, 901);
    await world.ok("POST", `/api/jobs/${job.id}/heartbeat`, { lease: 1 });
    await alarm(world);
    expect(await get(world, job)).toMatchObject({ status: "failed", error: { code: "timeout" } });
    expect(await typesOf(world, job)).toContain("job.timed_out");
  });

  it("follows its own timeout_seconds", async () => {
    const world = await newWorld();
    const short = await runningJob(world, { timeout_seconds: 5 });
    const long = await runningJob(world, { timeout_seconds: 5_000 });
    for (const job of [short, long]) {
      await age(world, job, 1000);
      await world.ok("POST", `/api/jobs/${job.id}/heartbeat`, { lease: 1 });
    }
    await alarm(world);
    expect(await get(world, short)).toMatchObject({
      status: "failed",
      error: { code: "timeout", message: "ran longer than 5 s" },
    });
    expect(await get(world, long)).toMatchObject({ status: "running" });
  });

  it("follows a new config while it runs", async () => {
    const world = await newWorld();
    const job = await runningJob(world);
    await age(world, job, 60);
    await world.ok("PUT", "/config", { jobs: { timeout_seconds: 30 } });
    await alarm(world);
    expect(await get(world, job)).toMatchObject({ status: "failed", error: { code: "timeout" } });
  });
});

describe("a job with run_at", () => {
  it("waits for its time, then goes by itself", async () => {
    const world = await newWorld();
    await present(world);
    const runAt = new Date(Date.now() + 3_600_000).toISOString();
    const job = await world.ok("POST", "/api/jobs", { prompt: "x", run_at: runAt });
    expect(await get(world, job)).toMatchObject({ status: "pending", waiting_reason: `not to run before ${runAt}` });
    await alarm(world);
    expect(await get(world, job)).toMatchObject({ status: "pending" });
    await age(world, job, 3_600);
    await present(world);
    await alarm(world);
    await alarm(world);
    expect(await get(world, job)).toMatchObject({ status: "assigned", lease: 1 });
  });
});

describe("a lease that nobody starts", () => {
  it("goes to the next worker and costs no attempt; the idle one is paused in the end", async () => {
    const world = await newWorld();
    await present(world, "sleepy");
    const job = await dispatch(world);
    for (let lease = 1; lease <= 5; lease += 1) {
      expect(await get(world, job)).toMatchObject({ status: "assigned", lease, attempts: 0 });
      await age(world, job, 31);
      await alarm(world);
    }
    const worker = await world.ok("GET", "/api/workers/sleepy");
    expect(worker).toMatchObject({
      paused: true,
      pause_reason: expect.stringContaining("POST /api/workers/sleepy/resume"),
    });
    expect(await get(world, job)).toMatchObject({
      status: "pending",
      waiting_reason: expect.stringContaining("paused"),
    });
    expect((await world.ok("GET", "/api/audit")).entries[0]).toMatchObject({
      action: "worker.paused",
      target: "sleepy",
      actor: { name: "signalbox" },
    });
    await world.ok("POST", "/api/workers/sleepy/resume");
    expect(await get(world, job)).toMatchObject({ status: "assigned" });
  });
});

describe("a worker that fails job after job", () => {
  it("is paused with a reason that says so and how to resume it", async () => {
    const world = await newWorld();
    await present(world);
    for (let count = 0; count < 10; count += 1) await fail(world, await dispatch(world), { code: "segfault" });
    const worker = await world.ok("GET", "/api/workers/w");
    expect(worker).toMatchObject({
      paused: true,
      pause_reason: expect.stringMatching(/failed 10 jobs.*"segfault".*resume/),
    });
    expect((await world.post("/dispatch", { prompt: "x" })).status).toBe(503);
    await world.ok("POST", "/api/workers/w/resume");
    expect((await world.post("/dispatch", { prompt: "x" })).status).toBe(200);
  });

  it("is not blamed for what the job or the provider did", async () => {
    const world = await newWorld();
    await present(world);
    for (let count = 0; count < 12; count += 1)
      await fail(world, await dispatch(world), { code: "http_error", status: 429 });
    for (let count = 0; count < 12; count += 1) await fail(world, await dispatch(world), { code: "context_length" });
    expect(await world.ok("GET", "/api/workers/w")).toMatchObject({ paused: false });
  });
});

describe("retry", () => {
  it("takes a failed or stuck job back to pending, and no other", async () => {
    const world = await newWorld();
    const job = await runningJob(world);
    expect(await world.post(`/api/jobs/${job.id}/retry`)).toMatchObject({ status: 409, body: { code: "job_state" } });
    await age(world, job, 121);
    const retried = await world.ok("POST", `/api/jobs/${job.id}/retry`);
    expect(retried).toMatchObject({ assigned_worker: null, status: "pending" });
    const again = await get(world, job);
    expect(again).toMatchObject({ lease: 2, status: "assigned" });
    expect((await world.post(`/api/jobs/${job.id}/complete`, { lease: 1, result: 1 })).status).toBe(409);
    await fail(world, again, { code: "x" });
    expect(await world.ok("POST", `/api/jobs/${job.id}/retry`)).toMatchObject({
      status: "pending",
      error: null,
      finished_at: null,
    });
    const third = await get(world, job);
    await world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: third.lease, result: 1 });
    expect((await world.post(`/api/jobs/${job.id}/retry`)).status).toBe(409);
  });

  it("finds a failed job that has left for the history", async () => {
    const world = await newWorld();
    const job = await fail(world, await runningJob(world), { code: "x" });
    await world.stub.drain();
    await inStorage(world, (storage) => {
      storage.sql.exec("UPDATE jobs SET due_at = 1 WHERE id = ?", job.id);
    });
    await alarm(world);
    expect(await inStorage(world, (storage) => storage.sql.exec("SELECT id FROM jobs").toArray())).toEqual([]);
    await world.ok("POST", "/api/workers/w/pause");
    expect(await world.ok("POST", `/api/jobs/${job.id}/retry`)).toMatchObject({ status: "pending", prompt: "x" });
    expect(await get(world, job)).toMatchObject({ status: "pending" });
  });
});

describe("a provider's rate limit", () => {
  const MESSAGE = "429 Too Many Requests / Rate limit exceeded";
  const limited = (rate_limit: Record<string, unknown>) => ({ providers: { openai: { rate_limit } } });

  it("without one configured fails the job with the specification's words", async () => {
    const world = await newWorld();
    await present(world);
    for (const error of [{ code: "rate_limited" }, { code: "http_error", status: 429 }]) {
      const job = await fail(world, await dispatch(world), error);
      expect(job).toMatchObject({ status: "failed", error: { code: "rate_limited", message: MESSAGE, status: 429 } });
    }
  });

  it("max_concurrent is never exceeded, over all workers of the provider", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", limited({ max_concurrent: 3 }));
    await present(world, "a");
    await present(world, "b");
    const created = (
      await world.ok("POST", "/api/jobs/batch", { jobs: Array.from({ length: 8 }, () => ({ prompt: "x" })) })
    ).jobs;
    const states = async () => {
      const jobs = await Promise.all(created.map((job: Body) => get(world, job)));
      return { leased: jobs.filter((job) => job.status === "assigned" || job.status === "running"), jobs };
    };
    expect((await states()).leased).toHaveLength(3);
    expect((await world.post("/dispatch", { prompt: "x" })).body.detail).toContain("max_concurrent (3)");
    for (let done = 0; done < 8; done += 1) {
      const { leased } = await states();
      expect(leased.length).toBeLessThanOrEqual(3);
      await world.ok("POST", `/api/jobs/${leased[0].id}/complete`, { lease: leased[0].lease, result: 1 });
    }
    expect((await states()).jobs.every((job) => job.status === "completed")).toBe(true);
  });

  it("backs off with growing delays, never shorter than asked, then fails with the specification's words", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", limited({ retry_after_seconds: 10, max_retries: 3 }));
    await present(world);
    let job = await dispatch(world, { provider: "openai" });
    const asked = [0, 0, 300];
    const least = [10, 20, 300];
    for (const [retry, seconds] of asked.entries()) {
      const waiting = await fail(world, job, { code: "rate_limited", status: 429, retry_after_seconds: seconds });
      expect(waiting).toMatchObject({
        status: "pending",
        attempts: 0,
        waiting_reason: expect.stringContaining("rate limit"),
      });
      const refused = await world.post("/dispatch", { prompt: "y", provider: "openai" });
      expect(refused.body.detail).toMatch(/provider openai backs off until/);
      await present(world, "other", { provider: "anthropic" });
      const elsewhere = await dispatch(world, { provider: "anthropic" });
      await world.ok("POST", `/api/jobs/${elsewhere.id}/complete`, { lease: 1, result: 1 });
      const detail = (await events(world, job)).filter((event) => event.type === "job.rate_limited").at(-1)?.detail;
      expect(detail).toMatchObject({ retry: retry + 1, of: 3, provider: "openai" });
      expect(detail.delay_ms).toBeGreaterThanOrEqual((least[retry] ?? 0) * 1000);
      expect(detail.delay_ms).toBeLessThanOrEqual((least[retry] ?? 0) * 1250);
      await inStorage(world, (storage) => {
        storage.sql.exec("UPDATE backoffs SET until_at = ?", Date.now() - 1);
      });
      await age(world, job, 400);
      await present(world);
      await alarm(world);
      job = await get(world, job);
      expect(job).toMatchObject({ status: "assigned", assigned_worker: "w", lease: retry + 2 });
    }
    expect(await fail(world, job, { code: "rate_limited" })).toMatchObject({
      status: "failed",
      error: { code: "rate_limited", message: MESSAGE, status: 429 },
    });
  });

  it("opens again by itself when the back-off is over, also after an eviction", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", limited({ retry_after_seconds: 30, max_retries: 0 }));
    await present(world);
    expect(await fail(world, await dispatch(world), { code: "rate_limited" })).toMatchObject({ status: "failed" });
    await world.ok("PUT", "/config", limited({ retry_after_seconds: 30, max_retries: 1 }));
    await fail(world, await dispatch(world), { code: "rate_limited" });
    const waiting = await world.ok("POST", "/api/jobs", { prompt: "behind" });
    await evictDurableObject(world.stub);
    expect(await get(world, waiting)).toMatchObject({
      status: "pending",
      waiting_reason: expect.stringContaining("backs off until"),
    });
    await inStorage(world, (storage) => {
      storage.sql.exec("UPDATE backoffs SET until_at = ?", Date.now() - 1);
    });
    await evictDurableObject(world.stub);
    await present(world);
    await alarm(world);
    expect(await get(world, waiting)).toMatchObject({ status: "assigned" });
  });

  it("is not an exhausted quota, which is not retried there", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", limited({ retry_after_seconds: 1, max_retries: 5 }));
    await present(world);
    for (const code of ["quota_exhausted", "insufficient_quota"]) {
      expect(await fail(world, await dispatch(world), { code, status: 429 })).toMatchObject({
        status: "failed",
        error: { code },
      });
    }
    expect((await world.post("/dispatch", { prompt: "x" })).status).toBe(200);
  });
});

describe("routing strategies", () => {
  const fleet = async (world: World, workers: Record<string, Record<string, unknown>>) => {
    for (const [instance, more] of Object.entries(workers)) await present(world, instance, more);
  };
  const strategy = (world: World, routing: Record<string, unknown>, more: Record<string, unknown> = {}) =>
    world.ok("PUT", "/config", { routing, ...more });
  /** Explains, dispatches, and checks that the winner explained is the one taken. */
  const winner = async (world: World, body: Record<string, unknown> = {}, query = "") => {
    const explained = await world.ok("GET", `/dispatch/explain?${query}`);
    const job = await dispatch(world, body);
    expect(job.assigned_worker).toBe(explained.selected);
    return { name: job.assigned_worker as string, explained, job };
  };

  it("score takes the best score anywhere, and says its parts", async () => {
    const world = await newWorld();
    await fleet(world, {
      busy: { concurrency: 2 },
      free: { concurrency: 2 },
      tagged: { tags: "a,b,c", concurrency: 2 },
    });
    const { explained, job } = await winner(world);
    expect(explained.strategy).toBe("score");
    expect(explained.workers).toHaveLength(3);
    const scores = explained.workers.map((one: Body) => one.score);
    expect(scores).toEqual([...scores].sort((a: number, b: number) => b - a));
    for (const one of explained.workers)
      for (const part of Object.values(one.breakdown)) expect(part).toBeLessThanOrEqual(1);
    const assigned = (await events(world, job)).find((event) => event.type === "job.assigned");
    expect(assigned?.detail).toMatchObject({
      strategy: "score",
      score: expect.any(Number),
      breakdown: expect.any(Object),
    });
  });

  it("weights change who wins", async () => {
    const world = await newWorld();
    await fleet(world, { cheap: { tier: "economy" }, fine: { tier: "premium" } });
    await strategy(world, {
      weights: { capacity: 0, tag_fit: 0, model_loaded: 0, success: 0, freshness: 0, cost: 0, tier: 100 },
    });
    expect((await winner(world, { tier: "premium" }, "tier=premium")).name).toBe("fine");
    expect((await winner(world, { tier: "economy" }, "tier=economy")).name).toBe("cheap");
  });

  it("least_loaded takes the freest", async () => {
    const world = await newWorld();
    await fleet(world, { small: { concurrency: 2 }, large: { concurrency: 10 } });
    await strategy(world, { strategy: "least_loaded" });
    const taken: string[] = [];
    for (let count = 0; count < 6; count += 1) taken.push((await winner(world)).name);
    expect(taken.filter((name) => name === "small").length).toBe(1);
  });

  it("round_robin takes each in turn", async () => {
    const world = await newWorld();
    await fleet(world, { a: {}, b: {}, c: {} });
    await strategy(world, { strategy: "round_robin" });
    const taken: string[] = [];
    for (let count = 0; count < 6; count += 1) taken.push((await winner(world)).name);
    expect([...taken.slice(0, 3)].sort()).toEqual(["a", "b", "c"]);
    expect(taken.slice(3)).toEqual(taken.slice(0, 3));
  });

  it("cheapest takes the lowest price, and unknown prices last", async () => {
    const world = await newWorld();
    await fleet(world, { dear: { provider: "dear" }, fair: { provider: "fair" }, unknown: { provider: "unknown" } });
    const pricing = (usd: number) => ({ pricing: { "*": { input_per_mtok: usd, output_per_mtok: usd } } });
    await strategy(world, { strategy: "cheapest" }, { providers: { dear: pricing(9), fair: pricing(2) } });
    const { name, explained } = await winner(world);
    expect(name).toBe("fair");
    expect(explained.workers.map((one: Body) => one.instance)).toEqual(["fair", "dear", "unknown"]);
    await present(world, "home", { provider: "ollama" });
    expect((await winner(world)).name).toBe("home");
  });

  it("fallback takes the first of the chain, and goes on down it after a retryable failure", async () => {
    const world = await newWorld();
    await fleet(world, {
      c: { provider: "third" },
      a: { provider: "first" },
      b: { provider: "second" },
      d: { provider: "stranger" },
    });
    await strategy(world, { strategy: "fallback", chain: ["first", "second", "third"] });
    const { name, job, explained } = await winner(world);
    expect(name).toBe("a");
    expect(explained.workers.at(-1)).toMatchObject({
      instance: "d",
      eligible: false,
      reasons: [expect.stringContaining("routing.chain")],
    });
    await fail(world, job, { code: "upstream", status: 503 });
    const second = await get(world, job);
    expect(second).toMatchObject({ status: "assigned", assigned_worker: "b", lease: 2 });
    await fail(world, second, { code: "quota_exhausted", status: 429 });
    const third = await get(world, job);
    expect(third).toMatchObject({ status: "assigned", assigned_worker: "c" });
    const positions = (await events(world, job))
      .filter((event) => event.type === "job.assigned")
      .map((event) => event.detail.chain_position);
    expect(positions).toEqual([0, 1, 2]);
    expect(await typesOf(world, job)).toContain("job.fell_back");
    expect(await fail(world, third, { code: "upstream", status: 503 })).toMatchObject({
      status: "failed",
      error: { code: "upstream" },
    });
  });

  it("fallback does not go on after a failure that is final, nor for a job that names its provider", async () => {
    const world = await newWorld();
    await fleet(world, { a: { provider: "first" }, b: { provider: "second" } });
    await strategy(world, { strategy: "fallback", chain: ["first", "second"] });
    expect(await fail(world, await dispatch(world), { code: "bad_request", status: 400 })).toMatchObject({
      status: "failed",
    });
    const bound = await dispatch(world, { provider: "second" });
    expect(bound.assigned_worker).toBe("b");
    const own = await dispatch(world, { provider: "first" });
    expect(await fail(world, own, { code: "upstream", status: 503 })).toMatchObject({ status: "failed" });
  });

  it("a paused worker and one at its concurrency are never taken, by any strategy", async () => {
    const world = await newWorld();
    await fleet(world, { full: { concurrency: 1 }, paused: {}, ok: {} });
    await world.ok("POST", "/api/workers/paused/pause");
    for (const routing of [
      { strategy: "score" },
      { strategy: "least_loaded" },
      { strategy: "cheapest" },
      { strategy: "round_robin" },
      { strategy: "fallback", chain: ["openai"] },
    ]) {
      await strategy(world, routing);
      for (let count = 0; count < 3; count += 1) expect((await winner(world)).name).not.toBe("paused");
    }
    expect((await world.ok("GET", "/api/workers/full")).current_load).toBeLessThanOrEqual(1);
  });
});

describe("the alarm", () => {
  /** The earliest instant at which anything stored is due. */
  const earliestDue = (storage: DurableObjectStorage): number | null => {
    const queries = [
      "SELECT MIN(due_at) AS at FROM jobs",
      "SELECT MIN(next_run_at) AS at FROM schedules",
      "SELECT MIN(until_at) AS at FROM backoffs",
      "SELECT MIN(expires_at) AS at FROM sessions",
      "SELECT MIN(expires_at) AS at FROM idempotency",
      "SELECT MIN(record ->> '$.previousUntilAt') AS at FROM keys",
      "SELECT MIN(record ->> '$.pause.untilAt') AS at FROM workers",
    ];
    const instants = queries.map((query) => storage.sql.exec(query).one().at).filter((at) => typeof at === "number");
    return instants.length === 0 ? null : Math.min(...instants);
  };
  /** While the handler runs the platform shows no alarm: then it is asked again. */
  const expectArmed = async (world: World, what: string) => {
    const look = () =>
      inStorage(world, async (storage) => {
        const dueAt = earliestDue(storage);
        return { armedAt: await storage.getAlarm(), dueAt, nowAt: Date.now() };
      });
    let seen = await look();
    await expect
      .poll(async () => {
        if (seen.dueAt !== null && seen.armedAt === null) seen = await look();
        return seen.dueAt === null || seen.armedAt !== null;
      })
      .toBe(true);
    const { armedAt, dueAt, nowAt } = seen;
    if (dueAt !== null) expect([what, (armedAt ?? 0) <= Math.max(dueAt, nowAt)]).toEqual([what, true]);
  };

  it.each([false, true])(
    "is never later than what is due, after any write (evicted in between: %s)",
    async (isEvicting) => {
      const world = await newWorld();
      let job: Body;
      const soon = () => new Date(Date.now() + 60_000).toISOString();
      const writes: [string, () => Promise<unknown>][] = [
        ["presence", () => present(world)],
        ["a schedule far off", () => world.ok("POST", "/api/schedules", { name: "far", interval: "1d", prompt: "x" })],
        ["a session", () => world.post("/session", { key: world.key })],
        ["a schedule nearer", () => world.ok("POST", "/api/schedules", { name: "near", interval: "1h", prompt: "x" })],
        ["run_at", () => world.ok("POST", "/api/jobs", { prompt: "x", run_at: soon() })],
        ["idempotency", () => world.post("/api/jobs", { prompt: "x" }, { headers: { "idempotency-key": "k" } })],
        [
          "dispatch",
          async () => {
            job = await dispatch(world);
          },
        ],
        ["start", () => start(world, job)],
        ["heartbeat", () => world.ok("POST", `/api/jobs/${job.id}/heartbeat`, { lease: job.lease })],
        ["presence again", () => present(world)],
        ["a pause with an end", () => world.ok("POST", "/api/workers/w/pause", { until: soon() })],
        [
          "config",
          () =>
            world.ok("PUT", "/config", { jobs: { timeout_seconds: 20 }, providers: { openai: { rate_limit: {} } } }),
        ],
        ["a rate limit", () => fail(world, job, { code: "rate_limited" })],
        [
          "a rotation with grace",
          async () => {
            const key = await world.withKey("worker");
            await world.ok("POST", `/api/keys/${key.keyId}/rotate`, { grace_seconds: 30 });
          },
        ],
        ["killswitch", () => world.ok("POST", "/killswitch", { level: 1, reason: "x" })],
        ["clear", () => world.ok("DELETE", "/killswitch?resume_all=true")],
        ["an alarm", () => alarm(world)],
        ["an alarm again", () => alarm(world)],
        ["an edit", () => world.ok("PUT", "/api/schedules/near", { interval: "2s" })],
      ];
      for (const [what, write] of writes) {
        await write();
        await expectArmed(world, what);
        if (!isEvicting) continue;
        await evictDurableObject(world.stub);
        await world.get("/killswitch");
        await expectArmed(world, `${what}, after an eviction`);
      }
    },
  );

  it("that was lost comes back with the next request", async () => {
    const world = await newWorld();
    await world.ok("POST", "/api/schedules", { name: "s", interval: "1h", prompt: "x" });
    await world.stub.drain();
    await inStorage(world, (storage) => storage.deleteAlarm());
    await evictDurableObject(world.stub);
    await world.get("/killswitch");
    await expectArmed(world, "a read");
  });

  it("with nothing due changes nothing", async () => {
    const world = await newWorld();
    const job = await runningJob(world);
    await world.stub.drain();
    const before = await get(world, job);
    await world.stub.poke();
    await world.stub.poke();
    expect(await get(world, job)).toEqual(before);
  });

  it("that the platform gave up is made good by the minute's cron", async () => {
    const world = await newWorld();
    await present(world);
    const job = await start(world, await dispatch(world, { timeout_seconds: 300 }));
    await world.stub.drain();
    const { wake_at: told } =
      (await env.DB.prepare("SELECT wake_at FROM tenants WHERE tenant = ?1")
        .bind(world.tenant)
        .first<{ wake_at: number | null }>()) ?? {};
    expect(told).toBeGreaterThan(Date.now());
    await ageJob(world, job.id, 400_000, ["startedAt", "heartbeatAt"]);
    await inStorage(world, (storage) => storage.deleteAlarm());
    await evictDurableObject(world.stub);
    await env.DB.prepare("UPDATE tenants SET wake_at = ?2 WHERE tenant = ?1")
      .bind(world.tenant, Date.now() - 200_000)
      .run();
    await minute();
    expect(await get(world, job)).toMatchObject({ status: "failed", error: { code: "timeout" } });
    const row = await env.DB.prepare("SELECT wake_at FROM tenants WHERE tenant = ?1")
      .bind(world.tenant)
      .first<{ wake_at: number | null }>();
    expect(row?.wake_at ?? Number.POSITIVE_INFINITY).toBeGreaterThan(Date.now() - 60_000);
  });
});
