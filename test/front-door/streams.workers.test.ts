import { exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { newWorld, ORIGIN, type World } from "../support/workerd/client.ts";
import {
  chat,
  chatAnswer,
  chunk,
  DONE,
  fakeWorker,
  joined,
  post,
  streamed,
  usageChunk,
} from "../support/workerd/fake-worker.ts";

const CHAT = "/v1/chat/completions";
const streaming = (more = {}) => chat({ stream: true, ...more });
const settled = (ms = 100) => new Promise((resolve) => setTimeout(resolve, ms));

const statusOf = async (world: World, id: string) => {
  const { status, error, attempts, lease } = await world.ok("GET", `/api/jobs/${id}`);
  return { status, code: error?.code ?? null, attempts, lease };
};

describe("a streamed answer", () => {
  it("is the runtime's own events, byte for byte, without the usage that nobody asked for", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, streaming());
    const job = await worker.nextJob();
    expect(job).toMatchObject({ stream: true, input: { stream_options: { include_usage: true } } });
    worker.start(job);
    worker.speak(job, chunk("Hel"));
    const answer = await answering;
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
    expect([answer.headers.get("x-accel-buffering"), answer.headers.get("cache-control")]).toEqual(["no", "no-store"]);
    expect(answer.headers.get("x-signalbox-worker")).toBe("w1");
    expect(await answer.until((text) => text !== "")).toBe(chunk("Hel"));
    worker.sendRaw(
      joined(`${job.id} ${job.lease}\n${chunk("lo", "stop")}${usageChunk}${DONE}`, `${job.id} ${job.lease} end\n`),
    );
    worker.complete(job, chatAnswer("Hello"));
    expect(await answer.whole).toBe(`${chunk("Hel")}${chunk("lo", "stop")}${DONE}`);
    const read = await world.ok("GET", `/api/jobs/${job.id}`);
    expect(read).toMatchObject({ status: "completed", result: chatAnswer("Hello"), stream: true });
    expect(read.first_token_at).not.toBeNull();
    const asking = post(world.key, CHAT, streaming({ stream_options: { include_usage: true } }));
    const second = await worker.nextJob();
    worker.speak(second, `${chunk("x")}${usageChunk}${DONE}`);
    worker.end(second);
    worker.complete(second, chatAnswer("x"));
    expect(await (await asking).whole).toBe(`${chunk("x")}${usageChunk}${DONE}`);
  });

  it("has a status for every failure that comes before its first event", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, streaming());
    worker.fail(await worker.nextJob(), { code: "bad_request", status: 400 });
    const answer = await answering;
    expect([answer.status, answer.headers.get("content-type")]).toEqual([400, "application/json"]);
    expect(JSON.parse(await answer.whole).error.code).toBe("bad_request");
  });

  it("begins after commit_after_seconds with comments, and tells a later failure in its own dialect", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { front_door: { commit_after_seconds: 0.1, keep_alive_seconds: 0.1 } });
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, streaming());
    const job = await worker.nextJob();
    const answer = await answering;
    expect(answer.status).toBe(200);
    await answer.until((text) => text.split(": keep-alive").length > 3);
    worker.fail(job, { code: "boom" });
    const [last] = (await answer.whole).split("\n\n").slice(-2);
    expect(JSON.parse(last?.replace("data: ", "") ?? "")).toMatchObject({
      error: { code: "boom", type: "server_error" },
    });
    const talking = post(world.key, "/v1/messages", streaming());
    const second = await worker.nextJob();
    worker.speak(second, 'event: message_start\ndata: {"type":"message_start"}\n\n');
    const said = await talking;
    await said.until((text) => text.includes(": keep-alive"));
    worker.end(second, { code: "boom", message: "broke", status: 500 });
    expect(await said.whole).toContain(
      'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"broke"}}',
    );
  });

  it("never looks whole when it was cut", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, streaming());
    const job = await worker.nextJob();
    worker.speak(job, chunk("Hel"));
    worker.end(job);
    const text = await (await answering).whole;
    expect(text).toContain('"code":"stream_lost"');
  });

  it("goes on with the next worker while nothing was said, and the client sees one clean stream", async () => {
    const world = await newWorld();
    const first = await fakeWorker(world, { instance: "w1" });
    const answering = post(world.key, CHAT, streaming());
    const job = await first.nextJob();
    first.start(job);
    const second = await fakeWorker(world, { instance: "w2" });
    first.socket.send({ type: "job.released", id: "r", job_id: job.id, lease: job.lease, reason: "leaving" });
    first.socket.send({ type: "presence", id: "p", instance: "w1", provider: "local", concurrency: 0 });
    const again = await Promise.race([second.nextJob(), first.nextJob()]);
    const holder = again.assigned_worker === "w2" ? second : first;
    expect(again.lease).toBe(2);
    await settled();
    first.say(job, chunk("lie"));
    holder.speak(again, `${chunk("true", "stop")}${DONE}`);
    holder.end(again);
    holder.complete(again, chatAnswer("true"));
    expect(await (await answering).whole).toBe(`${chunk("true", "stop")}${DONE}`);
  });

  it("begins although its worker has sent events of very many jobs that it does not have", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, streaming());
    const job = await worker.nextJob();
    worker.speak({ id: "none", lease: 1 }, chunk("no"));
    await settled();
    for (let lease = 2; lease < 5_000; lease += 1) worker.say({ id: "none", lease }, chunk("no"));
    worker.say(job, `${chunk("hi", "stop")}${DONE}`);
    worker.end(job);
    worker.complete(job, chatAnswer("hi"));
    expect(await (await answering).whole).toBe(`${chunk("hi", "stop")}${DONE}`);
  });

  it("is made of the result where its worker sent no events", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, streaming());
    const job = await worker.nextJob();
    worker.complete(job, chatAnswer("whole"));
    const text = await (await answering).whole;
    expect(text).toContain('"content":"whole"');
    expect(text.endsWith(DONE)).toBe(true);
  }, 15_000);

  it("is made of the result at once where its worker has ended it without a word", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, streaming());
    const job = await worker.nextJob();
    worker.end(job);
    await settled();
    worker.complete(job, chatAnswer("whole"));
    const completedAt = Date.now();
    expect(await (await answering).whole).toContain('"content":"whole"');
    expect(Date.now() - completedAt).toBeLessThan(2_000);
  });

  it("goes to another worker where one ends it with an error before its first word", async () => {
    const world = await newWorld();
    const first = await fakeWorker(world, { instance: "first" });
    const answering = post(world.key, CHAT, streaming());
    const job = await first.nextJob();
    const second = await fakeWorker(world, { instance: "second" });
    first.end(job, { code: "internal", message: "broke" });
    first.fail(job, { code: "internal", retryable: true });
    const again = await second.nextJob();
    second.speak(again, `${chunk("hello", "stop")}${DONE}`);
    second.end(again);
    second.complete(again, chatAnswer("hello"));
    const answer = await answering;
    expect(await answer.whole).toBe(`${chunk("hello", "stop")}${DONE}`);
    expect(answer.headers.get("x-signalbox-worker")).toBe("second");
  }, 15_000);

  it("goes to another worker where one says nothing for first_token_seconds, for as many attempts as a job has", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { front_door: { first_token_seconds: 0.2 }, jobs: { max_attempts: 2 } });
    const first = await fakeWorker(world, { instance: "first" });
    const answering = post(world.key, CHAT, streaming());
    const job = await first.nextJob();
    first.start(job);
    const second = await fakeWorker(world, { instance: "second" });
    second.start(await second.nextJob());
    const answer = await answering;
    expect([answer.status, JSON.parse(await answer.whole).error.code]).toEqual([504, "first_token_timeout"]);
    expect(await statusOf(world, job.id)).toMatchObject({ status: "failed", attempts: 2 });
  }, 15_000);

  it("is not cut by a burst that its reader had no time to read", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, streaming());
    const job = await worker.nextJob();
    worker.speak(job, chunk("Hel"));
    const answer = await answering;
    const part = `${job.id} ${job.lease}\n${chunk("y".repeat(900_000))}`;
    worker.sendRaw(joined(part, part, part, part));
    await answer.until((text) => text.length > 3_600_000);
    worker.say(job, DONE);
    worker.end(job);
    worker.complete(job, chatAnswer("y"));
    expect((await answer.whole).endsWith(DONE)).toBe(true);
  });

  it("ends with stream_lost when the data line is away for 5 s after its first word", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, streaming());
    const job = await worker.nextJob();
    worker.speak(job, chunk("Hel"));
    const answer = await answering;
    await answer.until((text) => text.includes("Hel"));
    worker.dropLine();
    expect(await answer.whole).toContain('"code":"stream_lost"');
  }, 15_000);
});

describe("an open stream ends at once, whatever its worker does,", () => {
  const openStream = async (world: World, key = world.key, instance = "w1") => {
    const worker = await fakeWorker(world, { instance, models: [instance] });
    const answering = post(key, CHAT, streaming({ model: instance }));
    const job = await worker.nextJob();
    worker.speak(job, chunk("Hel"));
    const answer = await answering;
    await answer.until((text) => text.includes("Hel"));
    return { worker, job, answer };
  };

  it("with the killswitch, at any level", async () => {
    const world = await newWorld();
    const { job, answer } = await openStream(world);
    const waiting = post(world.key, "/v1/embeddings", { model: "w1", input: "x" });
    await settled(50);
    await world.ok("POST", "/killswitch", { level: 1, reason: "drill" });
    const haltedAt = Date.now();
    expect(await answer.whole).toContain('"code":"killswitch_active"');
    expect(Date.now() - haltedAt).toBeLessThan(250);
    expect(await statusOf(world, job.id)).toMatchObject({ status: "cancelled", code: "killswitch_active" });
    const refused = await waiting;
    expect([refused.status, refused.headers.get("x-should-retry")]).toEqual([503, "false"]);
    expect((await post(world.key, CHAT, streaming())).status).toBe(503);
  });

  it("when its job is cancelled, and when its key is revoked", async () => {
    const world = await newWorld();
    const { worker, job, answer } = await openStream(world);
    await world.ok("POST", `/api/jobs/${job.id}/cancel`);
    expect(await answer.whole).toContain('"code":"cancelled"');
    worker.spent(job, 0.25);
    worker.spent(job, 0.25);
    await settled();
    expect((await world.ok("GET", "/api/cost?period=day")).total_usd).toBe(0.25);
    const client = await world.withKey("client");
    const other = await openStream(world, client.key, "w2");
    await world.delete(`/api/keys/${client.keyId}`);
    expect(await other.answer.whole).toContain('"code":"invalid_api_key"');
    expect(await statusOf(world, other.job.id)).toMatchObject({ status: "cancelled" });
  });

  it("when its worker's socket has been gone for 5 s: failed after the first word, back to the queue before", async () => {
    const world = await newWorld();
    const { worker, job, answer } = await openStream(world);
    const unsaid = post(world.key, CHAT, streaming({ model: "w1" }));
    const silent = await worker.nextJob();
    worker.socket.socket.close(1000, "");
    expect(await answer.whole).toContain('"code":"worker_lost"');
    expect(await statusOf(world, job.id)).toMatchObject({ status: "failed", code: "worker_lost", attempts: 1 });
    expect(await statusOf(world, silent.id)).toMatchObject({ status: "pending" });
    await world.ok("POST", `/api/jobs/${silent.id}/cancel`);
    expect(await (await unsaid).whole).toContain('"code":"cancelled"');
  }, 15_000);

  it("when its client leaves: the job is cancelled, and its worker told on both lines", async () => {
    const world = await newWorld();
    const { worker, job, answer } = await openStream(world);
    await answer.cancel();
    for (let tries = 0; tries < 40 && worker.heard.length === 0; tries += 1) {
      worker.say(job, chunk("more"));
      await settled(50);
    }
    expect(worker.heard).toEqual([{ type: "reader.gone", job_id: job.id, lease: job.lease }]);
    await worker.socket.next(({ type, job_id }) => type === "job.halted" && job_id === job.id);
    expect(await statusOf(world, job.id)).toMatchObject({ status: "cancelled", code: "client_closed" });
  });

  it("when its client leaves 1 MiB unread", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const asking = exports.default.fetch(`${ORIGIN}${CHAT}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${world.key}` },
      body: JSON.stringify(streaming()),
    });
    const job = await worker.nextJob();
    worker.speak(job, chunk("x"));
    await asking;
    for (let sent = 0; sent < 60; sent += 1) worker.say(job, chunk("y".repeat(100_000)));
    await worker.socket.next(({ type, job_id }) => type === "job.halted" && job_id === job.id);
    expect(await statusOf(world, job.id)).toMatchObject({ status: "cancelled", code: "slow_reader" });
  });
});

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

describe("turns of a conversation", () => {
  it("go to the worker that had the last one, which the answer and the score tell", async () => {
    const world = await newWorld();
    const workers = [await fakeWorker(world, { instance: "w1" }), await fakeWorker(world, { instance: "w2" })];
    const ask = async (body: object, headers = {}) => {
      const answering = post(world.key, CHAT, body, headers);
      const job = await Promise.race(workers.map((worker) => worker.nextJob()));
      const holder = workers[job.assigned_worker === "w1" ? 0 : 1];
      holder?.complete(job, chatAnswer("ok"));
      const answer = await answering;
      return { worker: job.assigned_worker, outcome: answer.headers.get("x-signalbox-session"), id: job.id };
    };
    const first = await ask(chat());
    expect(first.outcome).toBe("miss");
    const later = chat({
      messages: [...chat().messages, { role: "assistant", content: "ok" }, { role: "user", content: "more" }],
    });
    expect(await ask(later)).toMatchObject({ worker: first.worker, outcome: "hit" });
    const { events } = await world.ok("GET", `/api/jobs/${(await ask(later)).id}/events`);
    expect(events.find(({ type }: { type: string }) => type === "job.assigned").detail.breakdown.affinity).toBe(1);
    const named = await ask(chat({ model: "m1", messages: [{ role: "user", content: "other" }] }), {
      "x-session-id": "s",
    });
    expect(named.outcome).toBe("miss");
    expect((await ask(chat({ messages: [{ role: "user", content: "again" }] }), { "x-session-id": "s" })).outcome).toBe(
      "hit",
    );
    const metrics = (await world.get("/metrics")).text;
    expect(metrics).toContain('signalbox_affinity_total{outcome="hit"} 3');
  });
});
