// What a batch leaves to others and what stops it: room, keys, the killswitch, files, time.

import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { BatchRecord } from "../../domain/batch/batch.ts";
import { fileName } from "../../durable-objects/object-name.ts";
import { eventually } from "../support/eventually.ts";
import { batchWorker } from "../support/workerd/batch-worker.ts";
import {
  ageJob,
  alarm,
  type Body,
  type Client,
  inStorage,
  newWorld,
  ORIGIN,
  ROOT_KEY,
  request,
  type World,
} from "../support/workerd/client.ts";
import { begin, line, linesOf, numbered, own, upload, whenIs } from "../support/workerd/embedding-batches.ts";
import { copyRow } from "../support/workerd/rows.ts";

const rewrite = async (world: World, id: string, change: (batch: BatchRecord) => BatchRecord): Promise<void> => {
  await inStorage(world, (storage) => {
    const row = storage.sql.exec("SELECT record FROM batches WHERE id = ?", id).one();
    const batch = change(JSON.parse(row.record as string) as BatchRecord);
    storage.sql.exec("UPDATE batches SET record = ? WHERE id = ?", JSON.stringify(batch), id);
  });
  await evictDurableObject(world.stub);
};

it("holds a window of its lines open, and the rest stays in the file", async () => {
  const world = await newWorld();
  const { id } = await begin(world, numbered(2_000));
  await whenIs(world, id, "in_progress");
  await eventually(async () => expect((await world.get("/api/jobs?status=pending")).body.total).toBe(8));
  expect(await own(world, id)).toMatchObject({ total: 2_000, waiting: 2_000, running: 0 });
});

it("takes 100 batches at a time and no more, of one client 90", async () => {
  const world = await newWorld();
  const client = await world.withKey("client");
  const fill = async (by: Client, count: number): Promise<string> => {
    const file = await upload(by, numbered(1));
    const asked = { input_file_id: file, endpoint: "/v1/embeddings", completion_window: "24h" };
    for (let at = 0; at < count; at += 1) await by.ok("POST", "/v1/batches", asked);
    const { status, body, headers } = await by.post("/v1/batches", asked);
    expect([status, body.error.code, headers.get("retry-after")]).toEqual([429, "too_many_batches", "60"]);
    return body.error.message;
  };
  expect(await fill(client, 90)).toMatch(/key has 90 batches.*wait until some have ended$/);
  expect(await fill(world, 10)).toMatch(/tenant has 100 batches.*wait until some have ended$/);
});

it("keeps 10,000 batches that have ended and no more: one that is deleted makes room", async () => {
  const world = await newWorld();
  const file = await upload(world, numbered(1));
  const asked = { input_file_id: file, endpoint: "/v1/embeddings", completion_window: "24h" };
  const { id } = await world.ok("POST", "/v1/batches", asked);
  await world.ok("POST", `/v1/batches/${id}/cancel`);
  await whenIs(world, id, "cancelled");
  await copyRow(world, "batches", 9_999, { id: "'batch_' || i", record: "json_set(record, '$.id', 'batch_' || i)" });
  const refused = await world.post("/v1/batches", asked);
  expect([refused.status, refused.body.error.code]).toEqual([429, "too_many_batches"]);
  expect(refused.body.error.message).toContain("has 10000 batches, which is the maximum: delete some that have ended");
  await world.ok("DELETE", `/v1/messages/batches/msg${id}`);
  await world.ok("POST", "/v1/batches", asked);
});

it("keeps 9,000 of them of one client's key: others have the rest", async () => {
  const world = await newWorld();
  const client = await world.withKey("client");
  const asked = async (by: Client) => {
    const file = await upload(by, numbered(1));
    return { input_file_id: file, endpoint: "/v1/embeddings", completion_window: "24h" };
  };
  const { id } = await client.ok("POST", "/v1/batches", await asked(client));
  await client.ok("POST", `/v1/batches/${id}/cancel`);
  await whenIs(world, id, "cancelled");
  await copyRow(world, "batches", 8_999, { id: "'batch_' || i", record: "json_set(record, '$.id', 'batch_' || i)" });
  const refused = await client.post("/v1/batches", await asked(client));
  expect(refused.body.error.message).toContain("this key has 9000 batches");
  await world.ok("POST", "/v1/batches", await asked(world));
});

it("begins no line while the tenant stores as much as it may, and says so", async () => {
  const world = await newWorld();
  const worker = await batchWorker(world, undefined, { concurrency: 1 });
  await world.ok("POST", "/api/workers/w1/pause");
  const { id } = await begin(world, numbered(40));
  const open = await eventually(async () => {
    const { total } = (await world.get("/api/jobs?status=pending")).body;
    expect(total).toBeGreaterThan(0);
    return total;
  });
  const bound = (max_gb: number | null) => request(ROOT_KEY, "PATCH", `/admin/tenants/${world.tenant}`, { max_gb });
  await bound(0.000001);
  await world.ok("POST", "/api/workers/w1/resume");
  await eventually(async () => expect((await own(world, id)).completed).toBe(open));
  await alarm(world);
  expect(open).toBeLessThan(40);
  const waiting_reason = "the tenant stores as much as it may";
  expect(await own(world, id)).toMatchObject({ completed: open, waiting: 40 - open, waiting_reason });
  await bound(null);
  // It is looked at again after a minute, or when the object wakes.
  await evictDurableObject(world.stub);
  await alarm(world);
  await whenIs(world, id, "completed");
  await worker.stop();
});

it("leaves a place of its worker free, and other work goes first", async () => {
  const world = await newWorld();
  const held: Body[] = [];
  const worker = await batchWorker(
    world,
    (job) => {
      held.push(job);
      return null;
    },
    { concurrency: 3 },
  );
  const { id } = await begin(world, numbered(50));
  await eventually(() => expect(held.length).toBe(2));
  expect(await own(world, id)).toMatchObject({ running: 2, waiting: 48 });
  expect((await own(world, id)).waiting_reason).toContain("free for other work");
  const chat = await world.ok("POST", "/api/jobs", { prompt: "now", model: "m1", priority: "low" });
  await eventually(() => expect(held.map((job) => job.id)).toContain(chat.id));
  const later = await world.ok("POST", "/api/jobs", { prompt: "next", model: "m1", priority: "low" });
  const [first] = held;
  await world.ok("POST", `/api/jobs/${first?.id}/complete`, { lease: first?.lease, result: {} });
  await eventually(() => expect(held.map((job) => job.id)).toContain(later.id));
  expect(await own(world, id)).toMatchObject({ running: 1 });
  await worker.stop();
});

it("gives a worker no line in the quiet time after other work", async () => {
  const world = await newWorld();
  await world.ok("PUT", "/config", { batches: { quiet_seconds: 600 } });
  const worker = await batchWorker(world, (job) => (job.batch === null ? { result: "done" } : { result: {} }), {
    concurrency: 1,
  });
  await world.ok("POST", "/dispatch", { prompt: "chat", model: "m1" });
  await eventually(async () => expect((await world.get("/api/jobs?status=completed")).body.total).toBe(1));
  const { id } = await begin(world, numbered(3));
  await eventually(async () => expect((await own(world, id)).waiting_reason).toContain("until it is quiet"));
  expect(worker.jobs.filter(({ batch }) => batch !== null)).toEqual([]);
  await world.ok("PUT", "/config", { batches: { quiet_seconds: 0 } });
  await alarm(world);
  await whenIs(world, id, "completed");
  await worker.stop();
});

it("waits under the killswitch, goes on after it, and is cancelled at level 4", async () => {
  const world = await newWorld();
  const held: Body[] = [];
  const worker = await batchWorker(
    world,
    (job) => {
      held.push(job);
      return held.length > 10 ? { result: {} } : null;
    },
    { concurrency: 11 },
  );
  const { id } = await begin(world, numbered(60));
  await eventually(() => expect(held.length).toBe(10));
  await world.ok("POST", "/killswitch", { level: 1, reason: "test" });
  expect(await own(world, id)).toMatchObject({ running: 0, waiting: 60, waiting_reason: "killswitch level 1" });
  await world.ok("DELETE", "/killswitch?resume_all=true");
  await alarm(world);
  expect(await whenIs(world, id, "completed")).toMatchObject({ completed: 60, cancelled: 0 });
  await world.ok("POST", "/presence", { instance: "w1", provider: "local", concurrency: 0 }).catch(() => undefined);
  const other = await begin(world, numbered(40, "m2"));
  await whenIs(world, other.id, "in_progress");
  await world.ok("POST", "/killswitch", { level: 4 });
  const batch = await whenIs(world, other.id, "cancelled");
  expect(batch).toMatchObject({ total: 40, completed: 0, cancelled: 40 });
  expect((await linesOf(world, batch.error_file)).length).toBe(40);
  await worker.stop();
});

it("that is cancelled gives a line that comes back from its worker to no other", async () => {
  const world = await newWorld();
  const held: Body[] = [];
  const hold = (job: Body): null => {
    held.push(job);
    return null;
  };
  const worker = await batchWorker(world, hold, { concurrency: 4 });
  const { id } = await begin(world, numbered(3));
  await eventually(() => expect(held.length).toBe(3));
  await world.ok("POST", `/api/batches/${id}/cancel`);
  await world.ok("POST", "/killswitch", { level: 1 });
  expect(await own(world, id)).toMatchObject({ status: "cancelling", running: 0, waiting: 3 });
  await world.ok("DELETE", "/killswitch?resume_all=true");
  await alarm(world);
  expect(await whenIs(world, id, "cancelled")).toMatchObject({ completed: 0, cancelled: 3 });
  expect(held.length).toBe(3);
  await worker.stop();
});

it("that came under the killswitch begins when it is cleared", async () => {
  const world = await newWorld();
  const worker = await batchWorker(world, undefined);
  await world.ok("POST", "/killswitch", { level: 1 });
  const { id } = await begin(world, numbered(3));
  await whenIs(world, id, "in_progress");
  await alarm(world);
  await world.ok("DELETE", "/killswitch?resume_all=true");
  expect(await whenIs(world, id, "completed")).toMatchObject({ completed: 3 });
  await worker.stop();
});

it("expires with what it has, and tells of the rest", async () => {
  const world = await newWorld();
  let answered = 0;
  const says = (): { result: Body } | null => {
    answered += 1;
    return answered <= 5 ? { result: {} } : null;
  };
  const worker = await batchWorker(world, says, { concurrency: 40 });
  const { id } = await begin(world, numbered(300), "1h");
  await eventually(async () => expect(await own(world, id)).toMatchObject({ completed: 5 }));
  await worker.stop();
  await rewrite(world, id, (batch) => ({ ...batch, expiresAt: Date.now() - 1 }));
  await alarm(world);
  const batch = await whenIs(world, id, "expired");
  expect(batch).toMatchObject({ completed: 5, cancelled: 295 });
  const [out, err] = [await linesOf(world, batch.output_file), await linesOf(world, batch.error_file)];
  expect([out.length, err.length]).toEqual([5, 295]);
  for (const one of err) expect(one).toMatchObject({ response: null, error: { code: "batch_expired" } });
});

it("keeps its input while it is under way, and its outputs after that", async () => {
  const world = await newWorld();
  const { id, input_file_id: input } = await begin(world, numbered(3));
  await whenIs(world, id, "in_progress");
  const refused = await world.delete(`/v1/files/${input}`);
  expect([refused.status, refused.body.error.code]).toEqual([409, "file_in_use"]);
  const worker = await batchWorker(world);
  const batch = await whenIs(world, id, "completed");
  await worker.stop();
  expect((await world.delete(`/api/files/${input}`)).status).toBe(204);
  expect((await world.get(`/api/files/${input}`)).status).toBe(404);
  expect((await linesOf(world, batch.output_file)).length).toBe(3);
  expect((await world.delete(`/api/files/${batch.output_file}`)).status).toBe(204);
  expect((await own(world, id)).output_file).toBeNull();
});

it("has the cost of a line that was cut, though its job has left the object", async () => {
  const world = await newWorld();
  const pricing = { "*": { input_per_mtok: 1_000_000, output_per_mtok: 1_000_000 } };
  await world.ok("PUT", "/config", { providers: { paid: { pricing } } });
  const worker = await batchWorker(world, () => null, { provider: "paid" });
  const { id } = await begin(world, numbered(2));
  await eventually(() => expect(worker.jobs.length).toBe(2));
  await worker.stop();
  for (const { id: job, lease } of worker.jobs) {
    await world.ok("POST", `/api/jobs/${job}/start`, { lease });
    await world.ok("POST", `/api/jobs/${job}/cancel`);
  }
  await whenIs(world, id, "completed");
  expect((await own(world, id)).cost_usd).toBe(0);
  await inStorage(world, ({ sql }) => void sql.exec("UPDATE unreported SET ended_at = ended_at - 60000"));
  for (const { id: job } of worker.jobs) await ageJob(world, job, 60_000, ["finishedAt", "updatedAt"]);
  await alarm(world);
  const total = async (): Promise<number> => (await world.ok("GET", "/api/cost?period=day")).total_usd;
  const estimated = await total();
  expect(estimated).toBeGreaterThan(0);
  expect((await own(world, id)).cost_usd).toBe(estimated);
  const [first] = worker.jobs;
  const usage = { input_tokens: 70, output_tokens: 30 };
  const late = await world.post(`/api/jobs/${first?.id}/complete`, { lease: first?.lease, result: {}, usage });
  expect(late.body.code).toBe("lease_lost");
  expect(await total()).not.toBe(estimated);
  expect((await own(world, id)).cost_usd).toBe(await total());
});

it("answers every line once, whatever crashes in between", async () => {
  const world = await newWorld();
  const worker = await batchWorker(world);
  const { id } = await begin(world, numbered(400));
  for (let at = 0; at < 12; at += 1) {
    await scheduler.wait(40);
    await evictDurableObject(world.stub).catch(() => undefined);
  }
  const batch = await eventually(async () => {
    await alarm(world);
    const now = await own(world, id);
    expect(now.status, JSON.stringify(now)).toBe("completed");
    return now;
  });
  const told = [...(await linesOf(world, batch.output_file)), ...(await linesOf(world, batch.error_file))];
  expect(told.map(({ custom_id: name }) => name).sort()).toEqual(
    numbered(400)
      .map((text) => JSON.parse(text).custom_id)
      .sort(),
  );
  await worker.stop();
});

it("keeps its tenant from moving, because its lines would stay behind", async () => {
  const world = await newWorld();
  const { id } = await begin(world, [line("a")]);
  await whenIs(world, id, "in_progress");
  const leave = () => request(ROOT_KEY, "POST", `/admin/tenants/${world.tenant}/move`, { to: "https://other.test" });
  const detail = "batches under way: 1. A batch's lines do not move: cancel each, or wait for its end";
  expect(await leave()).toMatchObject({ status: 409, body: { code: "batches_under_way", detail } });
  await world.ok("POST", `/api/batches/${id}/cancel`);
  await whenIs(world, id, "cancelled");
  expect((await leave()).status).toBe(200);
});

/** The only line's answer, stored by its worker as a file, before it says that the job is complete. */
const storeAnswer = async (world: World, id: string, answer: unknown) => {
  await whenIs(world, id, "in_progress");
  const worker = await world.withKey("worker");
  await worker.ok("POST", "/presence", { instance: "w1", provider: "local", models: ["m1"], apis: ["embeddings"] });
  const [job] = (await worker.ok("POST", "/api/workers/w1/claim?wait=10", { max: 1 })).jobs;
  const raw = JSON.stringify(answer, null, 1);
  const headers = { "content-type": "application/json" };
  const put = await worker.put(`/api/jobs/${job.id}/result?lease=${job.lease}`, undefined, { raw, headers });
  expect(put.status, put.text).toBe(201);
  const { file } = put.body;
  const complete = () => worker.ok("POST", `/api/jobs/${job.id}/complete`, { lease: job.lease, result_file: file.id });
  return { file, complete };
};

const STORED = "has an answer of %d characters that its worker stored in its output as any other, and no second copy";
it.each([1_500_000, 1_000])(STORED, async (chars) => {
  const world = await newWorld();
  const { id } = await begin(world, numbered(1));
  const answer = { data: "x".repeat(chars), text: "two\nlines" };
  const { file, complete } = await storeAnswer(world, id, answer);
  await complete();
  const { output_file: output } = await whenIs(world, id, "completed");
  const [told] = await linesOf(world, output);
  expect(told?.response.body).toEqual(answer);
  expect(told?.custom_id).toBe("m1-0");
  expect((await world.get(`/api/files/${file.id}`)).status).toBe(404);
  expect((await world.ok("GET", `/api/files/${output}`)).bytes).toBeGreaterThan(chars);
});

it("ends with a line whose answer somebody deleted before the batch had it", async () => {
  const world = await newWorld();
  const { id } = await begin(world, numbered(1));
  const { file, complete } = await storeAnswer(world, id, { data: "x".repeat(1_500_000) });
  await env.FILES.getByName(fileName(world.tenant, file.id)).drop();
  await complete();
  const [told] = await linesOf(world, (await whenIs(world, id, "completed")).output_file);
  expect(told?.response).toMatchObject({ status_code: 200, body: null });
});

it("tells webhooks how it ended, once", async () => {
  const world = await newWorld();
  const events = ["batch.completed", "batch.failed", "batch.cancelled", "batch.expired"];
  await world.ok("POST", "/api/webhooks", { url: "https://hook.example", events });
  const expired = await begin(world, numbered(2, "nobody"), "1h");
  // Once its lines are jobs, nothing else writes its record.
  await eventually(async () => expect((await world.get("/api/jobs?status=pending")).body.total).toBe(2));
  await rewrite(world, expired.id, (batch) => ({ ...batch, expiresAt: Date.now() - 1 }));
  await alarm(world);
  await whenIs(world, expired.id, "expired");
  const failed = await begin(world, ["no JSON"]);
  await whenIs(world, failed.id, "failed");
  const cancelled = await begin(world, numbered(2, "nobody"));
  await world.ok("POST", `/api/batches/${cancelled.id}/cancel`);
  await whenIs(world, cancelled.id, "cancelled");
  const worker = await batchWorker(world);
  const completed = await begin(world, numbered(3));
  await whenIs(world, completed.id, "completed");
  await worker.stop();
  const told = await inStorage(world, (storage) =>
    storage.sql
      .exec("SELECT body FROM deliveries")
      .toArray()
      .map(({ body }) => JSON.parse(body as string) as Body),
  );
  expect(told.map(({ type }) => type).sort()).toEqual([...events].sort());
  const data = Object.fromEntries(told.map((one) => [one.type, one.data]));
  for (const [status, { id }] of Object.entries({ completed, failed, cancelled, expired }))
    expect(data[`batch.${status}`]).toMatchObject({ id, status, url: `${ORIGIN}/api/batches/${id}` });
  expect(data["batch.completed"]).toMatchObject({ total: 3, completed: 3, failed: 0, cancelled: 0 });
  // Its cost may still change.
  expect(Object.keys(data["batch.completed"] ?? {})).toEqual(
    expect.not.arrayContaining([expect.stringMatching(/cost|usd|usage/)]),
  );
  expect(data["batch.expired"]).toMatchObject({ total: 2, completed: 0, cancelled: 2 });
});
