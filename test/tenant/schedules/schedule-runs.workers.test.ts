// Schedules that run. Time passes by rewriting next_run_at and firing the alarm, which may also fire twice, early or
// with nothing to do.

import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { alarm, newWorld } from "../../support/workerd/client.ts";
import { create, HOUR_MS, history, jobsOf, read, turnBack } from "../../support/workerd/schedules.ts";

describe("running when due", () => {
  it("makes one pending job that asks for what the schedule says, and follows the routing rules", async () => {
    const world = await newWorld();
    await create(world, {
      provider: "echo",
      model: "m",
      tags: ["gpu"],
      priority: "high",
      tier: "premium",
      input: { a: 1 },
    });
    const dueAt = await turnBack(world, HOUR_MS);
    await alarm(world);
    const [job, ...others] = await jobsOf(world);
    expect(others).toEqual([]);
    expect(job).toMatchObject({
      status: "pending",
      schedule: "s",
      prompt: "hello",
      input: { a: 1 },
      provider: "echo",
      model: "m",
      tags: ["gpu"],
      priority: "high",
      tier: "premium",
      waiting_reason: "no worker is registered",
    });
    const [run] = await history(world);
    expect(run).toEqual({
      scheduled_for: new Date(dueAt).toISOString(),
      ran_at: expect.any(String),
      outcome: "created",
      reason: null,
      job_id: job.id,
      job_status: "pending",
      missed: 0,
    });
    const schedule = await read(world);
    expect(Date.parse(schedule.next_run_at)).toBe(dueAt + HOUR_MS);
    expect(schedule.last_run_at).toBe(run.ran_at);
    await world.ok("POST", "/presence", {
      instance: "w",
      status: "idle",
      provider: "echo",
      tags: "gpu",
      models: ["m"],
    });
    expect(await world.ok("GET", `/api/jobs/${job.id}`)).toMatchObject({ status: "assigned", assigned_worker: "w" });
  });

  it("runs few of very many that are due together, or of those with long prompts, then lets others have the thread", async () => {
    const world = await newWorld();
    const names = Array.from({ length: 60 }, (_, index) => `s${index}`);
    const long = Array.from({ length: 4 }, (_, index) => `long${index}`);
    for (const name of names) await create(world, { name });
    for (const name of long) await create(world, { name, prompt: "x".repeat(120_000) });
    for (const name of [...names, ...long]) await turnBack(world, HOUR_MS, name);
    const ranAt = async (): Promise<number[]> => {
      await alarm(world);
      const { schedules } = await world.ok("GET", "/api/schedules?limit=200");
      return schedules.flatMap(({ last_run_at: at }: { last_run_at: string | null }) =>
        at === null ? [] : Date.parse(at),
      );
    };
    await expect.poll(ranAt, { timeout: 20_000 }).toHaveLength(64);
    const runs = new Map<number, number>();
    for (const at of await ranAt()) runs.set(at, (runs.get(at) ?? 0) + 1);
    const times = [...runs.keys()].sort((one, other) => one - other);
    expect([...runs.values()].sort((one, other) => other - one)[0]).toBeLessThanOrEqual(50);
    expect(times.length).toBeGreaterThanOrEqual(3);
    for (const [index, at] of times.slice(1).entries()) expect(at - (times[index] ?? 0)).toBeGreaterThanOrEqual(100);
  });

  it("tells a list's last and next runs, and no runs of a deleted schedule of the same name", async () => {
    const world = await newWorld();
    await create(world, {});
    await world.ok("POST", "/api/schedules/s/run", {});
    await world.ok("DELETE", "/api/schedules/s");
    await create(world, {});
    await world.ok("POST", "/api/schedules", { name: "idle", interval: "1h", prompt: "x" });
    for (let runs = 0; runs < 3; runs += 1) await world.ok("POST", "/api/schedules/s/run", {});
    const { schedules } = await world.ok("GET", "/api/schedules?preview=2&runs=2");
    const [idle, busy] = schedules;
    expect([idle.name, idle.last_runs, idle.next_runs.length]).toEqual(["idle", [], 2]);
    expect(busy.last_runs).toEqual((await history(world)).slice(0, 2));
    const { schedules: plain } = await world.ok("GET", "/api/schedules");
    expect(Object.keys(plain[1])).not.toContain("last_runs");
    expect(Object.keys(plain[1])).not.toContain("next_runs");
  });

  it("makes one job a due time, however often, late or early the alarm comes", async () => {
    const world = await newWorld();
    await create(world, {});
    await alarm(world);
    await alarm(world);
    expect(await jobsOf(world)).toEqual([]);
    await turnBack(world, HOUR_MS);
    await alarm(world);
    await alarm(world);
    await evictDurableObject(world.stub);
    await alarm(world);
    await Promise.all([world.stub.poke(), world.stub.poke(), world.stub.poke()]);
    expect(await jobsOf(world)).toHaveLength(1);
    expect(await history(world)).toHaveLength(1);
  });

  it("that were missed runs once, late, says how many, and does not drift", async () => {
    const world = await newWorld();
    await create(world, {});
    const firstAt = await turnBack(world, 5 * HOUR_MS + 60_000);
    await evictDurableObject(world.stub);
    await alarm(world);
    expect(await jobsOf(world)).toHaveLength(1);
    const [run] = await history(world);
    expect(run).toMatchObject({ outcome: "created", missed: 4 });
    expect(Date.parse(run.scheduled_for)).toBe(firstAt + 4 * HOUR_MS);
    expect(Date.parse((await read(world)).next_run_at)).toBe(firstAt + 5 * HOUR_MS);
  });

  it("with overlap skip waits for the last job, with allow does not", async () => {
    const world = await newWorld();
    await create(world, { name: "skip", overlap: "skip" });
    await create(world, { name: "allow" });
    for (let run = 0; run < 2; run += 1) {
      await turnBack(world, HOUR_MS, "skip");
      await turnBack(world, HOUR_MS, "allow");
      await alarm(world);
    }
    expect(await jobsOf(world, "allow")).toHaveLength(2);
    const [job, ...others] = await jobsOf(world, "skip");
    expect(others).toEqual([]);
    const [skipped] = await history(world, "skip");
    expect(skipped).toMatchObject({
      outcome: "skipped",
      job_id: null,
      job_status: null,
      reason: expect.stringContaining("open"),
    });
    await world.ok("POST", `/api/jobs/${job.id}/cancel`);
    await turnBack(world, HOUR_MS, "skip");
    await alarm(world);
    expect(await jobsOf(world, "skip")).toHaveLength(2);
    expect((await history(world, "skip")).map((run) => [run.outcome, run.job_status])).toEqual([
      ["created", "pending"],
      ["skipped", null],
      ["created", "cancelled"],
    ]);
  });

  it("shows how the job ended in the history", async () => {
    const world = await newWorld();
    await world.ok("POST", "/presence", { instance: "w", status: "idle", provider: "echo", tags: "" });
    await create(world, {});
    const { job_id } = await world.ok("POST", "/api/schedules/s/run");
    await world.ok("POST", `/api/jobs/${job_id}/complete`, { lease: 1, result: "done" });
    expect((await history(world))[0]).toMatchObject({ job_id, job_status: "completed" });
    const page = await world.ok("GET", "/api/schedules/s/history?limit=1&offset=0");
    expect(page).toMatchObject({ total: 1, limit: 1, offset: 0 });
  });

  it("started manually does not change the next due time, also while paused", async () => {
    const world = await newWorld();
    const { body: before } = await create(world, {});
    const run = await world.ok("POST", "/api/schedules/s/run");
    expect(run).toMatchObject({ outcome: "created", missed: 0, job_status: "pending" });
    const after = await read(world);
    expect(after.next_run_at).toBe(before.next_run_at);
    expect(after.last_run_at).toBe(run.ran_at);
    await world.ok("PUT", "/api/schedules/s", { status: "paused" });
    expect(await world.ok("POST", "/api/schedules/s/run")).toMatchObject({ outcome: "created" });
    expect(await jobsOf(world)).toHaveLength(2);
  });
});

describe("under the killswitch", () => {
  it("creates at level 1, stands in the history as skipped from level 2", async () => {
    const world = await newWorld();
    await create(world, {});
    for (const level of [1, 2, 3, 4]) {
      await world.ok("POST", "/killswitch", { level, reason: "drill" });
      await turnBack(world, HOUR_MS);
      await alarm(world);
    }
    expect(await jobsOf(world)).toHaveLength(1);
    const runs = await history(world);
    expect(runs.map((run) => run.outcome)).toEqual(["skipped", "skipped", "skipped", "created"]);
    expect(runs[2].reason).toBe("killswitch level 2");
    expect(Date.parse((await read(world)).next_run_at)).toBeGreaterThan(Date.now());
    expect((await world.post("/api/schedules/s/run")).status).toBe(503);
    await world.ok("POST", "/killswitch", { level: 2, reason: "drill" });
    expect(await world.ok("POST", "/api/schedules/s/run")).toMatchObject({ outcome: "skipped", job_id: null });
    await world.ok("DELETE", "/killswitch");
    await turnBack(world, HOUR_MS);
    await alarm(world);
    expect(await jobsOf(world)).toHaveLength(2);
  });
});
