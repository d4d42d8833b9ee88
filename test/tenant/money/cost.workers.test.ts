// Cost that adds up to the nano-dollar, once per attempt.

import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { ageJob, alarm, type Body, newWorld, type World } from "../../support/workerd/client.ts";
import { run, worker } from "../../support/workerd/spending.ts";

const DAY_MS = 86_400_000;

const usage = (input: number, output: number, more: Record<string, number> = {}) => ({
  input_tokens: input,
  output_tokens: output,
  ...more,
});

describe("sums", () => {
  it("are the attempts' to the nano-dollar, each once however often it is reported", async () => {
    const world = await newWorld();
    await worker(world, "openai");
    const costs = [0.1, 0.2, 0.000000001, 1e-7, 12.345678912];
    for (const cost_usd of costs) {
      const job = await run(world, "openai", {
        cost_usd,
        usage: usage(10, 5, { cached_input_tokens: 2, reasoning_tokens: 1 }),
      });
      expect(job.cost_usd).toBe(cost_usd);
      const again = await world.post(`/api/jobs/${job.id}/complete`, { lease: job.lease, result: "ok", cost_usd });
      expect([again.status, again.body.status]).toEqual([200, "completed"]);
    }
    const summary = await world.ok("GET", "/api/cost?period=day");
    expect(summary).toMatchObject({
      period: "day",
      total_usd: 12.645679013,
      jobs: 5,
      unpriced_jobs: 0,
      previous_total_usd: 0,
      usage: { input_tokens: 50, output_tokens: 25, cached_input_tokens: 10, reasoning_tokens: 5 },
    });
    expect(summary.series).toHaveLength(24);
    const nanos = summary.series
      .map((slot: Body) => Math.round(slot.usd * 1e9))
      .reduce((a: number, b: number) => a + b, 0);
    expect(nanos).toBe(12645679013);
    expect(Date.parse(summary.to) - Date.parse(summary.from)).toBe(DAY_MS);
    const byProvider = await world.ok("GET", "/api/cost/providers?period=day");
    expect(byProvider.total_usd).toBe(summary.total_usd);
  });

  it("count a failed attempt that spent something, and the retry, and forget neither", async () => {
    const world = await newWorld();
    await worker(world, "openai");
    const job = await world.ok("POST", "/dispatch", { prompt: "x" });
    const failure = { lease: job.lease, error: { code: "oops", message: "broke" }, cost_usd: 0.25, usage: usage(1, 1) };
    await world.ok("POST", `/api/jobs/${job.id}/fail`, failure);
    await world.ok("POST", `/api/jobs/${job.id}/fail`, failure);
    await world.ok("POST", `/api/jobs/${job.id}/retry`);
    const again = await world.ok("GET", `/api/jobs/${job.id}`);
    await world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: again.lease, result: 1, cost_usd: 0.5 });
    const free = await world.ok("POST", "/dispatch", { prompt: "x" });
    await world.ok("POST", `/api/jobs/${free.id}/fail`, {
      lease: free.lease,
      error: { code: "oops", message: "at once" },
    });
    expect(await world.ok("GET", "/api/cost")).toMatchObject({ total_usd: 0.75, jobs: 1, unpriced_jobs: 0 });
  });

  it("stand per provider and model, most expensive first", async () => {
    const world = await newWorld();
    for (const provider of ["openai", "anthropic", "mystery"]) await worker(world, provider);
    await run(world, "openai", { cost_usd: 1, usage: usage(100, 10) }, "gpt-a");
    await run(world, "openai", { cost_usd: 2, usage: usage(200, 20) }, "gpt-b");
    await run(world, "openai", { cost_usd: 0.5, model: "gpt-a-2026" }, "gpt-a");
    await run(world, "anthropic", { cost_usd: 4 }, "claude");
    await run(world, "mystery", { usage: usage(7, 7) }, "who");
    await run(world, "mystery", { cost_usd: 0 });
    const { providers, total_usd } = await world.ok("GET", "/api/cost/providers?period=month");
    expect(total_usd).toBe(7.5);
    expect(providers.map((one: Body) => [one.provider, one.usd, one.jobs, one.unpriced_jobs])).toEqual([
      ["anthropic", 4, 1, 0],
      ["openai", 3.5, 3, 0],
      ["mystery", 0, 2, 1],
    ]);
    expect(providers[2].models.map((one: Body) => one.model)).toEqual(expect.arrayContaining(["who", null]));
    expect(providers[1].usage).toMatchObject({ input_tokens: 300, output_tokens: 30 });
    expect(providers[1].models.map((one: Body) => [one.model, one.usd])).toEqual([
      ["gpt-b", 2],
      ["gpt-a", 1],
      ["gpt-a-2026", 0.5],
    ]);
  });

  it("are by calendar day, ISO week and month in UTC, with the period before", async () => {
    const world = await newWorld();
    const now = Date.now();
    const day = Math.floor(now / DAY_MS) * DAY_MS;
    const insert = (id: string, at: number, nano: number) =>
      env.DB.prepare(
        `INSERT INTO attempts VALUES (?1, ?2, 1, ?3, 'openai', 'm', 'w', 'completed', 1, 1, 0, 0, ?4, 'reported', NULL, 0)`,
      )
        .bind(world.tenant, id, at, nano)
        .run();
    const monthStart = Date.UTC(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth(), 1);
    await insert("first instant of today", day, 1);
    await insert("last instant of yesterday", day - 1, 10);
    await insert("first instant of the month", monthStart, 100);
    await insert("last instant of the month before", monthStart - 1, 1_000);
    await insert("long before", monthStart - 100 * DAY_MS, 10_000);
    const nano = async (period: string) => {
      const { total_usd, previous_total_usd } = await world.ok("GET", `/api/cost?period=${period}`);
      return [Math.round(total_usd * 1e9), Math.round(previous_total_usd * 1e9)];
    };
    const instants: [number, number][] = [
      [day, 1],
      [day - 1, 10],
      [monthStart, 100],
      [monthStart - 1, 1_000],
    ];
    const within = (from: number, to: number) =>
      instants.filter(([at]) => at >= from && at < to).reduce((sum, [, n]) => sum + n, 0);
    expect(await nano("day")).toEqual([within(day, day + DAY_MS), within(day - DAY_MS, day)]);
    const monday = day - ((new Date(day).getUTCDay() + 6) % 7) * DAY_MS;
    expect(await nano("week")).toEqual([within(monday, monday + 7 * DAY_MS), within(monday - 7 * DAY_MS, monday)]);
    const before = Date.UTC(new Date(monthStart - 1).getUTCFullYear(), new Date(monthStart - 1).getUTCMonth(), 1);
    expect(await nano("month")).toEqual([within(monthStart, monthStart + 32 * DAY_MS), within(before, monthStart)]);
    expect((await world.ok("GET", "/api/cost?period=week")).series).toHaveLength(7);
    expect((await world.get("/api/cost?period=year")).status).toBe(400);
    expect((await (await world.withKey("worker")).get("/api/cost")).status).toBe(403);
    expect((await (await world.withKey("standard")).get("/api/cost/providers")).status).toBe(200);
  });
});

describe("where a cost is known from", () => {
  const sourceOf = async (world: World, id: string) =>
    env.DB.prepare("SELECT source, nano_usd, price FROM attempts WHERE tenant = ?1 AND job_id = ?2")
      .bind(world.tenant, id)
      .first<{ source: string; nano_usd: number | null; price: string | null }>();

  it("is the report, else config, else catalog, else the table, else 0 for a local runtime, else unknown", async () => {
    const world = await newWorld();
    for (const provider of ["openai", "echo", "mystery"]) await worker(world, provider);
    const tokens = { usage: usage(1_000_000, 1_000_000) };
    const table = await run(world, "openai", tokens, "gpt-4o");
    expect(table.cost_usd).toBeGreaterThan(0);
    await world.stub.learnCatalog({
      provider: "openai",
      models: [{ id: "gpt-4o", price: { input_nano_per_mtok: 3_000_000_000, output_nano_per_mtok: 1_000_000_000 } }],
    });
    const catalog = await run(world, "openai", tokens, "gpt-4o");
    expect(catalog.cost_usd).toBe(4);
    await world.ok("PUT", "/config", {
      providers: { openai: { pricing: { "*": { input_per_mtok: 1, output_per_mtok: 2, per_request: 0.5 } } } },
    });
    const config = await run(world, "openai", tokens, "gpt-4o");
    expect(config.cost_usd).toBe(3.5);
    const reported = await run(world, "openai", { ...tokens, cost_usd: 0 }, "gpt-4o");
    expect(reported.cost_usd).toBe(0);
    const local = await run(world, "echo", tokens);
    expect(local.cost_usd).toBe(0);
    const unknown = await run(world, "mystery", tokens);
    expect(unknown.cost_usd).toBeNull();
    expect(await world.ok("GET", "/api/cost")).toMatchObject({ jobs: 6, unpriced_jobs: 1 });
    expect((await sourceOf(world, table.id))?.source).toBe("table");
    expect((await sourceOf(world, catalog.id))?.source).toBe("catalog");
    expect(await sourceOf(world, config.id)).toMatchObject({
      source: "config",
      nano_usd: 3_500_000_000,
      price: expect.stringContaining("2000000000"),
    });
    expect((await sourceOf(world, reported.id))?.source).toBe("reported");
    expect((await sourceOf(world, local.id))?.source).toBe("local");
    expect(await sourceOf(world, unknown.id)).toMatchObject({ source: "unknown", nano_usd: null });
    await world.ok("PUT", "/config", {});
    expect((await world.ok("GET", `/api/jobs/${config.id}`)).cost_usd).toBe(3.5);
  });

  it("is that of the name that was asked for, where the provider answers with another that has none", async () => {
    const world = await newWorld();
    await worker(world, "mystery");
    const price = (usd: number) => ({ input_per_mtok: usd });
    const pricing = { m: price(1), "m-2026-01-01": price(2), "*": price(4) };
    await world.ok("PUT", "/config", { providers: { mystery: { pricing } } });
    const costOf = async (model: string) =>
      (await run(world, "mystery", { usage: usage(1_000_000, 0), model }, "m")).cost_usd;
    expect(await costOf("m-2027-01-01")).toBe(1);
    expect(await costOf("m-2026-01-01")).toBe(2);
    await world.stub.learnCatalog({
      provider: "mystery",
      models: [{ id: "m", price: { input_nano_per_mtok: 8_000_000_000, output_nano_per_mtok: 0 } }],
    });
    await world.ok("PUT", "/config", {});
    expect(await costOf("m-2027-01-01")).toBe(8);
  });

  it("charges cached input at its own price", async () => {
    const world = await newWorld();
    await worker(world, "openai");
    await world.ok("PUT", "/config", {
      providers: { openai: { pricing: { m: { input_per_mtok: 10, cached_input_per_mtok: 1, output_per_mtok: 0 } } } },
    });
    const job = await run(world, "openai", { usage: usage(1000, 0, { cached_input_tokens: 400 }) }, "m");
    expect(job.cost_usd).toBe(0.0064);
  });

  it("charges a quarter more for what is written to a cache, and twice as much where it is kept for an hour", async () => {
    const world = await newWorld();
    await worker(world, "anthropic");
    await world.ok("PUT", "/config", {
      providers: { anthropic: { pricing: { m: { input_per_mtok: 10, output_per_mtok: 0 } } } },
    });
    const written = { cache_write_tokens: 600, cache_write_1h_tokens: 200 };
    const job = await run(world, "anthropic", { usage: usage(1000, 0, written) }, "m");
    expect(job.cost_usd).toBe(0.013);
    expect(job.usage).toEqual({ input_tokens: 1000, output_tokens: 0 });
  });

  it("refuses nonsense", async () => {
    const world = await newWorld();
    await worker(world, "openai");
    const job = await world.ok("POST", "/dispatch", { prompt: "x" });
    for (const report of [
      { cost_usd: -1 },
      { cost_usd: "1" },
      { usage: { input_tokens: -1, output_tokens: 0 } },
      { usage: { input_tokens: 1.5, output_tokens: 0 } },
    ]) {
      expect((await world.post(`/api/jobs/${job.id}/complete`, { lease: 1, result: 1, ...report })).status).toBe(400);
    }
  });
});

describe("a model with a name that every object has", () => {
  it.each(["constructor", "toString", "__proto__", "hasOwnProperty"])("%s is priced like any other", async (model) => {
    const world = await newWorld();
    await worker(world, "openai");
    const price = { input_nano_per_mtok: 1_000_000_000, output_nano_per_mtok: 0 };
    await world.stub.learnCatalog({ provider: "openai", models: [{ id: "listed", price }] });
    const unlisted = await run(world, "openai", { usage: usage(1_000_000, 0) }, model);
    expect(unlisted).toMatchObject({ status: "completed", cost_usd: null });
    expect((await world.ok("GET", `/dispatch/explain?model=${model}`)).workers[0].score).toBeTypeOf("number");
    await world.stub.learnCatalog({ provider: "openai", models: [{ id: model, price }] });
    await evictDurableObject(world.stub);
    expect(await run(world, "openai", { usage: usage(1_000_000, 0) }, model)).toMatchObject({ cost_usd: 1 });
  });
});

describe("a catalog of more than a database row holds", () => {
  it("is kept, and priced from, after the object slept", async () => {
    const world = await newWorld();
    await worker(world, "openai");
    const price = { input_nano_per_mtok: 1_000_000_000, output_nano_per_mtok: 0 };
    const models = Array.from({ length: 15_000 }, (_, at) => ({ id: `${"m".repeat(100)}-${at}`, price }));
    await world.stub.learnCatalog({ provider: "openai", models });
    await evictDurableObject(world.stub);
    const job = await run(world, "openai", { usage: usage(1_000_000, 0) }, models[14_999]?.id);
    expect(job).toMatchObject({ cost_usd: 1 });
  });
});

describe("an attempt that ended before it could report", () => {
  const overdue = async (world: World, id: string, instant: "startedAt" | "heartbeatAt"): Promise<void> => {
    await ageJob(world, id, 3_600_000, [instant]);
    const isRunning = async () => {
      await alarm(world);
      return (await world.ok("GET", `/api/jobs/${id}`)).status === "running";
    };
    await expect.poll(isRunning).toBe(false);
  };
  const endings = {
    "timed out": (world: World, id: string) => overdue(world, id, "startedAt"),
    "taken for abandoned": (world: World, id: string) => overdue(world, id, "heartbeatAt"),
    cancelled: (world: World, id: string) => world.ok("POST", `/api/jobs/${id}/cancel`),
    halted: (world: World) => world.ok("POST", "/killswitch", { level: 1, reason: "drill" }),
    "given back": (world: World, id: string) =>
      world.ok("POST", `/api/jobs/${id}/release`, { lease: 1, reason: "shutting down" }),
    "halted at level 4": (world: World) => world.ok("POST", "/killswitch", { level: 4, reason: "drill" }),
  };

  it.each(Object.entries(endings))("because it was %s gets its 409, and what it spent counts, once", async (_, end) => {
    const world = await newWorld();
    await worker(world, "openai");
    await world.ok("PUT", "/config", { budget: { day_usd: 10 } });
    const job = await world.ok("POST", "/dispatch", { prompt: "x" });
    await world.ok("POST", `/api/jobs/${job.id}/start`, { lease: 1 });
    await end(world, job.id);
    for (let times = 0; times < 2; times += 1) {
      const late = await world.post(`/api/jobs/${job.id}/complete`, { lease: 1, result: "ok", cost_usd: 10 });
      expect([late.status, late.body.code]).toEqual([409, "lease_lost"]);
    }
    const cost = await world.ok("GET", "/api/cost");
    expect(cost).toMatchObject({ total_usd: 10, jobs: 1, budget: { reached: true } });
    expect((await world.ok("GET", "/api/cost/providers")).providers[0]).toMatchObject({ provider: "openai", usd: 10 });
    // A job that goes on has cost nothing so far but in sums; one that has ended shows it.
    const shown = await world.ok("GET", `/api/jobs/${job.id}`);
    expect(shown.cost_usd).toBe(/cancelled|failed/.test(shown.status) ? 10 : null);
  });

  it("is told why: the job's state, where its lease is the last one", async () => {
    const world = await newWorld();
    await worker(world, "openai");
    const job = await world.ok("POST", "/dispatch", { prompt: "x" });
    await world.ok("POST", `/api/jobs/${job.id}/cancel`);
    const late = await world.post(`/api/jobs/${job.id}/complete`, { lease: 1, result: "ok" });
    expect(late.body.detail).toBe(`lease 1 of job ${job.id} is over (the job is cancelled): drop the work`);
    expect((await world.ok("GET", "/api/cost")).jobs).toBe(0);
  });
});

describe("a job of unknown cost", () => {
  it("counts as one, however many of its attempts nobody can price", async () => {
    const world = await newWorld();
    await worker(world, "nobody-knows");
    const job = await world.ok("POST", "/dispatch", { prompt: "x" });
    await world.ok("POST", `/api/jobs/${job.id}/fail`, {
      lease: 1,
      error: { code: "bad_request", message: "x", retryable: false },
      usage: usage(1, 1),
    });
    await world.ok("POST", `/api/jobs/${job.id}/retry`);
    await world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: 2, result: 1, usage: usage(1, 1) });
    expect(await world.ok("GET", "/api/cost")).toMatchObject({ jobs: 1, unpriced_jobs: 1 });
  });
});
