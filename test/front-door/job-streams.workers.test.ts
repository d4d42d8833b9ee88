// A job's stream, read beside its front-door client or without one: numbered, resumable, over HTTP too.

import { exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { newWorld, ORIGIN, type World } from "../support/workerd/client.ts";
import {
  CHAT,
  chatAnswer,
  chunk,
  DONE,
  fakeWorker,
  post,
  settled,
  streamed,
  streaming,
} from "../support/workerd/fake-worker.ts";

describe("a job's stream", () => {
  const read = async (world: World, id: string, headers: Record<string, string> = {}) =>
    streamed(
      (await exports.default.fetch(`${ORIGIN}/api/jobs/${id}/stream`, {
        headers: { authorization: `Bearer ${world.key}`, ...headers },
      })) as unknown as Response,
    );

  it("tells late and second readers its chunks, numbered, and its end", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const created = await world.ok("POST", "/api/jobs", { prompt: "hello", model: "m1", stream: true });
    const job = await worker.nextJob();
    expect(job).toMatchObject({ id: created.id, api: null, stream: true });
    worker.start(job);
    worker.speak(job, 'data: {"text":"a"}\n\ndata: {"text":"b"}\n\n');
    const reader = await read(world, job.id);
    const early = await reader.until((text) => text.includes('"b"'));
    expect(early).toContain('event: status\ndata: {"status":"');
    expect(early).toContain('event: chunk\nid: 1.2\ndata: {"text":"b"}\n\n');
    const resumed = await read(world, job.id, { "last-event-id": "1.1" });
    const rest = await resumed.until((text) => text.includes('"b"'));
    expect(rest).not.toContain('"a"');
    worker.say(job, 'data: {"text":"c"}\n\n');
    expect(await resumed.until((text) => text.includes('"c"'))).toContain("id: 1.3");
    worker.end(job);
    worker.complete(job, "abc");
    for (const one of [reader, resumed])
      expect(await one.whole).toMatch(/event: end\ndata: \{"status":"completed".*\n\n$/);
    expect(await (await read(world, job.id)).whole).toMatch(/^event: end\ndata: /);
    expect((await read(world, "none")).status).toBe(404);
  });

  it("tells who opens it before a worker has the job the chunks of each attempt", async () => {
    const world = await newWorld();
    const { id } = await world.ok("POST", "/api/jobs", { prompt: "hello", model: "m1", stream: true });
    const reader = await read(world, id);
    await reader.until((text) => text.includes('"pending"'));
    const worker = await fakeWorker(world);
    const first = await worker.nextJob();
    worker.start(first);
    worker.speak(first, 'data: {"text":"a"}\n\n');
    await reader.until((text) => text.includes('id: 1.1\ndata: {"text":"a"}'));
    worker.socket.send({ type: "job.released", id: "r", job_id: id, lease: 1, reason: "it closes" });
    const second = await worker.nextJob();
    worker.start(second);
    worker.speak(second, 'data: {"text":"b"}\n\n');
    await reader.until((text) => text.includes('id: 2.1\ndata: {"text":"b"}'));
    worker.end(second);
    worker.complete(second, "b");
    expect(await reader.whole).toMatch(/event: end\ndata: \{"status":"completed".*\n\n$/);
  });

  it("tells a reader that was cut off the rest, also after the job's end", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    await world.ok("POST", "/api/jobs", { prompt: "hello", model: "m1", stream: true });
    const job = await worker.nextJob();
    worker.start(job);
    worker.speak(job, 'data: {"text":"a"}\n\ndata: {"text":"b"}\n\n');
    const reader = await read(world, job.id);
    await reader.until((text) => text.includes('"b"'));
    worker.say(job, 'data: {"text":"c"}\n\n');
    worker.end(job);
    worker.complete(job, "abc");
    await reader.whole;
    const END = 'event: end\ndata: {"status":"completed"';
    const resumed = await (await read(world, job.id, { "last-event-id": "1.2" })).whole;
    expect(resumed.startsWith(`event: chunk\nid: 1.3\ndata: {"text":"c"}\n\n${END}`)).toBe(true);
    expect((await (await read(world, job.id, { "last-event-id": "1.3" })).whole).startsWith(END)).toBe(true);
    // The rest was never here, or is not here any more.
    expect((await read(world, job.id, { "last-event-id": "1.9" })).status).toBe(410);
    expect((await (await read(world, job.id)).whole).startsWith(END)).toBe(true);
  });

  it("of a job that does not stream tells its end at once", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    await world.ok("POST", "/api/jobs", { prompt: "hello", model: "m1" });
    const job = await worker.nextJob();
    worker.start(job);
    const reader = await read(world, job.id);
    await reader.until((text) => text.includes("event: status"));
    await settled();
    const completedAt = Date.now();
    worker.complete(job, "abc");
    expect(await reader.whole).toMatch(/event: end\ndata: \{"status":"completed".*\n\n$/);
    expect(Date.now() - completedAt).toBeLessThan(2_000);
  });

  it("resumes within the last 1 MiB, and is gone beyond", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    await world.ok("POST", "/api/jobs", { prompt: "hello", model: "m1", stream: true });
    const job = await worker.nextJob();
    for (let sent = 0; sent < 20; sent += 1) worker.say(job, `data: {"text":"${"y".repeat(100_000)}"}\n\n`);
    await settled(200);
    expect((await read(world, job.id, { "last-event-id": "1.1" })).status).toBe(410);
    const late = await read(world, job.id, { "last-event-id": "1.18" });
    expect((await late.until((text) => text.includes("id: 1.20"))).includes("id: 1.18")).toBe(false);
    worker.end(job);
    worker.complete(job, "done");
    await late.whole;
  });

  it("comes over HTTP, too, and is answered early where nobody reads it or the lease is lost", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, streaming());
    const job = await worker.nextJob();
    const send = (body: BodyInit, lease = job.lease) =>
      exports.default.fetch(`${ORIGIN}/api/jobs/${job.id}/stream?lease=${lease}`, {
        method: "POST",
        headers: { authorization: `Bearer ${world.key}`, "content-type": "text/event-stream" },
        body,
      });
    expect((await send(chunk("no"), 7)).status).toBe(409);
    const sent = await send(`${chunk("hi", "stop")}${DONE}`);
    expect(sent.status).toBe(204);
    worker.complete(job, chatAnswer("hi"));
    expect(await (await answering).whole).toBe(`${chunk("hi", "stop")}${DONE}`);
  });
});
