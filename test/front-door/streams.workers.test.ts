import { describe, expect, it } from "vitest";
import { newWorld } from "../support/workerd/client.ts";
import {
  CHAT,
  chat,
  chatAnswer,
  chunk,
  DONE,
  fakeWorker,
  joined,
  post,
  settled,
  statusOf,
  streaming,
  usageChunk,
} from "../support/workerd/fake-worker.ts";

/** A stream whose worker has its job, and has said nothing. */
const begun = async () => {
  const world = await newWorld();
  const worker = await fakeWorker(world);
  const answering = post(world.key, CHAT, streaming());
  return { world, worker, answering, job: await worker.nextJob() };
};

describe("a streamed answer", () => {
  it("is the runtime's own events, byte for byte, without the usage that nobody asked for", async () => {
    const { world, worker, answering, job } = await begun();
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

  it.each(["all", 5, [], true])("leaves options that are none to its runtime: %j", async (options) => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, streaming({ stream_options: options }));
    const job = await worker.nextJob();
    expect(job.input.stream_options).toEqual(options);
    worker.fail(job, { code: "bad_request", status: 400 });
    expect((await answering).status).toBe(400);
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
    const { worker, answering, job } = await begun();
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
    const { worker, answering, job } = await begun();
    worker.speak({ id: "none", lease: 1 }, chunk("no"));
    await settled();
    for (let lease = 2; lease < 5_000; lease += 1) worker.say({ id: "none", lease }, chunk("no"));
    worker.say(job, `${chunk("hi", "stop")}${DONE}`);
    worker.end(job);
    worker.complete(job, chatAnswer("hi"));
    expect(await (await answering).whole).toBe(`${chunk("hi", "stop")}${DONE}`);
  });

  it("is made of the result where its worker sent no events", async () => {
    const { worker, answering, job } = await begun();
    worker.complete(job, chatAnswer("whole"));
    const text = await (await answering).whole;
    expect(text).toContain('"content":"whole"');
    expect(text.endsWith(DONE)).toBe(true);
  }, 15_000);

  it.each([null, "whole"])(
    "is lost where its worker sent no events and the result %j, which is no answer",
    async (result) => {
      const { worker, answering, job } = await begun();
      worker.end(job);
      await settled();
      worker.complete(job, result);
      const { status, whole } = await answering;
      expect([status, JSON.parse(await whole).error.code]).toEqual([502, "stream_lost"]);
    },
  );

  it("is made of the result at once where its worker has ended it without a word", async () => {
    const { worker, answering, job } = await begun();
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
    expect(answer.headers.get("x-should-retry")).toBe("false");
    expect(await statusOf(world, job.id)).toMatchObject({ status: "failed", attempts: 2 });
  }, 15_000);

  it("of sound may take longer than first_token_seconds to begin", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { front_door: { first_token_seconds: 0.2 } });
    const worker = await fakeWorker(world, { apis: ["audio/speech"] });
    const answering = post(world.key, "/v1/audio/speech", { model: "m1", input: "hello" });
    const job = await worker.nextJob();
    worker.start(job);
    await scheduler.wait(800);
    worker.speak(job, 'data: {"type":"speech.audio.delta","audio":"AAAA"}\n\ndata: {"type":"speech.audio.done"}\n\n');
    worker.end(job);
    worker.complete(job, null);
    const answer = await answering;
    expect([answer.status, await answer.whole, job.lease]).toEqual([200, "\0\0\0", 1]);
    expect(await statusOf(world, job.id)).toMatchObject({ status: "completed", attempts: 1 });
  }, 15_000);

  it("of sound whose event does not end is no sound, however much of it comes", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world, { apis: ["audio/speech"] });
    const answering = post(world.key, "/v1/audio/speech", { model: "m1", input: "hello" });
    const job = await worker.nextJob();
    worker.speak(job, `data: ${"A".repeat(200_000)}`);
    for (let said = 0; said < 12; said += 1) worker.say(job, "A".repeat(200_000));
    const answer = await answering;
    expect(answer.status).toBe(502);
    expect(await answer.whole).toContain('"stream_lost"');
  });

  it("is not cut by a burst that its reader had no time to read", async () => {
    const { worker, answering, job } = await begun();
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
    const { world, worker, answering, job } = await begun();
    worker.speak(job, chunk("Hel"));
    const answer = await answering;
    await answer.until((text) => text.includes("Hel"));
    worker.dropLine();
    expect(await answer.whole).toContain('"code":"stream_lost"');
    // Its worker is still there, and would go on with it.
    const ended = { status: "failed", error: { code: "stream_lost" } };
    await expect.poll(() => world.ok("GET", `/api/jobs/${job.id}`)).toMatchObject(ended);
  }, 30_000);
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
