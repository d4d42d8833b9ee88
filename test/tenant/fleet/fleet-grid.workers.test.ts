// GET /api/fleet and GET /api/workers/<instance>/activity: the whole fleet in one answer, and what one worker did.

import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { TenantHistory } from "../../../src/history/tenant-history.ts";
import { readWorkerActivity } from "../../../src/history/worker-activity.ts";
import { inStorage, newWorld } from "../../support/workerd/client.ts";
import { dispatch, present } from "../../support/workerd/job-steps.ts";

const gpu = (used: number) => ({ name: "A100", total_mb: 80_000, used_mb: used });
const hardware = (...used: number[]) => ({ gpus: used.map(gpu), ram_mb: 1_000, ram_free_mb: 500 });

describe("the fleet's grid", () => {
  it("has a few columns for each worker, with GPU memory where it is known", async () => {
    const world = await newWorld();
    await present(world, "a", { tags: "region:eu", concurrency: 2, hardware: hardware(10_000, 5_000) });
    await present(world, "b", { tags: "region:eu" });
    await present(world, "c", { unavailable: "its runtime is away" });
    await world.ok("POST", "/api/workers/b/pause");
    const grid = await world.ok("GET", "/api/fleet?by=region");
    expect(grid).toMatchObject({ by: "region", total: 3, states: { idle: 1, paused: 1, unavailable: 1, busy: 0 } });
    expect(grid.groups).toEqual([
      {
        value: "eu",
        workers: 2,
        instances: ["a", "b"],
        states: ["idle", "paused"],
        loads: [0, 0],
        places: [2, expect.any(Number)],
        gpu_used_mb: [15_000, null],
        gpu_total_mb: [160_000, null],
      },
      expect.objectContaining({ value: "", instances: ["c"], states: ["unavailable"] }),
    ]);
    expect((await world.ok("GET", "/api/fleet?state=paused")).groups[0].instances).toEqual(["b"]);
    expect((await world.ok("GET", "/api/fleet?q=none-such")).groups).toEqual([]);
    expect((await world.get("/api/fleet?by=colour")).status).toBe(400);
    expect((await world.get("/api/fleet?limit=3")).status).toBe(400);
    expect((await (await world.withKey("viewer")).get("/api/fleet")).status).toBe(200);
    expect((await (await world.withKey("worker")).get("/api/fleet")).status).toBe(403);
  });

  it("reads no machine's report for it, which may have 64 KiB, but has its GPU memory also after waking", async () => {
    const world = await newWorld();
    await present(world, "a", { hardware: hardware(10_000, 5_000) });
    await present(world, "b", { hardware: hardware() });
    await evictDurableObject(world.stub);
    await world.ok("GET", "/api/workers");
    await inStorage(world, (storage) => storage.sql.exec("DELETE FROM worker_machines"));
    const { groups } = await world.ok("GET", "/api/fleet");
    expect(groups).toMatchObject([{ gpu_used_mb: [15_000, null], gpu_total_mb: [160_000, null] }]);
  });
});

describe("a worker's jobs", () => {
  it("are shown without long values, none of which is read", async () => {
    const world = await newWorld();
    await present(world, "w", { concurrency: 3 });
    await dispatch(world, { prompt: "p".repeat(5_000), input: { system: "語".repeat(1_000) } });
    await dispatch(world, { prompt: "p".repeat(4_096), input: { system: "s".repeat(5_000) } });
    await inStorage(world, (storage) =>
      storage.sql.exec("UPDATE payloads SET input = 'no JSON' || input WHERE length(input) > 4096"),
    );
    const { jobs } = await world.ok("GET", "/api/workers/w");
    expect(jobs).toEqual([
      expect.objectContaining({
        prompt: "p".repeat(4_096),
        input: { system: "語".repeat(1_000) },
        truncated: ["prompt"],
      }),
      expect.objectContaining({ prompt: "p".repeat(4_096), input: null, truncated: ["input"] }),
    ]);
  });
});

describe("a worker's activity", () => {
  it("is what it completed, failed, cost and served, and when it was paused", async () => {
    const world = await newWorld();
    await present(world, "w", { concurrency: 3 });
    const end = async (verb: string, report: object): Promise<void> => {
      const job = await dispatch(world);
      await world.ok("POST", `/api/jobs/${job.id}/start`, { lease: job.lease });
      await world.ok("POST", `/api/jobs/${job.id}/${verb}`, { lease: job.lease, ...report });
    };
    await end("complete", { result: "r", cost_usd: 0.5, model: "m" });
    await end("fail", { error: { code: "x", message: "y" } });
    await world.ok("POST", "/api/workers/w/pause");
    await world.ok("POST", "/api/workers/w/resume");
    await present(world, "other");
    await world.ok("POST", "/api/workers/other/pause");
    const found = await world.ok("GET", "/api/workers/w/activity?period=1h");
    expect(found).toMatchObject({ period: "1h", is_whole: true, total: { completed: 1, failed: 1, usd: 0.5 } });
    expect(found.total.p95_ms).toBeGreaterThanOrEqual(0);
    expect(found.series).toHaveLength(12);
    expect(found.series.at(-1)).toMatchObject({ completed: 1, failed: 1 });
    expect(found.served[0]).toMatchObject({ provider: "openai" });
    expect(found.marks.map(({ kind, target }: { kind: string; target: string }) => [kind, target])).toEqual([
      ["pause", "w"],
      ["resume", "w"],
    ]);
    expect((await world.get("/api/workers/nobody/activity")).status).toBe(404);
    expect((await world.ok("GET", "/api/workers/w/activity?period=30d")).total.completed).toBe(1);
  });

  it("has what all attempts of its jobs cost on it, as the cost by worker has it", async () => {
    const world = await newWorld();
    await present(world, "w", { concurrency: 3 });
    const { id, lease } = await dispatch(world);
    const error = { code: "x", message: "y" };
    await world.ok("POST", `/api/jobs/${id}/fail`, { lease, error, cost_usd: 0.25 });
    await world.ok("POST", `/api/jobs/${id}/retry`);
    const again = await world.ok("GET", `/api/jobs/${id}`);
    await world.ok("POST", `/api/jobs/${id}/complete`, { lease: again.lease, result: "r", cost_usd: 0.5 });
    const { total, series, served } = await world.ok("GET", "/api/workers/w/activity?period=1h");
    const { rows } = await world.ok("GET", "/api/cost/by/worker");
    expect([total.usd, series.at(-1).usd, served[0].usd, rows[0].usd]).toEqual([0.75, 0.75, 0.75, 0.75]);
  });

  it("of many jobs is read in short statements, each of which goes on where the one before it ended", async () => {
    const world = await newWorld();
    await present(world, "w");
    await env.DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < 2500)
       INSERT INTO jobs (tenant, id, version, status, worker, labels, created_at, finished_at, record)
       SELECT ?1, format('%08d', i), 1, iif(i % 5, 'completed', 'failed'), 'w', '[]', ?2 + i, ?2 + i, '{"at":[null,0]}' FROM n`,
    )
      .bind(world.tenant, Date.now() - 600_000)
      .run();
    const returned: number[] = [];
    const counted = (statement: D1PreparedStatement): D1PreparedStatement =>
      ({
        bind: (...values: unknown[]) => counted(statement.bind(...values)),
        all: async () => {
          const answer = await statement.all();
          returned.push(answer.results.length);
          return answer;
        },
      }) as unknown as D1PreparedStatement;
    const db = { prepare: (sql: string) => counted(env.DB.prepare(sql)) } as unknown as D1Database;
    const { total, is_whole } = await readWorkerActivity(new TenantHistory(db, world.tenant), "w", "1h", Date.now());
    expect({ total, is_whole }).toMatchObject({ total: { completed: 2_000, failed: 500 }, is_whole: true });
    expect(returned.filter((rows) => rows > 0)).toEqual([1_000, 1_000, 500]);
  });

  it("has the jobs that waited or ran into the period, though they were created before it", async () => {
    const world = await newWorld();
    await present(world, "w");
    const nowAt = Date.now();
    const hour = 3_600_000;
    const insert = (id: string, status: string, startedAt: number, finishedAt: number | null) =>
      env.DB.prepare(
        `INSERT INTO jobs (tenant, id, version, status, worker, labels, created_at, finished_at, record)
         VALUES (?1, ?2, 1, ?3, 'w', '[]', ?4, ?5, json_object('at', json_array(NULL, ?6)))`,
      )
        .bind(world.tenant, id, status, nowAt - 5 * hour, finishedAt, startedAt - (nowAt - 5 * hour))
        .run();
    await insert("ended before", "completed", nowAt - 4 * hour, nowAt - 3 * hour);
    await insert("waited for hours", "completed", nowAt - 60_000, nowAt - 30_000);
    await insert("runs for hours", "running", nowAt - 2 * hour, null);
    const { total, series, is_whole } = await world.ok("GET", "/api/workers/w/activity?period=1h");
    expect({ total, is_whole }).toMatchObject({ total: { completed: 1, failed: 0 }, is_whole: true });
    expect(series.every(({ load }: { load: number }) => load >= 0.99)).toBe(true);
  });
});
