// Where jobs go: each strategy and its explanation, and providers that accept no more.

import { describe, expect, it } from "vitest";
import { alarm, type Body, inStorage, newWorld, silence, type World } from "../../support/workerd/client.ts";
import { age, dispatch, events, fail, get, present, typesOf } from "../../support/workerd/job-steps.ts";

describe("a provider's rate limit", () => {
  const MESSAGE = "429 Too Many Requests / Rate limit exceeded";
  const limited = (rate_limit: Record<string, unknown>) => ({ providers: { openai: { rate_limit } } });

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
        waiting_reason: expect.stringMatching(/^provider openai backs off until .*, then retry \d$/),
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
});

describe("routing strategies", () => {
  const fleet = async (world: World, workers: Record<string, Record<string, unknown>>) => {
    for (const [instance, more] of Object.entries(workers)) await present(world, instance, more);
  };
  const strategy = (world: World, routing: Record<string, unknown>, more: Record<string, unknown> = {}) =>
    world.ok("PUT", "/config", { routing, ...more });
  /** Explains, dispatches, and checks that the explained winner is the one that got the job. */
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
      provider: expect.any(String),
      score: expect.any(Number),
      breakdown: expect.any(Object),
      runner_up: {
        worker: explained.workers[1].instance,
        provider: explained.workers[1].provider,
        score: explained.workers[1].score,
        breakdown: explained.workers[1].breakdown,
      },
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

  it("a provider that stands twice in the chain is tried once, and strands no job", async () => {
    const world = await newWorld();
    await fleet(world, { a: { provider: "first" }, b: { provider: "second" } });
    await world.ok("PUT", "/config", {
      jobs: { max_attempts: 1 },
      routing: { strategy: "fallback", chain: ["first", "first", "second", "first"] },
    });
    const { name, job } = await winner(world);
    expect(name).toBe("a");
    await fail(world, job, { code: "upstream", status: 503 });
    const second = await get(world, job);
    expect(second).toMatchObject({ status: "assigned", assigned_worker: "b" });
    expect(await fail(world, second, { code: "upstream", status: 503 })).toMatchObject({
      status: "failed",
      attempts: 1,
    });
  });

  it("fallback takes the first of the chain, and goes on down it after a retryable failure, at no attempt", async () => {
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
      status: "pending",
      attempts: 1,
      error: { code: "upstream" },
      waiting_reason: expect.stringMatching(/^attempt 1 of 5 on c failed with "upstream", it is tried again at /),
    });
    await age(world, job, 10);
    await present(world, "a", { provider: "first" });
    await alarm(world);
    const fourth = await get(world, job);
    expect(fourth).toMatchObject({ status: "assigned", assigned_worker: "a", lease: 4 });
    await world.ok("PUT", "/config", { routing: { strategy: "score" }, jobs: { max_attempts: 2 } });
    expect(await fail(world, fourth, { code: "upstream", status: 503 })).toMatchObject({
      status: "failed",
      error: { code: "upstream" },
    });
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

describe("the built-in echo", () => {
  it("is given what waited when the last other worker falls silent, without a word from anyone", async () => {
    const world = await newWorld();
    // The alarm looks at waiting jobs once in a heartbeat.
    await world.ok("PUT", "/config", { presence: { heartbeat_interval_seconds: 1, offline_after_seconds: 60 } });
    await present(world, "real", { provider: "ollama", concurrency: 1 });
    await dispatch(world);
    await present(world, "stand-in", { provider: "echo", models: ["echo"], concurrency: 9 });
    const waiting = await world.ok("POST", "/api/jobs", { prompt: "x" });
    expect((await get(world, waiting)).status).toBe("pending");
    await silence(world, "real");
    await expect
      .poll(async () => {
        await alarm(world);
        return (await get(world, waiting)).assigned_worker;
      })
      .toBe("stand-in");
  });
});
