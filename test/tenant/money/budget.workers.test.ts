// Budgets: they apply from the next turn on, close what costs money, and engage the killswitch if configured.

import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { alarm, type Body, inStorage, newWorld, type World } from "../../support/workerd/client.ts";
import { run, worker } from "../../support/workerd/spending.ts";

const DAY_MS = 86_400_000;

describe("a budget that rejects", () => {
  const spend = async (world: World, config: Record<string, unknown>) => {
    await worker(world, "openai");
    await world.ok("PUT", "/config", { budget: config });
    return run(world, "openai", { cost_usd: 1 });
  };

  it("refuses dispatch with 503 until its period ends, and says when", async () => {
    const world = await newWorld();
    await spend(world, { day_usd: 1.5 });
    expect((await world.post("/dispatch", { prompt: "x" })).status).toBe(200);
    await run(world, "openai", { cost_usd: 0.5 });
    const refused = await world.post("/dispatch", { prompt: "x" });
    expect(refused).toMatchObject({ status: 503, body: { code: "budget_reached", title: "Budget reached" } });
    expect(refused.body.detail).toContain("$1.5");
    const retryAfter = Number(refused.headers.get("retry-after"));
    expect(retryAfter).toBeGreaterThan(0);
    expect(retryAfter).toBeLessThanOrEqual(DAY_MS / 1000);
    expect((await world.post("/dispatch?queue=true", { prompt: "x" })).status).toBe(503);
    await evictDurableObject(world.stub);
    expect((await world.post("/dispatch", { prompt: "x" })).status).toBe(503);
  });

  it("has left to the nano-dollar what is not spent", async () => {
    const world = await newWorld();
    await spend(world, { month_usd: 1.1 });
    expect((await world.get("/metrics")).text).toMatch(/^signalbox_budget_left_usd\{.*period="month"\} 0\.1$/m);
  });

  it("lets jobs queue, gives none of them out, says why, and goes on when it is raised", async () => {
    const world = await newWorld();
    await spend(world, { month_usd: 1 });
    const job = await world.post("/api/jobs", { prompt: "x" });
    expect(job).toMatchObject({ status: 201, body: { status: "pending" } });
    expect(await world.ok("GET", `/api/jobs/${job.body.id}`)).toMatchObject({
      status: "pending",
      waiting_reason: expect.stringMatching(/^the month's budget of \$1\.00 is reached/),
    });
    const explained = await world.ok("GET", "/dispatch/explain");
    expect(explained.selected).toBeNull();
    expect(explained.workers[0].reasons[0]).toContain("budget");
    await world.ok("PUT", "/config", { budget: { month_usd: 2 } });
    expect(await world.ok("GET", `/api/jobs/${job.body.id}`)).toMatchObject({ status: "assigned" });
  });

  it("resets by itself with the day, and the queue goes on", async () => {
    const world = await newWorld();
    await spend(world, { day_usd: 1 });
    const job = await world.ok("POST", "/api/jobs", { prompt: "x" });
    await inStorage(world, (storage) => {
      storage.sql.exec("UPDATE spending SET day_at = day_at - ?", DAY_MS);
      storage.sql.exec(
        "UPDATE settings SET value = json_set(value, '$[0].resetsAt', ?) WHERE name = 'budget_notices'",
        Date.now(),
      );
    });
    await evictDurableObject(world.stub);
    await alarm(world);
    expect(await world.ok("GET", `/api/jobs/${job.id}`)).toMatchObject({ status: "assigned" });
    expect((await world.ok("GET", "/api/audit")).entries[0]).toMatchObject({ action: "budget.lifted", target: "day" });
  });

  it("keeps sums of spending for 62 days, and deletes older ones though nobody has signed in", async () => {
    const world = await newWorld();
    await world.ok("POST", "/presence", { instance: "w", provider: "p", status: "idle", tags: "" });
    const days = [200, 63, 61, 1].map((days) => Date.now() - days * DAY_MS);
    await inStorage(world, (storage) => {
      for (const at of days) {
        storage.sql.exec("INSERT INTO spending (day_at, provider, nano_usd) VALUES (?, 'p', 1)", at);
        storage.sql.exec("INSERT INTO key_spending (key_id, day_at, nano_usd) VALUES ('k', ?, 1)", at);
      }
    });
    await alarm(world);
    const kept = (table: string) =>
      inStorage(world, ({ sql }) =>
        sql
          .exec(`SELECT day_at FROM ${table} ORDER BY day_at`)
          .toArray()
          .map((row) => row.day_at),
      );
    expect([await kept("spending"), await kept("key_spending")]).toEqual([days.slice(2), days.slice(2)]);
  });

  it("is written down once, and skips schedules with that reason", async () => {
    const world = await newWorld();
    await world.ok("POST", "/api/schedules", { name: "s", interval: "1h", prompt: "x" });
    await worker(world, "openai");
    await world.ok("PUT", "/config", { budget: { day_usd: 1 } });
    const jobs = await Promise.all([1, 2, 3].map(() => world.ok("POST", "/dispatch", { prompt: "x" })));
    for (const job of jobs)
      await world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: 1, result: 1, cost_usd: 1 });
    const reached = (await world.ok("GET", "/api/audit")).entries.filter(
      (entry: Body) => entry.action === "budget.reached",
    );
    expect(reached).toHaveLength(1);
    expect(reached[0]).toMatchObject({
      actor: { key_id: null, name: "signalbox" },
      target: "day",
      detail: { limit_usd: 1, spent_usd: 1, on_reached: "reject" },
    });
    expect(await world.ok("POST", "/api/schedules/s/run")).toMatchObject({
      outcome: "skipped",
      reason: expect.stringContaining("budget"),
      job_id: null,
    });
    expect((await world.ok("GET", "/api/schedules/s")).last_run_at).toBeNull();
    expect((await world.ok("GET", "/killswitch")).level).toBe(0);
  });
});

describe("a budget that engages the killswitch", () => {
  const overspent = async () => {
    const world = await newWorld();
    await worker(world, "openai");
    await world.ok("PUT", "/config", { budget: { day_usd: 1, on_reached: "killswitch" } });
    const running = await world.ok("POST", "/dispatch", { prompt: "other" });
    const last = await run(world, "openai", { cost_usd: 1 });
    return { world, running, last };
  };

  it("halts everything in the turn that reaches it, once, and says so", async () => {
    const { world, running, last } = await overspent();
    expect(await world.ok("GET", "/killswitch")).toMatchObject({
      level: 1,
      active: true,
      activated_by: "signalbox",
      halted_jobs: 1,
      reason: expect.stringMatching(/^the day's budget of \$1\.00 is reached/),
    });
    expect(last.status).toBe("completed");
    expect(await world.ok("GET", `/api/jobs/${last.id}`)).toMatchObject({ status: "completed", cost_usd: 1 });
    expect(await world.ok("GET", `/api/jobs/${running.id}`)).toMatchObject({ status: "pending", attempts: 0 });
    expect((await world.post("/dispatch", { prompt: "x" })).body.code).toBe("killswitch_active");
    const { entries } = await world.ok("GET", "/api/audit");
    expect(
      entries
        .slice(0, 2)
        .map((entry: Body) => [entry.action, entry.actor.name])
        .sort(),
    ).toEqual([
      ["budget.reached", "signalbox"],
      ["killswitch.activated", "signalbox"],
    ]);
  });

  it("is reached by what a failed attempt cost, too, and by a report that comes too late", async () => {
    for (const isLate of [false, true]) {
      const world = await newWorld();
      await worker(world, "openai");
      await world.ok("PUT", "/config", { budget: { day_usd: 1, on_reached: "killswitch" } });
      const { id, lease } = await world.ok("POST", "/dispatch", { prompt: "x", max_attempts: 1 });
      if (isLate) await world.ok("POST", `/api/jobs/${id}/cancel`);
      const error = { code: "boom", message: "it broke" };
      const { status } = await world.post(`/api/jobs/${id}/fail`, { lease, error, cost_usd: 1 });
      expect(status).toBe(isLate ? 409 : 200);
      expect(await world.ok("GET", "/killswitch")).toMatchObject({ level: 1, activated_by: "signalbox" });
    }
  });

  it("holds for as long as the budget is reached: again after a clear, and no more once the budget is raised", async () => {
    const { world } = await overspent();
    expect(await world.ok("DELETE", "/killswitch?resume_all=true")).toMatchObject({
      level: 1,
      reason: expect.stringMatching(/^the day's budget of \$1\.00 is reached/),
    });
    expect((await world.post("/dispatch", { prompt: "x" })).body.code).toBe("killswitch_active");
    await world.ok("PUT", "/config", { budget: { day_usd: 3, on_reached: "killswitch" } });
    expect(await world.ok("DELETE", "/killswitch?resume_all=true")).toMatchObject({ level: 0 });
    expect((await world.post("/dispatch", { prompt: "x" })).status).toBe(200);
  });

  it("is acted on when the action changes after it was reached", async () => {
    const world = await newWorld();
    await worker(world, "openai");
    await world.ok("PUT", "/config", { budget: { day_usd: 1 } });
    await run(world, "openai", { cost_usd: 1 });
    expect((await world.ok("GET", "/killswitch")).level).toBe(0);
    await world.ok("PUT", "/config", { budget: { day_usd: 1, on_reached: "killswitch" } });
    expect((await world.ok("GET", "/killswitch")).level).toBe(1);
  });

  it("is acted on when it was reached under a killswitch that a hand has thrown and cleared since", async () => {
    const world = await newWorld();
    await worker(world, "openai");
    await world.ok("PUT", "/config", { budget: { day_usd: 1, on_reached: "killswitch" } });
    await run(world, "openai", { cost_usd: 0.5 });
    await world.ok("POST", "/killswitch", { level: 2, reason: "drill" });
    await world.ok("PUT", "/config", { budget: { day_usd: 0.5, on_reached: "killswitch" } });
    expect(await world.ok("GET", "/killswitch")).toMatchObject({ level: 2, reason: "drill" });
    expect(await world.ok("DELETE", "/killswitch")).toMatchObject({ level: 1, activated_by: "signalbox" });
  });

  it("does not lower a killswitch that is already higher", async () => {
    const world = await newWorld();
    await worker(world, "openai");
    await run(world, "openai", { cost_usd: 1 });
    await world.ok("POST", "/killswitch", { level: 3, reason: "drill" });
    await world.ok("PUT", "/config", { budget: { day_usd: 1, on_reached: "killswitch" } });
    expect(await world.ok("GET", "/killswitch")).toMatchObject({ level: 3, reason: "drill" });
  });

  it("acts at once when the config lowers it below what is spent", async () => {
    const world = await newWorld();
    await worker(world, "openai");
    await run(world, "openai", { cost_usd: 1 });
    await world.ok("PUT", "/config", { budget: { month_usd: 0.5, on_reached: "killswitch" } });
    expect(await world.ok("GET", "/killswitch")).toMatchObject({ level: 1, activated_by: "signalbox" });
  });
});

describe("a reached budget", () => {
  const reached = async (config: Record<string, unknown>) => {
    const world = await newWorld();
    await worker(world, "openai");
    await worker(world, "ollama");
    await world.ok("PUT", "/config", config);
    await run(world, "openai", { cost_usd: 1 });
    return world;
  };

  it("closes the providers that cost something, and a local runtime goes on", async () => {
    const world = await reached({ budget: { day_usd: 1 } });
    expect(await world.post("/dispatch", { prompt: "x", provider: "openai" })).toMatchObject({
      status: 503,
      body: { code: "budget_reached" },
    });
    const dispatched = await world.post("/dispatch", { prompt: "x" });
    expect(dispatched).toMatchObject({ status: 200, body: { assigned_worker: "w-ollama" } });
    expect(await world.ok("POST", "/api/jobs", { prompt: "x", provider: "ollama" })).toMatchObject({
      waiting_reason: expect.stringContaining("about to be assigned"),
    });
  });

  it("closes a local runtime that is paid for: by its price, or because it has cost something", async () => {
    const priced = await reached({
      budget: { day_usd: 1 },
      providers: { ollama: { pricing: { "*": { input_per_mtok: 1 } } } },
    });
    expect((await priced.post("/dispatch", { prompt: "x", provider: "ollama" })).body.code).toBe("budget_reached");
    const spent = await reached({ budget: { day_usd: 1.5 } });
    await run(spent, "ollama", { cost_usd: 0.5 });
    expect((await spent.post("/dispatch", { prompt: "x", provider: "ollama" })).body.code).toBe("budget_reached");
  });

  it("lets a schedule of a local runtime run, and skips that of a closed provider", async () => {
    const world = await reached({ budget: { day_usd: 1 } });
    for (const provider of ["ollama", "openai"])
      await world.ok("POST", "/api/schedules", { name: provider, interval: "1h", prompt: "x", provider });
    expect(await world.ok("POST", "/api/schedules/ollama/run")).toMatchObject({ outcome: "created" });
    expect(await world.ok("POST", "/api/schedules/openai/run")).toMatchObject({ outcome: "skipped" });
  });

  it("of one provider closes that one alone, says so, and opens it when it is raised", async () => {
    const world = await reached({ providers: { openai: { budget: { day_usd: 1 } } } });
    await worker(world, "anthropic");
    const refused = await world.post("/dispatch", { prompt: "x", provider: "openai" });
    expect(refused).toMatchObject({ status: 503, body: { code: "budget_reached" } });
    expect(refused.body.detail).toContain("the day's budget of $1.00 for openai is reached ($1.00 spent)");
    expect((await world.post("/dispatch", { prompt: "x", provider: "anthropic" })).status).toBe(200);
    expect((await world.ok("GET", "/api/audit")).entries[0]).toMatchObject({
      action: "budget.reached",
      target: "openai day",
    });
    const waiting = await world.ok("POST", "/api/jobs", { prompt: "x", provider: "openai" });
    await evictDurableObject(world.stub);
    expect((await world.ok("GET", `/api/jobs/${waiting.id}`)).waiting_reason).toContain("for openai is reached");
    await world.ok("PUT", "/config", { providers: { openai: { budget: { day_usd: 2 } } } });
    expect((await world.ok("GET", `/api/jobs/${waiting.id}`)).status).toBe("assigned");
    expect((await world.ok("GET", "/config")).providers.openai.budget).toEqual({ day_usd: 2, month_usd: null });
  });

  it("stands in the cost answers, with what is spent of it and when it is reached at this pace", async () => {
    const world = await newWorld();
    await worker(world, "openai");
    expect((await world.ok("GET", "/api/cost")).budget).toEqual({
      day_usd: null,
      month_usd: null,
      day_spent_usd: 0,
      month_spent_usd: 0,
      reached: false,
      reached_at_pace: null,
    });
    await world.ok("PUT", "/config", { budget: { day_usd: 1000, month_usd: 5000 } });
    await run(world, "openai", { cost_usd: 999.5 });
    for (const path of ["/api/cost", "/api/cost/providers"]) {
      const { budget } = await world.ok("GET", path);
      expect(budget).toMatchObject({ day_usd: 1000, month_usd: 5000, day_spent_usd: 999.5, reached: false });
      expect(Date.parse(budget.reached_at_pace)).toBeGreaterThan(Date.now() - 60_000);
    }
    await run(world, "openai", { cost_usd: 0.5 });
    expect((await world.ok("GET", "/api/cost")).budget).toMatchObject({ reached: true, reached_at_pace: null });
  });

  it("the cost answers name each provider's budget, reached ones first", async () => {
    const world = await newWorld();
    await worker(world, "openai");
    const providers = { anthropic: { budget: { month_usd: 5 } }, openai: { budget: { day_usd: 1 } }, mistral: {} };
    await world.ok("PUT", "/config", { providers });
    await run(world, "openai", { cost_usd: 1 });
    for (const path of ["/api/cost", "/api/cost/providers", "/api/cost/by/model"]) {
      expect((await world.ok("GET", path)).provider_budgets).toEqual([
        {
          provider: "openai",
          day_usd: 1,
          month_usd: null,
          day_spent_usd: 1,
          month_spent_usd: 1,
          reached: true,
          reached_at_pace: null,
        },
        expect.objectContaining({ provider: "anthropic", month_usd: 5, month_spent_usd: 0, reached: false }),
      ]);
    }
  });
});
