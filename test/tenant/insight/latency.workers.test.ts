// GET /api/latency: what completed attempts waited and took, by what ran them, over rolling periods.

import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { newWorld, restart, type World } from "../../support/workerd/client.ts";
import { age, dispatch, present } from "../../support/workerd/job-steps.ts";

const done = async (world: World, fields: Record<string, unknown> = {}, report: object = {}): Promise<void> => {
  const job = await dispatch(world, fields);
  await world.ok("POST", `/api/jobs/${job.id}/start`, { lease: job.lease });
  await age(world, job, 20);
  await world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: job.lease, result: "r", ...report });
};

describe("latency", () => {
  it("is of completed attempts, by model, provider, worker and tag", async () => {
    const world = await newWorld();
    await present(world, "w", { tags: "gpu,eu", models: ["m"] });
    const usage = { input_tokens: 5, output_tokens: 400 };
    await done(world, { model: "m", tags: ["gpu"] }, { usage, first_token_ms: 2_000 });
    await done(world, { model: "m" });
    const failed = await dispatch(world, { model: "m" });
    await world.ok("POST", `/api/jobs/${failed.id}/fail`, { lease: failed.lease, error: { code: "x", message: "y" } });
    const byModel = await world.ok("GET", "/api/latency?by=model&period=1h");
    expect(byModel).toMatchObject({ by: "model", period: "1h", rows: [{ value: "m", jobs: 2 }], total: { jobs: 2 } });
    const [row] = byModel.rows;
    expect(row.run_ms.count).toBe(2);
    expect(row.run_ms.p50).toBeGreaterThan(18_000);
    expect(row.run_ms.p50).toBeLessThan(25_000);
    expect(row.first_token_ms).toMatchObject({ count: 1 });
    expect(row.tokens_per_second.p50).toBeGreaterThan(15);
    expect(row.tokens_per_second.p50).toBeLessThan(23);
    expect(byModel.series).toHaveLength(1);
    expect(byModel.series[0].jobs).toBe(2);
    const values = async (by: string) =>
      (await world.ok("GET", `/api/latency?by=${by}&period=30d`)).rows.map(({ value, jobs }: Row) => [value, jobs]);
    expect(await values("worker")).toEqual([["w", 2]]);
    expect(await values("provider")).toEqual([["openai", 2]]);
    expect(await values("tag")).toEqual([["gpu", 1]]);
  });

  it("is empty where nothing has run, and refuses what it does not know", async () => {
    const world = await newWorld();
    const none = { count: 0, p50: null, p95: null, p99: null };
    expect(await world.ok("GET", "/api/latency")).toMatchObject({
      by: "model",
      period: "24h",
      rows: [],
      series: [],
      total: { jobs: 0, queue_wait_ms: none },
    });
    expect((await world.get("/api/latency?by=colour")).status).toBe(400);
    const viewer = await world.withKey("viewer");
    expect((await viewer.get("/api/latency")).status).toBe(200);
    const worker = await world.withKey("worker");
    expect((await worker.get("/api/latency")).status).toBe(403);
  });

  it.each(["1h", "24h", "7d", "30d"])("covers the same %s as what happened does", async (period) => {
    const world = await newWorld();
    const fromOf = async (path: string) => (await world.ok("GET", `${path}?period=${period}`)).from;
    const before = await fromOf("/api/activity");
    const from = await fromOf("/api/latency");
    // A step may begin between the two.
    expect([before, await fromOf("/api/activity")]).toContain(from);
  });

  it("survives a restart, once history has what it is of", async () => {
    const world = await newWorld();
    await present(world);
    await done(world);
    await world.ok("GET", "/api/jobs");
    await restart(world);
    expect((await world.ok("GET", "/api/latency?by=worker")).total.jobs).toBe(1);
  });

  it("forgets slots that no period shows", async () => {
    const world = await newWorld();
    await present(world);
    await done(world);
    await world.ok("GET", "/api/jobs");
    await runInDurableObject(world.stub, (_tenant, { storage }) => {
      storage.sql.exec("UPDATE latency SET at = at - 40 * 86400000");
    });
    await restart(world);
    await done(world);
    expect((await world.ok("GET", "/api/latency?period=30d")).total.jobs).toBe(1);
  });
});

interface Row {
  readonly value: string;
  readonly jobs: number;
}
