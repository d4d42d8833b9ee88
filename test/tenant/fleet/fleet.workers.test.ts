// Section 4 of the contract over plain HTTP: the fleet as its operator sees and steers it.

import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { type Body, silence } from "../../support/workerd/client.ts";
import { create, present, read, useOwnTenant, world } from "../../support/workerd/own-tenant.ts";

useOwnTenant();

describe("the fleet", () => {
  it("keeps a pause until it is lifted, over restarts, and running jobs go on", async () => {
    await present("w1", { concurrency: 2 });
    const running = await create();
    await world.ok("POST", `/api/jobs/${running.id}/start`, { lease: 1 });
    const paused = await world.ok("POST", "/api/workers/w1/pause", { reason: "update" });
    expect(paused).toMatchObject({ paused: true, pause_reason: "update", current_load: 1 });
    const waiting = await create();
    expect((await read(waiting.id)).waiting_reason).toContain("update");
    await evictDurableObject(world.stub);
    expect((await present("w1", { concurrency: 2 })).worker.paused).toBe(true);
    expect(await read(waiting.id)).toMatchObject({ status: "pending" });
    expect(await world.ok("POST", `/api/jobs/${running.id}/complete`, { lease: 1, result: 1 })).toMatchObject({
      status: "completed",
    });
    expect(await world.ok("POST", "/api/workers/w1/pause")).toMatchObject({
      paused: true,
      pause_reason: expect.any(String),
    });
    expect(await world.ok("POST", "/api/workers/w1/resume")).toMatchObject({ paused: false, pause_reason: null });
    expect(await read(waiting.id)).toMatchObject({ status: "assigned" });
    expect(await world.ok("POST", "/api/workers/w1/resume")).toMatchObject({ paused: false });
  });

  it("ends a pause by itself when its time is over", async () => {
    await present("w1");
    const until = new Date(Date.now() + 1_000).toISOString();
    const asked = { reason: "lunch", until };
    const paused = { paused: true, pause_reason: "lunch", paused_until: until };
    expect(await world.ok("POST", "/api/workers/w1/pause", asked)).toMatchObject(paused);
    const { id, waiting_reason: why } = await create();
    expect(why).toBe(`worker "w1" is paused: lunch, until ${until}`);
    await expect.poll(async () => (await read(id)).status).toBe("assigned");
    for (const until of ["later", new Date(Date.now() - 1000).toISOString()]) {
      const refused = await world.post("/api/workers/w1/pause", { until });
      expect([refused.status, refused.body.errors[0].path]).toEqual([400, "until"]);
    }
    expect(await world.ok("GET", "/api/workers/w1")).toMatchObject({ paused: false, paused_until: null });
    expect((await world.post("/api/workers/w1/pause", { reson: "x" })).body.errors[0].message).toContain('"reason"');
  });

  it("forgets an offline worker only, and what it held goes back", async () => {
    await present("w1");
    const { id } = await create();
    const early = await world.delete("/api/workers/w1");
    expect([early.status, early.body.code]).toEqual([409, "worker_not_offline"]);
    await silence(world, "w1");
    const { status, text } = await world.delete("/api/workers/w1");
    expect([status, text]).toEqual([204, ""]);
    expect((await world.get("/api/workers/w1")).status).toBe(404);
    expect((await world.delete("/api/workers/w1")).status).toBe(404);
    expect(await read(id)).toMatchObject({ status: "pending", waiting_reason: "no worker is registered" });
    expect((await world.post("/api/workers/w1/claim")).status).toBe(404);
    await present("w1");
    expect(await read(id)).toMatchObject({ assigned_worker: "w1", lease: 2 });
  });

  it("is listed newest first, in pages, and nobody in it who never reported", async () => {
    for (const name of ["a", "b", "c"]) {
      await present(name);
      const now = Date.now();
      await expect.poll(() => Date.now()).toBeGreaterThan(now);
    }
    const page = await world.ok("GET", "/api/workers?limit=2&offset=1");
    expect(page.workers.map((one: Body) => one.instance)).toEqual(["b", "a"]);
    expect(page).toMatchObject({ total: 3, limit: 2, offset: 1 });
    for (const name of ["nope", "a%20b", "%00", "x".repeat(300), "__proto__"]) {
      expect([name, (await world.get(`/api/workers/${name}`)).status]).toEqual([name, 404]);
      expect([name, (await world.post(`/api/workers/${name}/pause`)).status]).toEqual([name, 404]);
      expect([name, (await world.post(`/api/workers/${name}/resume`)).status]).toEqual([name, 404]);
      expect([name, (await world.post(`/api/workers/${name}/claim`)).status]).toEqual([name, 404]);
      expect([name, (await world.delete(`/api/workers/${name}`)).status]).toEqual([name, 404]);
    }
  });

  it("is listed whole, in order, however large its machines are", async () => {
    const onDisk = Array.from({ length: 400 }, (_, at) => ({ model: `m${at}`.padEnd(100, "x"), bytes: 1 }));
    const instances = Array.from({ length: 25 }, (_, at) => `large-${at}`).sort();
    for (const instance of instances) await present(instance, { on_disk: onDisk });
    const { workers, ...counts } = await world.ok("GET", "/api/workers?limit=200&sort=instance&summary=true");
    expect(workers.map(({ instance }: Body) => instance)).toEqual(instances);
    expect(workers[24].on_disk).toHaveLength(400);
    expect(counts).toEqual({ total: 25, limit: 200, offset: 0, summary: expect.objectContaining({}) });
  });

  it("remembers how a worker's jobs went", async () => {
    await present("w1");
    const [good, bad] = [await create(), await create()];
    await world.ok("POST", `/api/jobs/${good.id}/complete`, { lease: 1, result: 1 });
    await world.ok("POST", `/api/jobs/${bad.id}/fail`, { lease: 1, error: { code: "boom", message: "x" } });
    const { recent_outcomes } = await world.ok("GET", "/api/workers/w1");
    expect(recent_outcomes).toEqual([
      { job_id: bad.id, outcome: "failed", code: "boom", at: expect.any(String) },
      { job_id: good.id, outcome: "completed", code: null, at: expect.any(String) },
    ]);
  });
});
