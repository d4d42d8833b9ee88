// Section 18, models on the machines: what a worker says of its machine, and the tasks for its models.

import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { type Body, Client, connect, inStorage, silence } from "../support/workerd/client.ts";
import { present, world } from "../support/workerd/own-tenant.ts";
import { acked, bearer, key, useSocketWorkers, worker } from "../support/workerd/socket-worker.ts";

useSocketWorkers();

const GPU = { name: "A", total_mb: 24_000, used_mb: 4_000, utilization: 12 };
const MACHINE = {
  hardware: { gpus: [GPU], ram_mb: 64_000, ram_free_mb: 32_000 },
  loaded: [{ model: "qwen3", vram_mb: 4_000, expires_at: "2026-11-22T12:00:00.000Z" }],
  on_disk: [{ model: "qwen3", bytes: 4_000_000_000 }],
  max_loaded: 1,
  can: ["pull", "load", "unload", "delete"],
};
const managed = { can: MACHINE.can };

const asked = (task: Record<string, unknown> = {}, instance = "w1") =>
  world.post(`/api/workers/${instance}/models`, { action: "pull", model: "qwen3", ...task });
const task = async (more: Record<string, unknown> = {}, instance = "w1"): Promise<Body> => {
  const { status, body } = await asked(more, instance);
  expect(status).toBe(202);
  return body.task;
};
const report = (id: string, verb: string, body: unknown = {}) => world.post(`/api/model-tasks/${id}/${verb}`, body);
const tasks = async (query = ""): Promise<Body[]> => (await world.ok("GET", `/api/model-tasks${query}`)).tasks;
const claim = async (): Promise<Body[]> => (await world.ok("POST", "/api/workers/w1/claim")).model_tasks;
const refused = ({ status, body }: { status: number; body: Body }) => [status, body.code];

describe("a worker's machine", () => {
  it("is listed as it was reported, also after a restart of the object, until a report says otherwise", async () => {
    const { worker: told } = await present("w1", MACHINE);
    expect(told).toMatchObject(MACHINE);
    await evictDurableObject(world.stub);
    expect((await world.ok("GET", "/api/workers")).workers[0]).toMatchObject(MACHINE);
    expect(await world.ok("GET", "/api/workers/w1")).toMatchObject(MACHINE);
    await present("w1", { ...MACHINE, loaded: [] });
    expect(await world.ok("GET", "/api/workers/w1")).toMatchObject({ ...MACHINE, loaded: [] });
    const nothing = { hardware: null, loaded: null, on_disk: null, max_loaded: null, can: null };
    expect((await present("w1")).worker).toMatchObject(nothing);
  });

  it("counts the names of its models against the bound of its offer", async () => {
    const names = Array.from({ length: 500 }, (_, at) => `m${at}`.padEnd(128, "x"));
    const offer = { instance: "w1", provider: "p", status: "idle", tags: "gpu" };
    for (const [field, list] of [
      ["loaded", names.map((model) => ({ model }))],
      ["on_disk", names.map((model) => ({ model, bytes: 1 }))],
    ] as const) {
      const { status, body } = await world.post("/presence", { ...offer, models: names.slice(0, 50), [field]: list });
      expect([status, body.errors]).toEqual([400, [expect.objectContaining({ path: field })]]);
    }
  });
});

describe("a task over HTTP", () => {
  it("is in the answers of claim and presence until its first report, and goes from queued to done", async () => {
    await present("w1", managed);
    const given = await task({ keep_alive: "30m" });
    expect(given).toMatchObject({
      worker: "w1",
      action: "pull",
      model: "qwen3",
      keep_alive: "30m",
      status: "queued",
      error: null,
      finished_at: null,
    });
    expect((await present("w1", managed)).model_tasks).toEqual([given]);
    expect(await claim()).toEqual([given]);
    const progress = { completed_bytes: 1, total_bytes: 4, bytes_per_second: 1.5, stage: "pulling manifest" };
    const { body: running } = await report(given.id, "progress", progress);
    expect(running).toMatchObject({ status: "running", progress });
    expect([await claim(), (await present("w1", managed)).model_tasks]).toEqual([[], []]);
    expect(await tasks("?worker=w1&status=running")).toEqual([running]);
    const { status, body: done } = await report(given.id, "done");
    expect([status, done.status, done.error]).toEqual([200, "done", null]);
    expect(Date.parse(done.finished_at)).toBeGreaterThanOrEqual(Date.parse(done.created_at));
    expect(await tasks("?status=done")).toEqual([done]);
    for (const verb of ["done", "progress"])
      expect(refused(await report(given.id, verb, verb === "done" ? {} : progress))).toEqual([409, "task_over"]);
    expect(refused(await report(given.id, "cancel"))).toEqual([409, "task_over"]);
  });

  it("that failed says why", async () => {
    await present("w1", managed);
    const { id } = await task();
    const error = { code: "model_too_large", message: "it has 40 GB" };
    expect((await report(id, "done", { error })).body).toMatchObject({ status: "failed", error });
  });

  it("that is cancelled is told until the worker reports on it, whose report is refused", async () => {
    await present("w1", managed);
    const { id } = await task();
    await report(id, "progress", { stage: "pulling" });
    const { status, body } = await report(id, "cancel");
    expect([status, body.status]).toEqual([200, "cancelled"]);
    await evictDurableObject(world.stub);
    expect(await claim()).toMatchObject([{ id, status: "cancelled" }]);
    expect((await present("w1", managed)).model_tasks).toMatchObject([{ id, status: "cancelled" }]);
    expect(refused(await report(id, "progress", { stage: "pulling" }))).toEqual([409, "task_over"]);
    expect(await claim()).toEqual([]);
  });

  it("ends a waiting claim, which then may wait although the task has no report yet", async () => {
    await present("w1", managed);
    const waiting = world.ok("POST", "/api/workers/w1/claim?wait=25");
    await expect.poll(async () => (await world.ok("GET", "/api/workers/w1")).status).toBe("idle");
    const given = await task();
    expect((await waiting).model_tasks).toMatchObject([{ id: given.id }]);
    // Only the end of the wait, not the task, ends the second claim.
    const again = world.ok("POST", "/api/workers/w1/claim?wait=1");
    expect((await again).model_tasks).toMatchObject([{ id: given.id }]);
  });

  it("that runs is given again when its worker is back", async () => {
    await present("w1", managed);
    const { id } = await task();
    await report(id, "progress", { stage: "pulling" });
    await silence(world, "w1");
    expect((await present("w1", managed)).model_tasks).toMatchObject([{ id, status: "running" }]);
  });

  it("that runs is given again when nothing was reported for as long as a worker may be silent", async () => {
    await present("w1", managed);
    const { id } = await task();
    await report(id, "progress", { stage: "pulling" });
    expect(await claim()).toEqual([]);
    await inStorage(world, (storage) => {
      storage.sql.exec("UPDATE model_tasks SET record = json_set(record, '$.progressAt', ?)", Date.now() - 61_000);
    });
    await evictDurableObject(world.stub);
    expect(await claim()).toMatchObject([{ id, status: "running" }]);
  });

  it("is its worker's alone to report on", async () => {
    const owner = await world.withKey("worker");
    await owner.ok("POST", "/presence", { instance: "w1", provider: "p", status: "idle", tags: "", ...managed });
    const { id } = await task();
    const other = await world.withKey("worker");
    expect(refused(await other.post(`/api/model-tasks/${id}/done`, {}))).toEqual([409, "instance_taken"]);
    expect((await owner.post(`/api/model-tasks/${id}/done`, {})).status).toBe(200);
  });
});

describe("a task is refused", () => {
  it("where the machine's owner allows none, where the runtime cannot do it, and for nobody", async () => {
    await present("w1");
    expect(refused(await asked())).toEqual([409, "models_not_managed"]);
    await present("w1", { can: ["load"] });
    expect(refused(await asked())).toEqual([409, "action_not_supported"]);
    expect((await asked({ action: "load" })).status).toBe(202);
    expect(refused(await asked({}, "nobody"))).toEqual([404, "not_found"]);
    expect((await asked({ action: "eat" })).status).toBe(400);
    expect(refused(await report("mt_none", "cancel"))).toEqual([404, "not_found"]);
  });

  it("for viewers and workers, who may not give any", async () => {
    await present("w1", managed);
    for (const role of ["worker", "viewer"] as const) {
      const { key: secret } = await world.withKey(role);
      const answer = await new Client(secret).post("/api/workers/w1/models", { action: "pull", model: "m" });
      expect(answer.status).toBe(403);
    }
  });

  it("while the killswitch is on, as far as it is a pull or a load", async () => {
    await present("w1", managed);
    await world.ok("POST", "/killswitch", { level: 1 });
    for (const action of ["pull", "load"]) expect(refused(await asked({ action }))).toEqual([503, "killswitch_active"]);
    const unload = await asked({ action: "unload" });
    expect(unload.status).toBe(202);
    await world.ok("POST", "/killswitch", { level: 4 });
    const cancel = () => world.post(`/api/model-tasks/${unload.body.task.id}/cancel`);
    expect(refused(await cancel())).toEqual([503, "killswitch_active"]);
    await world.ok("DELETE", "/killswitch");
    expect((await cancel()).status).toBe(200);
  });
});

describe("tasks in numbers", () => {
  it("an equal task that is not over stands for a second one", async () => {
    await present("w1", managed);
    const first = await task();
    expect((await task()).id).toBe(first.id);
    expect((await task({ action: "load" })).id).not.toBe(first.id);
    await report(first.id, "done");
    expect((await task()).id).not.toBe(first.id);
  });

  it("a worker has 100 tasks that are not over and no more", async () => {
    await present("w1", managed);
    for (let count = 0; count < 100; count += 1) await task({ model: `m${count}` });
    expect(refused(await asked())).toEqual([429, "too_many_model_tasks"]);
  });

  it("of the tasks that are over, the newest stay", async () => {
    await present("w1", managed);
    const first = await task({ model: "first" });
    await report(first.id, "done");
    for (let count = 0; count < 99; count += 1) await report((await task({ model: `m${count}` })).id, "done");
    const list = () => world.ok("GET", "/api/model-tasks?limit=1");
    expect((await list()).total).toBe(100);
    const last = await task({ model: "last" });
    expect(await list()).toMatchObject({ total: 100, tasks: [{ id: last.id }] });
    expect(refused(await report(first.id, "cancel"))).toEqual([404, "not_found"]);
  });

  it("are gone with their worker", async () => {
    await present("w1", managed);
    await task();
    await silence(world, "w1");
    expect((await world.delete("/api/workers/w1")).status).toBe(204);
    expect(await tasks()).toEqual([]);
  });

  it("fail when their worker comes back without allowing them", async () => {
    await present("w1", managed);
    const { id } = await task();
    await present("w1");
    expect(await tasks()).toMatchObject([{ id, status: "failed", error: { code: "models_not_managed" } }]);
  });
});

describe("a task over the socket", () => {
  const ofType = (type: string) => (message: Body) => message.type === type;

  it("is a message, reported by messages, each acknowledged", async () => {
    const socket = await worker("w1", managed);
    const given = await task();
    expect(await socket.next(ofType("model.task"))).toEqual({ type: "model.task", task_id: given.id, task: given });
    const progress = { completed_bytes: 1, total_bytes: 2, stage: "pulling" };
    socket.send({ type: "model.progress", id: "1", task_id: given.id, ...progress });
    expect(await acked(socket, "1")).toMatchObject({ ok: true });
    expect(await tasks()).toMatchObject([{ status: "running", progress }]);
    socket.send({ type: "model.done", id: "2", task_id: given.id });
    expect(await acked(socket, "2")).toMatchObject({ ok: true });
    expect(await tasks()).toMatchObject([{ status: "done" }]);
    socket.send({ type: "model.done", id: "3", task_id: given.id });
    expect(await acked(socket, "3")).toMatchObject({ ok: false, problem: { status: 409, code: "task_over" } });
  });

  it("is sent again to a worker that connects again, and the killswitch cancels it", async () => {
    const first = await worker("w1", managed);
    const { id } = await task();
    await first.next(ofType("model.task"));
    first.socket.close();
    const { socket } = await connect("/api/workers/w1/connect", bearer(key));
    expect(await socket?.next(ofType("model.task"))).toMatchObject({ task_id: id });
    const unload = await task({ action: "unload" });
    await world.ok("POST", "/killswitch", { level: 1 });
    expect(await socket?.next(ofType("model.task_cancelled"))).toEqual({ type: "model.task_cancelled", task_id: id });
    expect(await tasks()).toMatchObject([
      { id: unload.id, status: "queued" },
      { id, status: "cancelled" },
    ]);
  });

  it("is told without a stage, too", async () => {
    const socket = await worker("w1", managed);
    const { id } = await task();
    socket.send({ type: "model.progress", id: "1", task_id: id, completed_bytes: 1 });
    expect(await acked(socket, "1")).toMatchObject({ ok: true });
    expect(await tasks()).toMatchObject([{ status: "running", progress: { completed_bytes: 1, stage: "running" } }]);
  });

  it("is told to a live view that has just been opened", async () => {
    await worker("w1", managed);
    const { socket } = await connect("/live", bearer(world.key));
    const given = await task();
    expect((await socket?.next(ofType("model_task.updated")))?.task).toEqual(given);
  });

  it("is told to the dashboard's live view", async () => {
    await worker("w1", managed);
    const { socket } = await connect("/live", bearer(world.key));
    await socket?.next(ofType("snapshot"));
    const given = await task();
    expect((await socket?.next(ofType("model_task.updated")))?.task).toEqual(given);
  });
});

describe("placing a model", () => {
  const place = (more: Record<string, unknown> = {}): Promise<Body> =>
    world.ok("POST", "/api/models/place", { model: "qwen3", copies: 1, ...more });
  const onDisk = { on_disk: MACHINE.on_disk };

  it("chooses where it is on disk, counts the copies that there are, and says why", async () => {
    await present("cold", { ...managed, hardware: MACHINE.hardware });
    await present("warm", { ...managed, hardware: MACHINE.hardware, ...onDisk });
    await present("other");
    const dry = await place({ dry_run: true });
    expect(dry.tasks).toEqual([]);
    expect(dry.workers.map(({ instance }: Body) => instance)).toEqual(["warm", "cold", "other"]);
    expect(dry.workers[2]).toMatchObject({ score: null, reasons: [expect.stringContaining("--manage-models")] });
    const [best] = dry.workers;
    expect(best.score).toBe(Object.values(best.breakdown as Record<string, number>).reduce((a, b) => a + b));
    const placed = await place();
    expect(placed.tasks).toMatchObject([{ worker: "warm", action: "load", model: "qwen3", status: "queued" }]);
    expect((await place()).tasks).toEqual([]);
    expect((await place({ copies: 2 })).tasks).toMatchObject([{ worker: "cold", action: "pull" }]);
    expect((await place({ copies: 9 })).tasks).toEqual([]);
  });

  it("gives no copy to a worker that is paused, or that says it can take nothing, and says so", async () => {
    await present("away", { ...managed, ...onDisk, unavailable: "its runtime does not answer" });
    await present("rests", { ...managed, ...onDisk });
    await world.ok("POST", "/api/workers/rests/pause", { reason: "mending" });
    await present("works", managed);
    const { tasks, workers } = await place({ copies: 3 });
    expect(tasks).toMatchObject([{ worker: "works" }]);
    const reasons = Object.fromEntries(workers.map(({ instance, reasons: why }: Body) => [instance, why]));
    expect([reasons.away, reasons.rests]).toEqual([
      ["is unavailable: its runtime does not answer"],
      ["is paused: mending"],
    ]);
  });

  it("looks at each of a fleet whose machines say more than is read at a time", async () => {
    const names = Array.from({ length: 500 }, (_, index) => ({ model: `m${index}-${"x".repeat(100)}`, bytes: 1 }));
    for (let index = 0; index < 12; index += 1) await present(`w${index}`, { ...managed, on_disk: names });
    await present("last", { ...managed, ...onDisk });
    const { tasks, workers } = await place({ copies: 13 });
    expect(workers).toHaveLength(13);
    expect(workers[0].instance).toBe("last");
    expect(new Set(tasks.map(({ worker }: Body) => worker)).size).toBe(13);
  });

  it("places on workers with the tags only, and nothing while the killswitch is on", async () => {
    await present("w1", managed);
    await present("w2", { ...managed, tags: "gpu" });
    expect((await place({ tags: ["gpu"], dry_run: true })).workers).toHaveLength(1);
    await world.ok("POST", "/killswitch", { level: 1 });
    const answer = await world.post("/api/models/place", { model: "qwen3", copies: 1 });
    expect(refused(answer)).toEqual([503, "killswitch_active"]);
  });
});
