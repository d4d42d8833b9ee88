// Answers that no report carries: over 1 MiB, or not JSON.

import { describe, expect, it } from "vitest";
import { newWorld, request, type World } from "../support/workerd/client.ts";
import { CHAT, chat, type FakeWorker, fakeWorker, post } from "../support/workerd/fake-worker.ts";

const LARGE = JSON.stringify({ object: "list", data: "x".repeat(1_200_000) });

interface Held {
  readonly id: string;
  readonly lease: number;
}

const put = async (world: World, { id, lease }: Held): Promise<string> => {
  const { key } = await world.withKey("standard");
  const raw = { raw: LARGE, headers: { "content-type": "application/json" } };
  const { status, body } = await request(key, "PUT", `/api/jobs/${id}/result?lease=${lease}`, undefined, raw);
  expect(status).toBe(201);
  return body.file.id;
};

/** Its worker stores the answer and reports its file. */
const answerBy = async (world: World, worker: FakeWorker) => {
  const job = await worker.nextJob();
  const file = await put(world, job);
  worker.complete(job, undefined, { result_file: file });
  return { job, file };
};

describe("an answer over 1 MiB", () => {
  it("passes to the client as its runtime wrote it, and is nowhere afterwards", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, "/v1/embeddings", { model: "m1", input: ["a"] });
    const { job, file } = await answerBy(world, worker);
    const answer = await answering;
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(answer.headers.get("x-signalbox-job")).toBe(job.id);
    expect(await answer.whole).toBe(LARGE);
    const read = await world.ok("GET", `/api/jobs/${job.id}`);
    expect(read).toMatchObject({
      status: "completed",
      result: null,
      result_file: null,
      result_bytes: LARGE.length,
    });
    await expect.poll(async () => (await world.get(`/api/files/${file}`)).status).toBe(404);
  });

  it("may be the answer to a client key, which then may not read any other file", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const client = await world.withKey("client");
    const answering = post(client.key, CHAT, chat());
    await answerBy(world, worker);
    expect(await (await answering).whole).toBe(LARGE);
  });

  it("can be had again for an hour under its idempotency key", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const again = { "idempotency-key": "k1" };
    const answering = post(world.key, CHAT, chat(), again);
    const { file } = await answerBy(world, worker);
    expect(await (await answering).whole).toBe(LARGE);
    const { expires_at } = await world.ok("GET", `/api/files/${file}`);
    expect(Math.round((Date.parse(expires_at) - Date.now()) / 60_000)).toBe(60);
    expect(await (await post(world.key, CHAT, chat(), again)).whole).toBe(LARGE);
    await world.delete(`/api/files/${file}`);
    const late = await post(world.key, CHAT, chat(), again);
    expect([late.status, JSON.parse(await late.whole).error.code]).toEqual([404, "not_found"]);
  });

  it("follows the line feeds of an answer that has begun", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { front_door: { commit_after_seconds: 0.1 } });
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, chat());
    const job = await worker.nextJob();
    worker.start(job);
    const answer = await answering;
    worker.complete(job, undefined, { result_file: await put(world, job) });
    expect((await answer.whole).trim()).toBe(LARGE);
  });

  it("of a stream is told by its size, once its events were all", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, chat({ stream: true }));
    const job = await worker.nextJob();
    worker.speak(job, 'data: {"choices":[{"delta":{"content":"hi"}}]}\n\ndata: [DONE]\n\n');
    worker.end(job);
    worker.complete(job, undefined, { result_bytes: 2_000_000 });
    expect(await (await answering).whole).toContain('"hi"');
    const read = await world.ok("GET", `/api/jobs/${job.id}`);
    expect(read).toMatchObject({ status: "completed", result: null, result_bytes: 2_000_000, result_file: null });
  });

  it("whose events are no longer to be had is an error, never an empty answer", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, chat({ stream: true }));
    const job = await worker.nextJob();
    worker.complete(job, undefined, { result_bytes: 2_000_000 });
    worker.end(job);
    const answer = await answering;
    expect([answer.status, JSON.parse(await answer.whole).error.code]).toEqual([502, "stream_lost"]);
  });

  it("of a stream whose runtime sent none passes as it is", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, chat({ stream: true }));
    const { job } = await answerBy(world, worker);
    worker.end(job);
    const answer = await answering;
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(await answer.whole).toBe(LARGE);
  });
});

it("only the streamed answer of a client's request is told by its size", async () => {
  const world = await newWorld();
  const worker = await world.withKey("worker");
  await world.ok("POST", "/api/jobs", { prompt: "go" });
  await worker.ok("POST", "/presence", { instance: "w", provider: "p", status: "idle" });
  const { jobs } = await worker.ok("POST", "/api/workers/w/claim", {});
  const { status, body } = await worker.post(`/api/jobs/${jobs[0].id}/complete`, {
    lease: jobs[0].lease,
    result_bytes: 2_000_000,
  });
  expect([status, body.errors[0].path]).toEqual([400, "result_bytes"]);
});
