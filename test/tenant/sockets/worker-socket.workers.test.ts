// Section 4 of the contract over the worker's WebSocket.

import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { closeCodes } from "../../../contract/words/values.ts";
import type { Tenant } from "../../../durable-objects/tenant.ts";
import { ageJob, alarm, connect, connectWorker, inStorage, isOnLines } from "../../support/workerd/client.ts";
import { create, read, world } from "../../support/workerd/own-tenant.ts";
import {
  acked,
  assigned,
  bearer,
  key,
  offer,
  useSocketWorkers,
  view,
  worker,
} from "../../support/workerd/socket-worker.ts";

useSocketWorkers();

describe("connecting", () => {
  it("does not take over a living worker of another key", async () => {
    const victim = await worker("w1");
    const thief = await world.withKey("worker");
    const stolen = await thief.post("/presence", offer("w1"));
    expect([stolen.status, stolen.body.code]).toEqual([409, "instance_taken"]);
    expect((await thief.post("/api/workers/w1/claim")).status).toBe(409);
    expect((await connect("/api/workers/w1/connect", bearer(thief.key))).status).toBe(409);
    const { id } = await create();
    await assigned(victim, id);
  });

  it("needs a key, an upgrade and a name that may be one", async () => {
    const path = "/api/workers/w1/connect";
    for (const bad of [null, "x", `${key}x`]) {
      const { status, body } = await connect(path, bearer(bad));
      expect([status, body.title]).toEqual([401, "Authentication failed"]);
    }
    const plain = await world.get(path);
    const upgrade = plain.headers.get("upgrade");
    expect([plain.status, plain.body.code, upgrade]).toEqual([426, "upgrade_required", "websocket"]);
    const misnamed = await connect("/api/workers/a%20b/connect", bearer(key));
    expect([misnamed.status, misnamed.body.errors[0].path]).toEqual([400, "instance"]);
    expect((await connect("/live", bearer(key))).status).toBe(403);
  });

  it("is answered with the request's id and a welcome that says what the service knows", async () => {
    const response = await exports.default.fetch("https://signalbox.test/api/workers/w1/connect", {
      headers: { upgrade: "websocket", "x-request-id": "mine-2", ...bearer(key) },
    });
    expect([response.status, response.headers.get("x-request-id")]).toEqual([101, "mine-2"]);
    response.webSocket?.accept();
    response.webSocket?.close();
    const { socket } = await connect("/api/workers/new/connect", bearer(key));
    const welcome = await socket?.next((message) => message.type === "welcome");
    expect(welcome).toMatchObject({ jobs: [], halted: [], killswitch: { level: 0 }, heartbeat_interval_seconds: 15 });
    expect((await world.ok("GET", "/api/workers")).total).toBe(0);
  });
});

describe("a worker that reports in bulk", () => {
  it("is told of its long leases a few times, and later again", async () => {
    const socket = await worker("w1", { concurrency: 8 });
    const content = "y".repeat(900_000);
    for (let made = 0; made < 4; made += 1) await create({ input: { messages: [{ role: "user", content }] } });
    const reports = Array.from({ length: 16 }, (_, at) => ({ ...offer("w1", { concurrency: 8 }), id: `r${at}` }));
    socket.send(reports.map((report) => ({ type: "presence", ...report })));
    const answers = await Promise.all(reports.map(({ id }) => acked(socket, id)));
    const told = answers.map(({ ok, jobs }) => ok && jobs.length);
    expect(told.slice(0, 2)).toEqual([4, 4]);
    expect(told.slice(3)).toEqual(Array(13).fill(0));
    let count = 0;
    const toldLater = async () => {
      count += 1;
      socket.send({ type: "presence", ...offer("w1", { concurrency: 8 }), id: `later${count}` });
      return (await acked(socket, `later${count}`)).jobs.length;
    };
    await expect.poll(toldLater, { timeout: 10_000 }).toBe(4);
  });
});

describe("a worker's socket", () => {
  it("names the config's version beside each job, so that a worker that has it need not ask", async () => {
    const socket = await worker("w1", { tags: "gpu", concurrency: 2 });
    const given = async () => (await assigned(socket, (await create({ tags: ["gpu"] })).id)).config_etag;
    expect(await given()).toBe((await world.get("/config")).headers.get("etag"));
    const { headers } = await world.put("/config", { history: { keep_days: 3 } });
    expect(await given()).toBe(headers.get("etag"));
  });

  it("carries a job from assignment to result", async () => {
    const socket = await worker("w1", { tags: "gpu", concurrency: 2 });
    expect(await acked(socket, "hello")).toMatchObject({
      ok: true,
      worker: { instance: "w1", connected: true },
      jobs: [],
    });
    const { id } = await create({ tags: ["gpu"], input: { seed: 1 } });
    const { job } = await assigned(socket, id);
    expect(job).toEqual(await read(id));
    socket.send({ type: "job.started", id: "1", job_id: id, lease: 1 });
    socket.send([
      { type: "job.heartbeat", id: "2", job_id: id, lease: 1, progress: 0.5 },
      { type: "job.heartbeat", id: "3", job_id: id, lease: 1 },
    ]);
    expect(await acked(socket, "3")).toEqual({ type: "ack", id: "3", ok: true });
    expect(await read(id)).toMatchObject({ status: "running", progress: 0.5 });
    const usage = { input_tokens: 1, output_tokens: 2 };
    socket.send({ type: "job.completed", id: "4", job_id: id, lease: 1, result: { a: 1 }, usage, cost_usd: 0.5 });
    expect((await acked(socket, "4")).ok).toBe(true);
    expect(await read(id)).toMatchObject({ status: "completed", result: { a: 1 }, usage, cost_usd: 0.5 });
  });

  it("tells what a halted attempt spent after all: counted once, and nothing of a lease that is still held", async () => {
    const socket = await worker("w1");
    const spend = async (id: string, jobId: string) => {
      socket.send({ type: "job.spent", id, job_id: jobId, lease: 1, cost_usd: 0.5 });
      return (await acked(socket, id)).ok;
    };
    const { id } = await create();
    await assigned(socket, id);
    expect(await spend("held", id)).toBe(true);
    await world.ok("POST", `/api/jobs/${id}/cancel`);
    expect([await spend("late", id), await spend("again", id)]).toEqual([true, true]);
    expect(await world.ok("GET", "/api/cost")).toMatchObject({ total_usd: 0.5, jobs: 1 });
    expect(await read(id)).toMatchObject({ status: "cancelled" });
    expect((await world.ok("GET", `/api/jobs/${id}/attempts`)).attempts).toMatchObject([
      { lease: 1, outcome: "cancelled", cost_usd: 0.5 },
    ]);
  });

  it("fails and releases, and repeats are acknowledged as the first time", async () => {
    const socket = await worker("w1");
    const first = await create();
    await assigned(socket, first.id);
    for (const id of ["a", "b"]) {
      socket.send({ type: "job.failed", id, job_id: first.id, lease: 1, error: { code: "boom", message: "x" } });
      expect((await acked(socket, id)).ok).toBe(true);
    }
    expect(await read(first.id)).toMatchObject({ status: "failed", error: { code: "boom", retryable: false } });
    const second = await create();
    await assigned(socket, second.id);
    socket.send({ type: "job.released", id: "c", job_id: second.id, lease: 1, reason: "full" });
    expect((await acked(socket, "c")).ok).toBe(true);
    await assigned(socket, second.id, 2);
  });

  it.skipIf(isOnLines)("is answered as over HTTP where a report comes after its job has left for history", async () => {
    const socket = await worker("w1");
    const { id } = await create();
    await assigned(socket, id);
    const done = { type: "job.completed", job_id: id, lease: 1, result: 1 };
    socket.send({ ...done, id: "first" });
    expect((await acked(socket, "first")).ok).toBe(true);
    await world.stub.drain();
    await ageJob(world, id, 60_000, ["finishedAt"]);
    await alarm(world);
    expect(await inStorage(world, (storage) => storage.sql.exec("SELECT id FROM jobs").toArray())).toEqual([]);
    socket.send([
      { ...done, id: "again" },
      { type: "job.started", id: "late", job_id: id, lease: 1 },
      { ...done, id: "nobody's", job_id: "nope" },
    ]);
    expect(await acked(socket, "again")).toEqual({ type: "ack", id: "again", ok: true });
    expect((await acked(socket, "late")).problem).toMatchObject({ status: 409, code: "lease_lost" });
    expect((await acked(socket, "nobody's")).problem).toMatchObject({ status: 404, code: "not_found" });
  });

  it("asks history once for all the unknown jobs of a frame", async () => {
    const socket = await worker("w1");
    const lookUps = await runInDurableObject(world.stub, (instance: Tenant) => {
      const { DB } = (instance as unknown as { env: { DB: D1Database } }).env;
      const prepare = DB.prepare.bind(DB);
      const seen: string[] = [];
      DB.prepare = (sql: string) => {
        if (sql.includes("FROM jobs")) seen.push(sql);
        return prepare(sql);
      };
      return seen;
    });
    const unknown = (index: number) => ({ type: "job.started", id: `m${index}`, job_id: `nope-${index}`, lease: 1 });
    socket.send(Array.from({ length: 300 }, (_, index) => unknown(index)));
    expect((await acked(socket, "m299")).problem).toMatchObject({ status: 404 });
    expect(lookUps.length).toBe(1);
  });

  it("is closed with 4429 where more of its messages are under way than a worker can mean", async () => {
    const socket = await worker("w1");
    const frame = (at: number) =>
      Array.from({ length: 1000 }, (_, index) => ({
        type: "job.started",
        id: `m${at}-${index}`,
        job_id: `nope-${at}-${index}`,
        lease: 1,
      }));
    for (let at = 0; at < 12; at += 1) socket.send(frame(at));
    expect((await socket.closed).code).toBe(closeCodes.tooManyMessages);
    const again = await worker("w1");
    again.send({ type: "job.started", id: "calm", job_id: "nope", lease: 1 });
    expect((await acked(again, "calm")).problem).toMatchObject({ status: 404 });
  });

  it("acknowledges what it refuses with a problem, message by message", async () => {
    const socket = await worker("w1");
    const { id } = await create();
    await assigned(socket, id);
    const cases: [Record<string, unknown>, number, string][] = [
      [{ type: "job.started", job_id: id, lease: 7 }, 409, "lease_lost"],
      [{ type: "job.started", job_id: "nope", lease: 1 }, 404, "not_found"],
      [{ type: "job.started", job_id: id }, 400, "invalid_request"],
      [{ type: "job.begun", job_id: id, lease: 1 }, 400, "invalid_request"],
      [{ type: "job.completed", job_id: id, lease: 1, reslt: 1 }, 400, "invalid_request"],
      [{ type: "presence", ...offer("somebody-else") }, 400, "invalid_request"],
      [{ type: "presence", ...offer("w1"), concurency: 2 }, 400, "invalid_request"],
      [{ type: "job.completed", job_id: id, lease: 1, result: "x".repeat(1024 * 1024) }, 413, "payload_too_large"],
      [{ type: "job.heartbeat", job_id: id, lease: 1, progress: "é".repeat(1024 * 1024) }, 413, "payload_too_large"],
    ];
    socket.send(cases.map(([message], index) => ({ ...message, id: `c${index}` })));
    for (const [index, [, status, code]] of cases.entries()) {
      const { ok, problem } = await acked(socket, `c${index}`);
      expect([index, ok, problem.status, problem.code]).toEqual([index, false, status, code]);
      expect(problem.instance).toBe(`c${index}`);
    }
    socket.send({ type: "job.started", id: 12, job_id: id, lease: 1 });
    expect((await acked(socket, "12")).problem.errors[0].path).toBe("id");
    const typo = await acked(socket, "c4");
    expect(typo.problem.detail).toContain('did you mean "result"');
    expect(await read(id)).toMatchObject({ status: "assigned", lease: 1 });
    const report = { type: "job.completed", job_id: id, lease: 1 };
    socket.socket.send(`[${JSON.stringify({ ...report, id: "inf", result: 0 }).replace(":0}", ":[1e400]}")}]`);
    expect((await acked(socket, "inf")).problem).toMatchObject({
      status: 400,
      detail: expect.stringContaining("a number that is larger than 1.8e308"),
    });
    const largest = "y".repeat(1024 * 1024 - 2);
    socket.send({ type: "job.completed", id: "big", job_id: id, lease: 1, result: largest });
    expect((await acked(socket, "big")).ok).toBe(true);
    expect((await read(id)).result).toBe(largest);
  });

  it("is closed with 4400 after an invalid frame", async () => {
    for (const frame of [
      "nonsense",
      "{",
      "",
      `[${"[".repeat(70)}${"]".repeat(70)}]`,
      "x".repeat(4 * 1024 * 1024 + 1),
    ]) {
      const socket = await worker("w1");
      socket.send(frame);
      expect([frame.slice(0, 5), (await socket.closed).code]).toEqual([frame.slice(0, 5), 4400]);
    }
    const socket = await worker("w1");
    socket.socket.send(new Uint8Array([1, 2, 3]));
    expect((await socket.closed).code).toBe(4400);
  });

  it("takes no more than its worker's key may: another's job stays another's", async () => {
    const socket = await worker("w1", { tags: "a" });
    const other = await world.withKey("worker");
    const theirs = await connectWorker(other.key ?? "", offer("w2", { tags: "b" }));
    const { id } = await create({ tags: ["b"] });
    await assigned(theirs, id);
    socket.send({ type: "job.completed", id: "1", job_id: id, lease: 1, result: "stolen" });
    expect((await acked(socket, "1")).problem.code).toBe("forbidden");
    expect((await read(id)).status).toBe("assigned");
  });

  it("hears of a cancel, a pause and a resume at once", async () => {
    const socket = await worker("w1");
    const { id } = await create();
    await assigned(socket, id);
    await world.ok("POST", `/api/jobs/${id}/cancel`);
    expect(await socket.next((message) => message.type === "job.halted")).toMatchObject({
      job_id: id,
      lease: 1,
      reason: "cancelled",
    });
    await world.ok("POST", "/api/workers/w1/pause", { reason: "update" });
    expect(await socket.next((message) => message.type === "worker.paused")).toMatchObject({ reason: "update" });
    await world.ok("POST", "/api/workers/w1/resume");
    await socket.next((message) => message.type === "worker.resumed");
    await world.ok("POST", "/killswitch", { level: 1, reason: "test" });
    expect((await socket.next((message) => message.type === "killswitch")).killswitch).toMatchObject({ level: 1 });
  });

  it("hears that the halt is over before it gets a job again", async () => {
    const socket = await worker("w1");
    await assigned(socket, (await create()).id);
    await world.ok("POST", "/killswitch", { level: 1, reason: "test" });
    await socket.next((message) => message.type === "killswitch");
    await world.ok("DELETE", "/killswitch?resume_all=true");
    await socket.next((message) => message.type === "job.assigned" && message.job.lease === 2);
    const heard = socket.messages.map(({ type }) => type).filter((type) => type !== "ack");
    expect(heard.slice(-3)).toEqual(["worker.resumed", "killswitch", "job.assigned"]);
  });

  it.skipIf(isOnLines)("keeps its worker alive with pings, also while the object sleeps", async () => {
    const socket = await worker("w1");
    const long = 120_000;
    await runInDurableObject(world.stub, (_object: Tenant, state: DurableObjectState) => {
      state.storage.sql.exec(
        "UPDATE workers SET record = json_set(record, '$.lastHeartbeatAt', record ->> 'lastHeartbeatAt' - ?)",
        long,
      );
      for (const one of state.getWebSockets()) {
        const attachment = one.deserializeAttachment() as { connectedAt: number };
        one.serializeAttachment({ ...attachment, connectedAt: attachment.connectedAt - long });
      }
    });
    await evictDurableObject(world.stub);
    expect((await view("w1")).status).toBe("offline");
    await evictDurableObject(world.stub);
    socket.send("ping");
    await socket.next((message) => message === "pong");
    expect(await view("w1")).toMatchObject({ status: "idle", connected: true });
    const { id } = await create();
    await assigned(socket, id);
  });
});
