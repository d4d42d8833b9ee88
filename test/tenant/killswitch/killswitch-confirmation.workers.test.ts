// Each worker confirms that it has stopped: how that is counted, and how a halt reaches a whole fleet at once.

import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { connectWorker, inStorage, newWorld, silence } from "../../support/workerd/client.ts";
import { busyWorld, dispatched, engage, offer } from "../../support/workerd/halting.ts";

describe("who has acknowledged", () => {
  it("counts an HTTP worker once its report no longer lists halted jobs", async () => {
    const { world, running } = await busyWorld();
    await engage(world, 1);
    const told = await world.ok("POST", "/presence", offer("w1", { jobs: [running.id] }));
    expect(told.halted).toEqual([running.id]);
    expect(told.killswitch).toMatchObject({ level: 1, active: true });
    expect((await world.ok("GET", "/killswitch")).confirmed_workers).toBe(0);
    await world.ok("POST", "/presence", offer("w1", { jobs: [] }));
    expect((await world.ok("GET", "/killswitch")).confirmed_workers).toBe(1);
    await engage(world, 3, "higher");
    expect((await world.ok("GET", "/killswitch")).confirmed_workers).toBe(1);
  });

  it("counts a worker that does not list its jobs with its next report, whose answer tells it", async () => {
    const { world } = await busyWorld();
    await world.ok("POST", "/presence", offer("idle"));
    await engage(world, 1);
    await world.ok("POST", "/presence", offer("idle"));
    expect((await world.ok("GET", "/killswitch")).confirmed_workers).toBe(1);
    expect((await world.ok("POST", "/presence", offer("w1"))).killswitch.active).toBe(true);
    expect((await world.ok("GET", "/killswitch")).confirmed_workers).toBe(2);
  });

  it("tells a socket worker at once, which acknowledges with its next presence", async () => {
    const world = await newWorld();
    const { key } = await world.withKey("worker");
    const worker = await connectWorker(key ?? "", offer("ws"));
    const job = await dispatched(world);
    await worker.next((message) => message.type === "job.assigned");
    worker.send({ type: "job.started", id: "s", job_id: job.id, lease: job.lease });
    await worker.next((message) => message.type === "ack" && message.id === "s");
    await engage(world, 2, "stop");
    expect(await worker.next((message) => message.type === "killswitch")).toMatchObject({
      killswitch: { level: 2, reason: "stop", active: true },
    });
    expect(await worker.next((message) => message.type === "job.halted")).toMatchObject({
      job_id: job.id,
      lease: job.lease,
    });
    worker.send({ type: "job.completed", id: "late", job_id: job.id, lease: job.lease, result: 1 });
    expect(await worker.next((message) => message.id === "late")).toMatchObject({
      ok: false,
      problem: { code: "lease_lost", status: 409 },
    });
    expect((await world.ok("GET", "/killswitch")).confirmed_workers).toBe(0);
    worker.send({ type: "presence", id: "seen", ...offer("ws") });
    expect(await worker.next((message) => message.id === "seen")).toMatchObject({ ok: true, killswitch: { level: 2 } });
    expect((await world.ok("GET", "/killswitch")).confirmed_workers).toBe(1);
    await world.ok("DELETE", "/killswitch?resume_all=true");
    await worker.next((message) => message.type === "worker.resumed");
    expect(
      (await worker.next((message) => message.type === "killswitch" && !message.killswitch.active)).killswitch,
    ).toMatchObject({ level: 0 });
  });

  it("wakes a waiting claim, which then gets nothing", async () => {
    const world = await newWorld();
    await world.ok("POST", "/presence", offer("w1"));
    const waiting = world.ok("POST", "/api/workers/w1/claim?wait=20", { max: 1 });
    await engage(world, 1);
    expect(await waiting).toMatchObject({ jobs: [] });
  });
});

describe("who has heard of it", () => {
  it("is counted of those who can: an offline worker is named and not waited for", async () => {
    const world = await newWorld();
    for (const instance of ["gone", "here", "quiet"]) await world.ok("POST", "/presence", offer(instance));
    await silence(world, "gone");
    expect(await world.ok("GET", "/killswitch")).toMatchObject({ workers_to_confirm: 0, unconfirmed: [] });
    expect((await world.ok("GET", "/api/workers/here")).halt_confirmed).toBeNull();
    expect(await engage(world, 1)).toMatchObject({ confirmed_workers: 0, workers_to_confirm: 2 });
    const answer = await world.ok("POST", "/presence", offer("here", { jobs: [] }));
    expect(answer.killswitch).toMatchObject({ level: 1, confirmed_workers: 1 });
    expect(answer.killswitch).not.toHaveProperty("unconfirmed");
    expect(await world.ok("GET", "/killswitch")).toMatchObject({
      confirmed_workers: 1,
      workers_to_confirm: 2,
      unconfirmed: [
        { instance: "quiet", status: "idle", last_heartbeat: expect.any(String) },
        { instance: "gone", status: "offline", last_heartbeat: expect.any(String) },
      ],
    });
    const { workers } = await world.ok("GET", "/api/workers");
    const confirmed = workers.map((one: { instance: string; halt_confirmed: boolean }) => [
      one.instance,
      one.halt_confirmed,
    ]);
    expect(Object.fromEntries(confirmed)).toEqual({ here: true, quiet: false, gone: false });
    expect(await world.ok("DELETE", "/killswitch")).toMatchObject({ workers_to_confirm: 0, unconfirmed: [] });
  });

  it("names at most 200 of the others", async () => {
    const world = await newWorld();
    const instances = Array.from({ length: 210 }, (_, at) => `w${at}`);
    await Promise.all(instances.map((instance) => world.ok("POST", "/presence", offer(instance))));
    const state = await engage(world, 1);
    expect([state.workers_to_confirm, state.unconfirmed.length]).toEqual([210, 200]);
  });
});

describe("a paused fleet", () => {
  it("is an epoch: no worker's row is written, and it holds after the object slept", async () => {
    const world = await newWorld();
    for (const instance of ["a", "b"]) await world.ok("POST", "/presence", offer(instance));
    const rows = () =>
      inStorage(world, (storage) => storage.sql.exec("SELECT record FROM workers ORDER BY instance").toArray());
    const before = await rows();
    expect(await engage(world, 1)).toMatchObject({ paused_workers: 2 });
    expect(await rows()).toEqual(before);
    await world.ok("DELETE", "/killswitch");
    await evictDurableObject(world.stub);
    const reason = (await world.ok("GET", "/api/workers/a")).pause_reason;
    expect(reason).toContain("paused until it is resumed");
    await world.ok("POST", "/api/workers/a/resume");
    await evictDurableObject(world.stub);
    const { workers } = await world.ok("GET", "/api/workers");
    const paused = workers.map((one: { instance: string; paused: boolean }) => [one.instance, one.paused]);
    expect(Object.fromEntries(paused)).toEqual({ a: false, b: true });
    await world.ok("DELETE", "/killswitch?resume_all=true");
    await evictDurableObject(world.stub);
    expect(await world.ok("GET", "/api/workers/b")).toMatchObject({ paused: false });
  });

  it("hears of it in one frame, and a worker that an operator paused is not told to continue", async () => {
    const world = await newWorld();
    const [one, other] = [
      await connectWorker(world.key ?? "", offer("one")),
      await connectWorker(world.key ?? "", offer("other")),
    ];
    await world.ok("POST", "/api/workers/other/pause", { reason: "by hand" });
    await engage(world, 1);
    await one.next((message) => message.type === "killswitch");
    const frame = one.frames.find(({ messages }) => messages.some((message) => message.type === "killswitch"));
    expect(frame?.messages.map((message) => message.type)).toEqual(["worker.paused", "killswitch"]);
    await world.ok("DELETE", "/killswitch?resume_all=true");
    await one.next((message) => message.type === "worker.resumed");
    await other.next((message) => message.type === "killswitch" && message.killswitch.level === 0);
    expect(other.messages.some((message) => message.type === "worker.resumed")).toBe(false);
  });
});
