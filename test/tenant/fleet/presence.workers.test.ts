// Section 4 of the contract over plain HTTP: presence.

import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { alarm, type Body, inStorage, silence } from "../../support/workerd/client.ts";
import { create, present, read, useOwnTenant, world } from "../../support/workerd/own-tenant.ts";
import { copyRow } from "../../support/workerd/rows.ts";

useOwnTenant();

const MADE = { instance: "'made-' || i", record: "json_set(record, '$.instance', 'made-' || i)" };

describe("presence", () => {
  it("registers 20 000 workers in a tenant and no more; those that it knows go on", async () => {
    await present("w1");
    await copyRow(world, "workers", 19_999, MADE);
    const offer = { provider: "p", status: "idle", tags: "" };
    const refused = await world.post("/presence", { instance: "one-more", ...offer });
    expect([refused.status, refused.body.code]).toEqual([409, "too_many_workers"]);
    expect(refused.body.detail).toContain("20000");
    expect((await world.post("/presence", { instance: "made-7", ...offer })).status).toBe(200);
  });

  it("makes room by forgetting those that are silent longest, but none of which an operator said something", async () => {
    await present("w1");
    const heardAt = (at: string) => `json_set(record, '$.instance', 'made-' || i, '$.lastHeartbeatAt', ${at})`;
    await copyRow(world, "workers", 19_999, { ...MADE, record: heardAt(`${Date.now() - 120_000} - i`) });
    await inStorage(world, ({ sql }) => {
      const pause = `json_set(record, '$.pause', json('{"reason":"broken","untilAt":null}'))`;
      sql.exec(`UPDATE workers SET record = ${pause} WHERE instance = 'made-19999'`);
    });
    await evictDurableObject(world.stub);
    const offer = { instance: "one-more", provider: "p", status: "idle", tags: "" };
    expect((await world.post("/presence", offer)).body.code).toBe("too_many_workers");
    await expect
      .poll(async () => {
        await alarm(world);
        return (await world.ok("GET", "/api/workers?limit=1")).total;
      })
      .toBe(18_000);
    expect((await world.post("/presence", offer)).status).toBe(200);
    const status = async (name: string) => (await world.get(`/api/workers/${name}`)).status;
    expect(await Promise.all(["w1", "made-19999", "made-19998", "made-1"].map(status))).toEqual([200, 200, 404, 200]);
  });

  it("counts the models that its runtime lists with the others, and names the field that is too long", async () => {
    const named = (count: number) => Array.from({ length: count }, (_, index) => `m${index}`.padEnd(128, "x"));
    const offer = { instance: "w1", provider: "p", status: "idle", tags: "" };
    const refused = await world.post("/presence", { ...offer, models: named(100), runtime_models: named(420) });
    expect([refused.status, refused.body.errors]).toEqual([400, [expect.objectContaining({ path: "runtime_models" })]]);
    const { worker } = await present("w1", { models: named(100), runtime_models: named(400) });
    expect(worker.models).toEqual(named(100));
    expect(await world.ok("GET", "/api/workers/w1")).toMatchObject({ runtime_models: named(400) });
    await evictDurableObject(world.stub);
    expect(await world.ok("GET", "/api/workers/w1")).toMatchObject({ models: named(100), runtime_models: named(400) });
    expect(await world.ok("GET", "/api/workers?q=M99XX")).toMatchObject({ total: 1 });
  });

  it("counts the processors of its machine with them", async () => {
    const named = (count: number) => Array.from({ length: count }, (_, index) => `m${index}`.padEnd(128, "x"));
    const gpu = { name: "語".repeat(128), total_mb: 1, used_mb: 1 };
    const hardware = { gpus: Array(64).fill(gpu), ram_mb: 1, ram_free_mb: 1 };
    const offer = { instance: "w1", provider: "p", status: "idle", tags: "", hardware };
    const refused = await world.post("/presence", { ...offer, models: named(300) });
    expect([refused.status, refused.body.errors]).toEqual([400, [expect.objectContaining({ path: "models" })]]);
    expect((await world.post("/presence", { ...offer, models: named(250) })).status).toBe(200);
  });

  it("takes 64 MiB of models, runtime models and tags of all workers together, and no more; a shorter list is taken", async () => {
    const named = (instance: string) => Array.from({ length: 500 }, (_, at) => `${instance}-${at}`.padEnd(128, "x"));
    await present("w1", { models: named("w1") });
    await copyRow(world, "worker_models", 1_047, { instance: MADE.instance });
    await copyRow(world, "workers", 1_047, MADE);
    const offer = { provider: "p", status: "idle", tags: "" };
    const refused = await world.post("/presence", { instance: "one-more", ...offer, models: named("one-more") });
    expect([refused.status, refused.body.code]).toEqual([409, "too_many_offers"]);
    expect((await world.post("/presence", { instance: "made-1", ...offer, models: ["m1"] })).status).toBe(200);
    expect((await world.post("/presence", { instance: "made-2", ...offer, models: named("w1") })).status).toBe(200);
    expect((await world.post("/presence", { instance: "one-more", ...offer, models: named("one-more") })).status).toBe(
      200,
    );
  });

  it("lets offline workers make room for what one that it knows names now", async () => {
    const models = Array.from({ length: 500 }, (_, at) => `${at}-`.padEnd(128, "x"));
    await present("w1", { models });
    await copyRow(world, "worker_models", 942, { instance: MADE.instance });
    await copyRow(world, "workers", 942, MADE);
    await world.ok("PUT", "/config", { presence: { heartbeat_interval_seconds: 0.5, offline_after_seconds: 1 } });
    await present("w2", { models: ["m"] });
    await present("w2", { models });
    await expect
      .poll(async () => {
        await alarm(world);
        return (await world.ok("GET", "/api/workers?limit=1")).total;
      })
      .toBeLessThan(944);
  });

  it("registers a worker and shows it as it is", async () => {
    const answer = await present("w1", {
      tags: "gpu, eu",
      provider: "ollama",
      concurrency: 2,
      models: ["llama"],
      tier: "economy",
      version: "1.2",
    });
    expect(answer).toMatchObject({ jobs: [], halted: [], heartbeat_interval_seconds: 15, killswitch: { level: 0 } });
    const worker = {
      instance: "w1",
      provider: "ollama",
      status: "idle",
      tags: "gpu, eu",
      models: ["llama"],
      tier: "economy",
      concurrency: 2,
      current_load: 0,
      paused: false,
      pause_reason: null,
      paused_until: null,
      hardware: null,
      loaded: null,
      on_disk: null,
      max_loaded: null,
      can: null,
      halt_confirmed: null,
      hours: null,
      unavailable: null,
      failure_rate: null,
      last_heartbeat: expect.any(String),
      edge: false,
      connected: false,
      version: "1.2",
      registered_at: expect.any(String),
    };
    expect(answer.worker).toEqual(worker);
    expect((await world.ok("GET", "/presence")).workers).toEqual([worker]);
    expect(await world.ok("GET", "/api/workers/w1")).toEqual({
      ...worker,
      apis: [],
      runtime_models: null,
      jobs: [],
      recent_outcomes: [],
    });
    const again = await present("w1", { tags: "cpu", provider: "ollama" });
    expect(again.worker).toMatchObject({
      tags: "cpu",
      concurrency: 1,
      models: null,
      registered_at: answer.worker.registered_at,
    });
    expect((await world.ok("GET", "/api/workers")).total).toBe(1);
  });

  it("is refused by field where a value is wrong", async () => {
    const wrong: [Record<string, unknown>, string][] = [
      [{ instance: "" }, "instance"],
      [{ instance: "a b" }, "instance"],
      [{ instance: "a".repeat(129) }, "instance"],
      [{ instance: null }, "instance"],
      [{ provider: undefined }, "provider"],
      [{ status: "offline" }, "status"],
      [{ tags: ["gpu"] }, "tags"],
      [{ tags: "ok,not ok" }, "tags"],
      [{ concurrency: -1 }, "concurrency"],
      [{ concurrency: 1001 }, "concurrency"],
      [{ concurrency: 1.5 }, "concurrency"],
      [{ concurrency: "2" }, "concurrency"],
      [{ concurrency: 2 ** 53 }, "concurrency"],
      [{ jobs: "none" }, "jobs"],
      [{ concurency: 1 }, "concurency"],
    ];
    for (const [more, field] of wrong) {
      const { status, body } = await world.post("/presence", {
        instance: "w",
        provider: "p",
        status: "idle",
        tags: "",
        ...more,
      });
      expect([field, status, body.errors[0].path]).toEqual([field, 400, field]);
    }
    expect((await world.ok("GET", "/api/workers")).total).toBe(0);
    expect((await present("constructor")).worker.instance).toBe("constructor");
    expect((await present("w", { concurrency: 0 })).worker.status).toBe("busy");
    expect((await present("w", { concurrency: 1000 })).worker.concurrency).toBe(1000);
  });

  it("derives the status from load and silence", async () => {
    await present("w1", { concurrency: 2, status: "online" });
    const statusOf = async (): Promise<string> => (await world.ok("GET", "/api/workers/w1")).status;
    expect(await statusOf()).toBe("idle");
    await create();
    expect(await statusOf()).toBe("online");
    await create();
    expect(await statusOf()).toBe("busy");
    await silence(world, "w1");
    expect(await statusOf()).toBe("offline");
    expect((await world.ok("GET", "/presence")).workers).toEqual([]);
    expect((await world.ok("GET", "/api/workers")).workers).toHaveLength(1);
    expect((await world.post("/dispatch", { prompt: "a" })).body.detail).toContain("offline");
    await present("w1", { concurrency: 2 });
    expect(await statusOf()).toBe("busy");
  });

  it("hands over leases not yet started, takes back what was lost, and names what to drop", async () => {
    await present("w1", { concurrency: 3 });
    const [first, second, third] = [await create(), await create(), await create()];
    const { jobs } = await present("w1", { concurrency: 3 });
    expect(jobs.map((job: Body) => [job.id, job.lease, job.prompt])).toEqual(
      [first, second, third].map(({ id }) => [id, 1, "hello"]),
    );
    await world.ok("POST", `/api/jobs/${first.id}/start`, { lease: 1 });
    await world.ok("POST", `/api/jobs/${second.id}/start`, { lease: 1 });
    const settled = await present("w1", { concurrency: 3, jobs: [first.id, "unknown"] });
    expect(settled.halted).toEqual(["unknown"]);
    // The third was never started, so not naming it means nothing; the second was lost and comes again under a new
    // lease.
    expect(settled.jobs.map((job: Body) => [job.id, job.lease])).toEqual([
      [second.id, 2],
      [third.id, 1],
    ]);
    expect((await read(second.id)).attempts).toBe(1);
    expect((await read(first.id)).status).toBe("running");
    const late = await world.post(`/api/jobs/${second.id}/complete`, { lease: 1, result: "late" });
    expect([late.status, late.body.code]).toEqual([409, "lease_lost"]);
  });
});
