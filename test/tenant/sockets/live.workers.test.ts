// What the live socket tells an operator.

import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import {
  type Body,
  type Client,
  connect,
  inStorage,
  isOnLines,
  newWorld,
  ORIGIN,
  type Socket,
  sleep,
  type World,
} from "../../support/workerd/client.ts";
import { mismatches, readDocument } from "../../support/workerd/document.ts";
import { signIn } from "../../support/workerd/sign-in.ts";

const present = (world: World, instance = "w") =>
  world.ok("POST", "/presence", { instance, status: "idle", provider: "echo", tags: "a", concurrency: 500 });

const watch = async (world: Client): Promise<Socket> => {
  const { socket, status } = await connect("/live", { authorization: `Bearer ${world.key}` });
  if (socket === null) throw new Error(`no socket: ${status}`);
  await socket.next((message) => message.type === "snapshot");
  return socket;
};

describe("the live socket", () => {
  it("begins with a snapshot of everything open", async () => {
    const world = await newWorld();
    await present(world);
    const job = await world.ok("POST", "/dispatch", { prompt: `${"long ".repeat(100)}`, input: { secret: "input" } });
    await world.ok("POST", "/api/schedules", { name: "s", interval: "1h", prompt: "x" });
    const viewer = await watch(world);
    const [snapshot] = viewer.messages;
    expect(snapshot).toMatchObject({
      type: "snapshot",
      seq: 1,
      killswitch: { level: 0, active: false },
      workers_total: 1,
      counts: { assigned: 1, pending: 0 },
    });
    expect(snapshot.jobs.map((one: Body) => one.id)).toEqual([job.id]);
    expect(snapshot.workers[0]).toMatchObject({ instance: "w", current_load: 1 });
    expect(snapshot.schedules[0]).toMatchObject({ name: "s" });
    expect(JSON.stringify(snapshot)).not.toContain("secret");
  });

  it("begins with a page of jobs and of a large fleet's workers, and with all of a small fleet", async () => {
    const world = await newWorld();
    const prompts = Array.from({ length: 60 }, (_, job) => ({ prompt: `job ${job}` }));
    await world.ok("POST", "/api/jobs/batch", { jobs: prompts });
    const register = (from: number, to: number) =>
      Promise.all(Array.from({ length: to - from }, (_, at) => present(world, `w-${from + at}`)));
    const snapshot = async (): Promise<Body> => (await watch(world)).messages[0] as Body;
    await register(0, 60);
    const small = await snapshot();
    expect([small.jobs.length, small.workers.length, small.workers_total]).toEqual([50, 60, 60]);
    expect(small.jobs[0].prompt_start).toBe("job 59");
    for (let from = 60; from < 210; from += 50) await register(from, from + 50);
    const large = await snapshot();
    expect([large.workers.length, large.workers_total, large.fleet[0].workers]).toEqual([50, 210, 210]);
  });

  it("counts what has ended of all time, and tells how much of that has left history", async () => {
    const world = await newWorld();
    await present(world);
    for (let job = 0; job < 3; job += 1) {
      const { id } = await world.ok("POST", "/dispatch", { prompt: "x" });
      await world.ok("POST", `/api/jobs/${id}/complete`, { lease: 1, result: "done" });
    }
    const viewer = await watch(world);
    await world.stub.notePruned({ completed: 2 }, 0);
    const told = await viewer.next((message) => message.type === "storage.updated");
    expect(told.pruned).toEqual({ completed: 2 });
    const [later] = (await watch(world)).messages;
    expect(later).toMatchObject({ counts: { completed: 3 }, pruned: { completed: 2 } });
  });

  it("tells of jobs, workers, the killswitch, schedules, cost and catalog, numbered without gaps, over an eviction", async () => {
    const world = await newWorld();
    const viewer = await watch(world);
    const told = (type: string, fits: (message: Body) => boolean = () => true) =>
      viewer.next((message) => message.type === type && fits(message));
    await present(world);
    await told("worker.updated", (message) => message.worker.instance === "w");
    const job = await world.ok("POST", "/dispatch", { prompt: "x" });
    await told("job.updated", (message) => message.job.id === job.id && message.job.status === "assigned");
    await sleep(world);
    await world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: 1, result: 1, cost_usd: 0.25 });
    await told("job.updated", (message) => message.job.id === job.id && message.job.status === "completed");
    expect(await told("cost.updated")).toMatchObject({ today_usd: 0.25, budget_reached: null });
    await world.ok("POST", "/api/schedules", {
      name: "s",
      interval: "1h",
      prompt: "x".repeat(9_000),
      input: { seed: 1 },
    });
    const { schedules } = await told("schedule.updated");
    expect(schedules).toMatchObject([{ name: "s", interval: "1h", prompt_start: "x".repeat(200) }]);
    expect([schedules[0].prompt, schedules[0].input]).toEqual([undefined, undefined]);
    await world.ok("PUT", "/config", { budget: { day_usd: 0.1 } });
    expect(await told("cost.updated", (message) => message.budget_reached !== null)).toMatchObject({
      budget_reached: { period: "day", limit_usd: 0.1, spent_usd: 0.25 },
    });
    await world.ok("POST", "/killswitch", { level: 2, reason: "drill" });
    expect(await told("killswitch.updated")).toMatchObject({ killswitch: { level: 2, reason: "drill" } });
    await world.stub.learnCatalog({ provider: "openai", models: [{ id: "a" }] });
    expect(await told("catalog.updated")).toMatchObject({ removed_models: [] });
    expect(viewer.messages.map((message) => message.seq)).toEqual(viewer.messages.map((_, index) => index + 1));
    const root = await readDocument();
    const strays = viewer.messages.flatMap((message) => mismatches(message, root.components.schemas.LiveMessage, root));
    expect(strays).toEqual([]);
  });

  it.skipIf(isOnLines)(
    "counts jobs by status, like the list: a job that failed, was retried and failed again is one",
    async () => {
      const world = await newWorld();
      await present(world);
      const { id } = await world.ok("POST", "/dispatch", { prompt: "x" });
      const error = { code: "boom", message: "x", status: 400 };
      await world.ok("POST", `/api/jobs/${id}/fail`, { lease: 1, error });
      await world.ok("POST", `/api/jobs/${id}/retry`);
      const counts = async () => (await watch(world)).messages[0].counts;
      expect(await counts()).toMatchObject({ failed: 0, assigned: 1 });
      await world.ok("POST", `/api/jobs/${id}/fail`, { lease: 2, error });
      expect(await counts()).toMatchObject({ failed: 1, assigned: 0 });
      expect((await world.ok("GET", "/api/jobs?status=failed")).total).toBe(1);
      await world.stub.drain();
      await evictDurableObject(world.stub);
      expect(await counts()).toMatchObject({ failed: 1 });
    },
  );

  it("shows the whole fleet in sums by provider, and tells of them when they change", async () => {
    const world = await newWorld();
    const report = (instance: string, facts: object = {}) =>
      world.ok("POST", "/presence", { instance, status: "idle", provider: "pa", tags: "", concurrency: 3, ...facts });
    await report("one");
    await report("two", { unavailable: "its runtime does not answer" });
    await report("three");
    await world.ok("POST", "/api/workers/three/pause", { reason: "drill" });
    await world.ok("POST", "/dispatch", { prompt: "x" });
    const viewer = await watch(world);
    const { fleet } = await viewer.next((message) => message.type === "snapshot");
    const sums = { provider: "pa", workers: 3, offline: 0, paused: 1, unavailable: 1, places: 3, load: 1 };
    expect(fleet).toEqual([sums]);
    await report("four", { provider: "pb", concurrency: 2 });
    const told = await viewer.next((message) => message.type === "fleet.updated" && message.fleet.length === 2);
    expect(told.fleet[1]).toMatchObject({ provider: "pb", workers: 1, places: 2, load: 0 });
  });

  it("cuts the start of a prompt between characters, never within one", async () => {
    const world = await newWorld();
    await world.ok("POST", "/api/jobs", { prompt: `${"a".repeat(199)}🚂 and more` });
    const viewer = await watch(world);
    const { jobs } = await viewer.next((message) => message.type === "snapshot");
    expect(jobs[0].prompt_start).toBe("a".repeat(199));
  });

  it.skipIf(isOnLines)(
    "shows what waits, and what happened minute by minute, and tells of both when they change",
    async () => {
      const world = await newWorld();
      await world.ok("POST", "/api/jobs", { prompt: "x", provider: "openai", tags: ["gpu"] });
      const viewer = await watch(world);
      const snapshot = await viewer.next((message) => message.type === "snapshot");
      expect(snapshot.queue).toMatchObject({
        total: 1,
        groups: [{ provider: "openai", tags: ["gpu"], count: 1, reason: "no worker is registered" }],
      });
      expect(snapshot.minutes.at(-1)).toMatchObject({ created: 1, completed: 0, failed: 0, cancelled: 0 });
      await present(world);
      await viewer.next(
        (message) => message.type === "queue.updated" && message.queue.groups[0]?.reason !== "no worker is registered",
      );
      const job = await world.ok("POST", "/dispatch", { prompt: "x" });
      await world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: 1, result: 1 });
      const told = await viewer.next(
        (message) =>
          message.type === "activity.updated" &&
          message.minutes.reduce((sum: number, { completed }: Body) => sum + completed, 0) === 1,
      );
      expect(told.minutes.reduce((sum: number, { created }: Body) => sum + created, 0)).toBe(2);
      await world.ok("GET", "/api/jobs");
      await evictDurableObject(world.stub);
      const later = await watch(world);
      const again = await later.next((message) => message.type === "snapshot");
      expect(again.minutes.reduce((sum: number, { created }: Body) => sum + created, 0)).toBe(2);
    },
  );

  it.skipIf(isOnLines)("begins again with a snapshot once it can read what it could not", async () => {
    const world = await newWorld();
    await world.ok("POST", "/api/schedules", { name: "torn", interval: "1h", prompt: "x" });
    const viewer = await watch(world);
    const [row] = await inStorage(world, ({ sql }) => sql.exec("SELECT record FROM schedules").toArray());
    const write = (record: unknown) =>
      inStorage(world, ({ sql }) => sql.exec("UPDATE schedules SET record = ? WHERE name = 'torn'", record).toArray());
    await write("torn");
    await sleep(world);
    await world.ok("POST", "/api/schedules", { name: "new", interval: "1h", prompt: "x" });
    await scheduler.wait(300);
    expect(viewer.messages.map(({ type }) => type)).not.toContain("schedule.updated");
    await write(row?.record);
    const again = await viewer.next((message) => message.type === "snapshot" && message.seq > 1);
    expect(again.schedules.map(({ name }: Body) => name)).toEqual(["new", "torn"]);
  });

  it("shows a viewer its own tenant only", async () => {
    const [one, other] = [await newWorld(), await newWorld()];
    const viewer = await watch(one);
    await present(other, "foreign");
    await other.ok("POST", "/api/jobs", { prompt: "foreign" });
    await present(one, "own");
    await viewer.next((message) => message.type === "worker.updated" && message.worker.instance === "own");
    expect(JSON.stringify(viewer.messages)).not.toContain("foreign");
  });

  it("is for admin and standard keys; others, and plain requests, are refused", async () => {
    const world = await newWorld();
    expect((await watch(await world.withKey("standard"))).messages[0].type).toBe("snapshot");
    const worker = await world.withKey("worker");
    expect(await connect("/live", { authorization: `Bearer ${worker.key}` })).toMatchObject({
      status: 403,
      body: { code: "forbidden" },
    });
    expect((await connect("/live", {})).status).toBe(401);
    expect((await connect("/live", { authorization: "Bearer nonsense" })).status).toBe(401);
    expect((await world.get("/live")).status).toBe(426);
  });

  it("with the session's cookie asks for the page's own origin", async () => {
    const world = await newWorld();
    const { pair } = await signIn(world.key);
    expect((await connect("/live", { cookie: pair })).status).toBe(403);
    expect((await connect("/live", { cookie: pair, origin: "https://evil.example" })).status).toBe(403);
    expect((await connect("/live", { cookie: pair, origin: "null" })).status).toBe(403);
    expect((await connect("/live", { cookie: pair, origin: ORIGIN })).socket).not.toBeNull();
  });

  it("closes when its key ends", async () => {
    const world = await newWorld();
    const standard = await world.withKey("standard");
    const viewer = await watch(standard);
    await world.delete(`/api/keys/${standard.keyId}`);
    expect((await viewer.closed).code).toBe(4401);
  });
});
