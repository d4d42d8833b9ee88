// Section 4 of the contract: how a worker's socket ends, and what becomes of its worker's leases.

import { exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import {
  ageJobs,
  alarm,
  type Body,
  connect,
  connectWorker,
  ORIGIN,
  restart,
  sleep,
} from "../../support/workerd/client.ts";
import { create, read, world } from "../../support/workerd/own-tenant.ts";
import {
  acked,
  assigned,
  bearer,
  dropped,
  key,
  offer,
  useSocketWorkers,
  view,
  worker,
} from "../../support/workerd/socket-worker.ts";

useSocketWorkers();

describe("a socket that ends", () => {
  it("is replaced by a newer one of its instance, which is given its unstarted leases again", async () => {
    const older = await worker("w1", { concurrency: 2 });
    const [running, waiting] = [await create(), await create()];
    await assigned(older, waiting.id);
    older.send({ type: "job.started", id: "1", job_id: running.id, lease: 1 });
    await acked(older, "1");
    const { socket: newer } = await connect("/api/workers/w1/connect", bearer(key));
    expect(await older.closed).toMatchObject({ code: 4409 });
    const welcome = await newer?.next((message) => message.type === "welcome");
    expect(welcome).toMatchObject({ worker: { instance: "w1", connected: true, current_load: 2 } });
    expect(welcome.jobs.map((job: Body) => [job.id, job.lease])).toEqual([[waiting.id, 1]]);
    if (newer === null) throw new Error("no socket");
    await assigned(newer, waiting.id);
    expect(newer.messages.some((message) => message.type === "job.assigned" && message.job.id === running.id)).toBe(
      false,
    );
    expect((await view("w1")).connected).toBe(true);
    await world.ok("POST", `/api/jobs/${running.id}/cancel`);
    await newer.next((message) => message.type === "job.halted" && message.job_id === running.id);
  });

  it("that is half open loses its leases in one sweep, and nobody has to resume its worker", async () => {
    const old = await worker("w", { concurrency: 8 });
    const jobs: Body[] = await Promise.all(Array.from({ length: 8 }, () => create()));
    for (const { id } of jobs) await old.next((message) => message.type === "job.assigned" && message.job.id === id);
    const ids = jobs.map(({ id }) => id as string);
    await ageJobs(world, ids, 60_000, ["assignedAt", "heartbeatAt"]);
    const readAll = () => Promise.all(jobs.map(({ id }) => world.ok("GET", `/api/jobs/${id}`)));
    const heldAfterAlarm = async () => {
      await alarm(world);
      return (await readAll()).filter(({ status, lease }) => status === "assigned" && lease === 1).length;
    };
    await expect.poll(heldAfterAlarm).toBe(0);
    await worker("w", { concurrency: 8 });
    expect(await world.ok("GET", "/api/workers/w")).toMatchObject({ paused: false });
    await expect
      .poll(async () => (await readAll()).map((job) => [job.status, job.assigned_worker]))
      .toEqual(jobs.map(() => ["assigned", "w"]));
  });

  it("takes no new jobs, but keeps its leases until it is back", async () => {
    const socket = await worker("w1", { concurrency: 3 });
    const held = await create();
    await assigned(socket, held.id);
    socket.socket.close(1000, "bye");
    await dropped("w1");
    const refused = await world.post("/dispatch", { prompt: "a" });
    expect(refused.status).toBe(503);
    expect(refused.body.workers[0].reasons.join()).toContain("socket");
    const waiting = await create();
    expect(await read(held.id)).toMatchObject({ status: "assigned", assigned_worker: "w1", lease: 1 });
    const { socket: again } = await connect("/api/workers/w1/connect", bearer(key));
    if (again === null) throw new Error("no socket");
    await assigned(again, held.id);
    await assigned(again, waiting.id);
  });

  it("takes no new jobs either where its worker reported over HTTP, until it does so again", async () => {
    await world.ok("POST", "/presence", offer("w1", { concurrency: 3 }));
    const { socket } = await connect("/api/workers/w1/connect", bearer(world.key));
    if (socket === null) throw new Error("no socket");
    await socket.next((message) => message.type === "welcome");
    await world.ok("POST", "/presence", offer("w1", { concurrency: 3 }));
    const first = await world.ok("POST", "/dispatch", { prompt: "a" });
    await assigned(socket, first.id);
    socket.socket.close(1000, "bye");
    await dropped("w1");
    expect((await world.post("/dispatch", { prompt: "a" })).status).toBe(503);
    await world.ok("POST", "/presence", offer("w1", { concurrency: 3 }));
    expect((await world.post("/dispatch", { prompt: "a" })).status).toBe(200);
  });

  it("ends with its key, with 4401", async () => {
    const doomed = await world.withKey("worker");
    const [first, second] = [
      await connectWorker(doomed.key ?? "", offer("w1")),
      await connectWorker(doomed.key ?? "", offer("w2")),
    ];
    const other = await worker("w3");
    await sleep(world);
    await world.delete(`/api/keys/${doomed.keyId}`);
    expect([(await first.closed).code, (await second.closed).code]).toEqual([4401, 4401]);
    const rotated = await world.withKey("worker");
    const third = await connectWorker(rotated.key ?? "", offer("w4"));
    await world.ok("POST", `/api/keys/${rotated.keyId}/rotate`);
    expect((await third.closed).code).toBe(4401);
    await dropped("w1");
    const { id } = await create();
    await assigned(other, id);
  });

  it("stays open if it was opened with the key's new secret, when the old secret's grace ends", async () => {
    const rotating = await world.withKey("worker");
    const old = await connectWorker(rotating.key ?? "", offer("w1"));
    const { key: fresh } = await world.ok("POST", `/api/keys/${rotating.keyId}/rotate`, { grace_seconds: 1 });
    const renewed = await connectWorker(fresh, offer("w2"));
    expect((await old.closed).code).toBe(4401);
    const { id } = await create();
    await assigned(renewed, id);
  });

  it("of the dashboard ends with its session", async () => {
    const session = await world.post("/session", { key: world.key });
    const cookie = (session.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    const { socket } = await connect("/live", { cookie, origin: ORIGIN });
    await socket?.next((message) => message.type === "snapshot");
    await exports.default.fetch(`${ORIGIN}/session`, { method: "DELETE", headers: { cookie, origin: ORIGIN } });
    expect((await socket?.closed)?.code).toBe(4401);
  });

  it("by a restart of the service costs nothing: the worker comes back and goes on", async () => {
    const socket = await worker("w1", { concurrency: 2 });
    const [running, waiting] = [await create(), await create()];
    await assigned(socket, waiting.id);
    socket.send({ type: "job.started", id: "1", job_id: running.id, lease: 1 });
    await acked(socket, "1");
    await restart(world);
    const again = await worker("w1", { concurrency: 2, jobs: [running.id] });
    expect((await acked(again, "hello")).halted).toEqual([]);
    again.send({ type: "job.completed", id: "2", job_id: running.id, lease: 1, result: 1 });
    expect((await acked(again, "2")).ok).toBe(true);
    await assigned(again, waiting.id);
  });
});
