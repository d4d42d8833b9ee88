// GET /api/activity and /api/marks: what happened to jobs over a rolling period, and what explains it.

import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { clearOf } from "../../support/clear-of.ts";
import { newWorld, restart, type World } from "../../support/workerd/client.ts";
import { dispatch, present } from "../../support/workerd/job-steps.ts";

/** Steps of the shortest period; the others' begin with one of them. */
const STEP_MS = 5 * 60_000;

const end = async (world: World, verb: "complete" | "fail", report: object): Promise<void> => {
  const job = await dispatch(world);
  await world.ok("POST", `/api/jobs/${job.id}/start`, { lease: job.lease });
  await world.ok("POST", `/api/jobs/${job.id}/${verb}`, { lease: job.lease, ...report });
};
const complete = (world: World, usd = 0) => end(world, "complete", { result: "r", cost_usd: usd });

describe("activity", () => {
  it("counts what happened, what it cost, and the most at once", async () => {
    await clearOf(STEP_MS);
    const world = await newWorld();
    await present(world, "w", { concurrency: 4 });
    const open = [await dispatch(world), await dispatch(world)];
    await complete(world, 0.25);
    await end(world, "fail", { error: { code: "x", message: "y" } });
    for (const { id } of open) await world.ok("POST", `/api/jobs/${id}/cancel`);
    await world.ok("POST", "/api/jobs", { prompt: "waits", tags: ["nobody"] });
    for (const period of ["1h", "24h", "7d", "30d"]) {
      const found = await world.ok("GET", `/api/activity?period=${period}`);
      const sums = { created: 5, completed: 1, failed: 1, cancelled: 2, usd: 0.25 };
      expect(found).toMatchObject({ period, total: { ...sums, most_under_way: 3, most_waiting: 1 } });
      expect(found.series.at(-1)).toMatchObject({ created: 5, most_under_way: 3 });
      expect(found.series[0].most_waiting).toBe(0);
    }
    expect((await world.ok("GET", "/api/activity?period=1h")).series).toHaveLength(12);
    expect((await world.ok("GET", "/api/activity")).series).toHaveLength(24);
  });

  it("shows a job that waits on in every step since, though nothing happened in them", async () => {
    await clearOf(STEP_MS);
    const world = await newWorld();
    await world.ok("POST", "/api/jobs", { prompt: "waits", tags: ["nobody"] });
    await world.ok("GET", "/api/jobs");
    await runInDurableObject(world.stub, (_tenant, { storage }) => {
      storage.sql.exec("UPDATE activity SET at = at - 6 * 3600000");
    });
    await restart(world);
    const { series } = await world.ok("GET", "/api/activity?period=1h");
    expect(series.map(({ created, most_waiting }: Step) => [created, most_waiting])).toEqual(
      Array.from({ length: 12 }, () => [0, 1]),
    );
    const day = await world.ok("GET", "/api/activity");
    expect(day.total.created).toBe(1);
    expect(day.series.filter(({ most_waiting }: Step) => most_waiting === 1)).toHaveLength(7);
  });

  it("survives a restart, and forgets slots that no period shows", async () => {
    const world = await newWorld();
    await present(world);
    await complete(world);
    await world.ok("GET", "/api/jobs");
    await restart(world);
    expect((await world.ok("GET", "/api/activity?period=1h")).total.completed).toBe(1);
    await runInDurableObject(world.stub, (_tenant, { storage }) => {
      storage.sql.exec("UPDATE activity SET at = at - 40 * 86400000");
    });
    await restart(world);
    await complete(world);
    expect((await world.ok("GET", "/api/activity?period=30d")).total.completed).toBe(1);
    await world.ok("GET", "/api/jobs");
    const rows = await runInDurableObject(world.stub, (_tenant, { storage }) =>
      storage.sql.exec("SELECT kind FROM activity ORDER BY kind").toArray(),
    );
    expect(rows).toEqual([{ kind: "long" }, { kind: "short" }]);
  });

  it("is for those who may see jobs", async () => {
    const world = await newWorld();
    expect((await world.get("/api/activity?period=2h")).status).toBe(400);
    for (const path of ["/api/activity", "/api/marks"]) {
      expect((await (await world.withKey("viewer")).get(path)).status).toBe(200);
      expect((await (await world.withKey("worker")).get(path)).status).toBe(403);
    }
  });
});

describe("marks", () => {
  it("are the halts, pauses, changed configs and reached budgets, oldest first, without names of people", async () => {
    const world = await newWorld();
    await present(world, "w", { concurrency: 4 });
    await world.ok("POST", "/api/workers/w/pause", { reason: "hot" });
    await world.ok("POST", "/api/workers/w/resume");
    await world.ok("PUT", "/config", { budget: { day_usd: 1 } });
    await complete(world, 2);
    await world.ok("POST", "/killswitch", { level: 2, reason: "drill" });
    await world.ok("DELETE", "/killswitch?resume_all=true");
    await world.ok("POST", "/api/keys", { name: "not a mark", role: "viewer" });
    const { marks } = await world.ok("GET", "/api/marks?period=1h");
    expect(marks.map(({ kind, target }: MarkRow) => [kind, target])).toEqual([
      ["pause", "w"],
      ["resume", "w"],
      ["config", null],
      ["budget", "day"],
      ["halt", "level 2"],
      ["clear", "level 2"],
    ]);
    expect(Object.keys(marks[0])).toEqual(["at", "kind", "count", "target"]);
  });

  it("are one where many happen together, so that they hide nothing else", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { budget: { day_usd: 1 } });
    for (const name of ["a", "b", "c"]) {
      await present(world, name);
      await world.ok("POST", `/api/workers/${name}/pause`);
    }
    const { marks } = await world.ok("GET", "/api/marks?period=7d");
    expect(marks).toMatchObject([
      { kind: "config", count: 1, target: null },
      { kind: "pause", count: 3, target: null },
    ]);
  });
});

interface Step {
  readonly created: number;
  readonly most_waiting: number;
}

interface MarkRow {
  readonly kind: string;
  readonly target: string | null;
}
