// Whose worker it is, what a worker says of itself, and what a foreign key learns.

import { describe, expect, it } from "vitest";
import { type Body, connect, request, type Socket, silence } from "../../support/workerd/client.ts";
import { create, present, read, useOwnTenant, world } from "../../support/workerd/own-tenant.ts";

useOwnTenant();

const OFFER = { instance: "w1", provider: "p", status: "idle", tags: "" };
const asked = async (key: string | null, method: string, path: string, body?: unknown): Promise<[number, string]> => {
  const answer = await request(key, method, path, body);
  return [answer.status, answer.body?.code];
};

describe("a live worker", () => {
  it("belongs to the key that registered it, whatever the roles, until it is silent or its key has ended", async () => {
    await present("w1");
    const { id } = await create();
    const taken = [409, "instance_taken"];
    for (const role of ["worker", "standard", "admin"] as const) {
      const { key } = await world.withKey(role);
      expect(await asked(key, "POST", "/presence", OFFER)).toEqual(taken);
      expect(await asked(key, "POST", "/api/workers/w1/claim", {})).toEqual(taken);
    }
    expect((await world.post("/presence", OFFER)).status).toBe(200);
    expect(await read(id)).toMatchObject({ assigned_worker: "w1" });
    await silence(world, "w1");
    const { key } = await world.withKey("worker");
    expect((await request(key, "POST", "/presence", OFFER)).status).toBe(200);
    expect((await world.post("/presence", OFFER)).body.code).toBe("instance_taken");
  });

  it("that says it is busy is given nothing until it says otherwise", async () => {
    expect((await present("w1", { status: "busy", concurrency: 2 })).worker).toMatchObject({ status: "busy" });
    const { id } = await create();
    expect(await world.ok("POST", "/api/workers/w1/claim", {})).toEqual({
      jobs: [],
      model_tasks: [],
      skipped: { "reports that it is busy": 1 },
    });
    await present("w1", { status: "online", concurrency: 2 });
    expect(await read(id)).toMatchObject({ status: "assigned", assigned_worker: "w1" });
  });

  it("that says so because it is full gets its next job when one of its jobs ends", async () => {
    await present("w1");
    const first = await create();
    await present("w1", { status: "busy", jobs: [first.id] });
    const second = await create();
    await world.ok("POST", `/api/jobs/${first.id}/complete`, { lease: 1, result: "done" });
    expect(await read(second.id)).toMatchObject({ status: "assigned", assigned_worker: "w1" });
  });

  it.each([".", ".."])("is not named %j, which no URL can say", async (instance) => {
    const refused = await world.post("/presence", { ...OFFER, instance });
    expect([refused.status, refused.body.errors[0].path]).toEqual([400, "instance"]);
  });
});

describe("what a key has open for a worker", () => {
  const opened = async (key: string | null, what: "connect" | "stream", instance = "w1"): Promise<Socket> => {
    const { socket } = await connect(`/api/workers/${instance}/${what}`, { authorization: `Bearer ${key}` });
    if (socket === null) throw new Error("no socket");
    return socket;
  };
  const fallSilent = async (instance = "w1"): Promise<void> => {
    await world.ok("PUT", "/config", { presence: { heartbeat_interval_seconds: 1, offline_after_seconds: 2 } });
    const statusNow = async () => (await world.ok("GET", `/api/workers/${instance}`)).status;
    await expect.poll(statusNow, { timeout: 10_000 }).toBe("offline");
  };

  it("gets nothing once another key has registered the name", async () => {
    const [thief, owner] = [await world.withKey("worker"), await world.withKey("worker")];
    const socket = await opened(thief.key, "connect");
    await socket.next(({ type }) => type === "welcome");
    const { worker } = (await request(owner.key, "POST", "/presence", OFFER)).body;
    expect(worker.connected).toBe(false);
    const { id } = await create();
    expect((await socket.closed).reason).toContain("no longer this key's");
    expect(socket.messages.map(({ type }) => type)).toEqual(["welcome"]);
    const { jobs } = (await request(owner.key, "POST", "/api/workers/w1/claim", {})).body;
    expect(jobs.map((job: Body) => job.id)).toEqual([id]);
  });

  it.each([
    ["reports", "/presence", OFFER],
    ["claims", "/api/workers/w1/claim", {}],
  ])("ends when it is silent and another key's worker %s with its name", async (_, path, body) => {
    const [before, now] = [await world.withKey("worker"), await world.withKey("worker")];
    const socket = await opened(before.key, "connect");
    socket.send({ type: "presence", id: "1", ...OFFER });
    await socket.next(({ id }) => id === "1");
    const line = await opened(before.key, "stream");
    await fallSilent();
    expect((await request(now.key, "POST", path, body)).status).toBe(200);
    expect([(await socket.closed).code, (await line.closed).code]).toEqual([1000, 1000]);
    const { id } = await create();
    await expect.poll(async () => (await read(id)).assigned_worker).toBe("w1");
    expect(socket.messages.some(({ type }) => type === "job.assigned")).toBe(false);
  });

  it("ends with a worker that is forgotten, its data line too, and who watches is told", async () => {
    const { socket: viewer } = await connect("/live", { authorization: `Bearer ${world.key}` });
    await viewer?.next(({ type }) => type === "snapshot");
    const { key } = await world.withKey("worker");
    await request(key, "POST", "/presence", OFFER);
    const line = await opened(key, "stream");
    await fallSilent();
    await world.ok("DELETE", "/api/workers/w1");
    expect((await line.closed).code).toBe(1000);
    expect(await viewer?.next(({ type }) => type === "worker.forgotten")).toMatchObject({ instance: "w1" });
  });

  it("stays where the same key reports by HTTP, too", async () => {
    const { key } = await world.withKey("worker");
    const socket = await opened(key, "connect");
    await request(key, "POST", "/presence", OFFER);
    const { id } = await create();
    await socket.next(({ type, job }) => type === "job.assigned" && job.id === id);
  });
});

describe("a key that never held a job", () => {
  it("is not told its lease; one that held it is told that it is over", async () => {
    const holder = await world.withKey("worker");
    const stranger = await world.withKey("worker");
    await request(holder.key, "POST", "/presence", OFFER);
    const { id } = await create();
    const complete = (key: string | null, lease: number) =>
      asked(key, "POST", `/api/jobs/${id}/complete`, { lease, result: 1 });
    expect(await complete(stranger.key, 7)).toEqual([403, "forbidden"]);
    expect(await complete(holder.key, 7)).toEqual([409, "lease_lost"]);
    await world.ok("POST", "/killswitch", { level: 1 });
    expect(await complete(holder.key, 1)).toEqual([409, "lease_lost"]);
    expect(await complete(stranger.key, 1)).toEqual([403, "forbidden"]);
  });
});

describe("a key that held a job before", () => {
  const NO_MODEL = { code: "model_not_found", message: "model not found", status: 404 };
  it.each([
    ["given back", "release", { reason: "restarting" }],
    ["failed for a rate limit", "fail", { error: { code: "x", message: "slow down", status: 429 } }],
    ["failed for a model that another has", "fail", { error: NO_MODEL }],
    ["failed, to be tried again", "fail", { error: { code: "x", message: "y", retryable: true } }],
  ])("hears the first answer again of a job that it has %s, and then that its lease is over", async (_, verb, told) => {
    await world.put("/config", { providers: { p: { rate_limit: { retry_after_seconds: 1, max_retries: 1 } } } });
    const [before, now] = [await world.withKey("worker"), await world.withKey("worker")];
    await request(before.key, "POST", "/presence", OFFER);
    await request(now.key, "POST", "/presence", { ...OFFER, instance: "w2", provider: "q", concurrency: 0 });
    const { id } = await create({ model: "m" });
    await world.post("/api/workers/w1/pause");
    const report = () => request(before.key, "POST", `/api/jobs/${id}/${verb}`, { lease: 1, ...told });
    const first = await report();
    expect(first).toMatchObject({ status: 200, body: { status: "pending" } });
    expect((await report()).body).toMatchObject({ status: "pending", lease: 1, updated_at: first.body.updated_at });
    await request(now.key, "POST", "/presence", { ...OFFER, instance: "w2", provider: "q" });
    await expect.poll(async () => (await read(id)).assigned_worker, { timeout: 10_000 }).toBe("w2");
    expect((await report()).body.code).toBe("lease_lost");
    const complete = (key: string | null) =>
      asked(key, "POST", `/api/jobs/${id}/complete`, { lease: 2, result: "of w2" });
    expect(await complete(before.key)).toEqual([403, "forbidden"]);
    expect(await read(id)).toMatchObject({ status: "assigned", lease: 2 });
    expect((await complete(now.key))[0]).toBe(200);
    expect(await complete(before.key)).toEqual([403, "forbidden"]);
  });
});

describe("the key that holds a job now", () => {
  it("reports no cost for the attempt of another key's worker before it", async () => {
    const [before, now] = [await world.withKey("worker"), await world.withKey("worker")];
    await request(before.key, "POST", "/presence", OFFER);
    const { id } = await create();
    await world.ok("POST", "/killswitch", { level: 1 });
    await world.ok("DELETE", "/killswitch");
    await request(now.key, "POST", "/presence", { ...OFFER, instance: "w2" });
    expect(await read(id)).toMatchObject({ assigned_worker: "w2", lease: 2 });
    const report = { lease: 1, result: "late", cost_usd: 5 };
    const spent = async () => (await world.ok("GET", "/api/cost")).total_usd;
    expect(await asked(now.key, "POST", `/api/jobs/${id}/complete`, report)).toEqual([409, "lease_lost"]);
    expect(await spent()).toBe(0);
    expect(await asked(before.key, "POST", `/api/jobs/${id}/complete`, report)).toEqual([409, "lease_lost"]);
    expect(await spent()).toBe(5);
  });
});

describe("the killswitch", () => {
  it("needs no reason, and says afterwards what its paused workers wait for", async () => {
    await present("w1");
    const on: Body = await world.ok("POST", "/killswitch", { level: 1 });
    expect(on).toMatchObject({ level: 1, reason: null, active: true });
    const refused = await world.post("/dispatch", { prompt: "x" });
    expect([refused.status, refused.body.detail]).toEqual([
      503,
      "the killswitch is at level 1: try again when it is cleared",
    ]);
    await world.ok("DELETE", "/killswitch");
    const { pause_reason: reason } = await world.ok("GET", "/api/workers/w1");
    expect(reason).toBe("killswitch; paused until it is resumed");
  });
});
