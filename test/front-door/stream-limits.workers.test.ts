// What an open stream costs its worker, its readers and its tenant: bounds, and ends that are true.

import { exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { type Body, newWorld, ORIGIN, type World } from "../support/workerd/client.ts";
import {
  CHAT,
  chatAnswer,
  chunk,
  DONE,
  fakeWorker,
  post,
  settled,
  statusOf,
  streamed,
  streaming,
} from "../support/workerd/fake-worker.ts";

const read = async (world: Pick<World, "key">, id: string, headers: Record<string, string> = {}, method = "GET") =>
  exports.default.fetch(`${ORIGIN}/api/jobs/${id}/stream`, {
    method,
    headers: { authorization: `Bearer ${world.key}`, ...headers },
  }) as unknown as Promise<Response>;

/** A streamed job that its worker has started and not said anything of. */
const startedStream = async () => {
  const world = await newWorld();
  const worker = await fakeWorker(world);
  await world.ok("POST", "/api/jobs", { prompt: "hello", model: "m1", stream: true });
  const job = await worker.nextJob();
  worker.start(job);
  return { world, worker, job };
};

describe("a data line", () => {
  it("of a name that nobody registered is refused, so that it makes no object", async () => {
    const world = await newWorld();
    const opened = await exports.default.fetch(`${ORIGIN}/api/workers/nobody/stream`, {
      headers: { upgrade: "websocket", authorization: `Bearer ${world.key}` },
    });
    expect(opened.status).toBe(404);
    await opened.text();
  });

  it("carries nothing of a job that another worker has: its readers get what that worker says", async () => {
    const world = await newWorld();
    const liar = await fakeWorker(world, { instance: "liar", models: ["other"] });
    const honest = await fakeWorker(world, { instance: "honest" });
    await world.ok("POST", "/api/jobs", { prompt: "hello", model: "m1", stream: true });
    const job = await honest.nextJob();
    liar.say(job, 'data: {"text":"lie"}\n\n');
    liar.end(job);
    honest.start(job);
    honest.say(job, 'data: {"text":"true"}\n\n');
    const reader = streamed(await read(world, job.id));
    await reader.until((text) => text.includes("true"));
    honest.end(job);
    honest.complete(job, "true");
    expect(await reader.whole).not.toContain("lie");
  });

  it("that another of the same worker replaces is not lost: its streams go on", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, streaming());
    const job = await worker.nextJob();
    worker.speak(job, chunk("Hel"));
    const answer = await answering;
    await answer.until((text) => text.includes("Hel"));
    await worker.openLine();
    // Longer than a lost line is waited for.
    await settled(5_500);
    worker.say(job, `${chunk("lo", "stop")}${DONE}`);
    worker.end(job);
    worker.complete(job, chatAnswer("Hello"));
    const said = (await answer.whole).replaceAll(": keep-alive\n\n", "");
    expect(said).toBe(`${chunk("Hel")}${chunk("lo", "stop")}${DONE}`);
  });

  it("has a second way over HTTP, where an event may come in two chunks, cut within a character", async () => {
    const { world, worker, job } = await startedStream();
    const reader = streamed(await read(world, job.id));
    await reader.until((text) => text.includes('"running"') || text.includes('"assigned"'));
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const sending = exports.default.fetch(`${ORIGIN}/api/jobs/${job.id}/stream?lease=${job.lease}`, {
      method: "POST",
      headers: { authorization: `Bearer ${world.key}`, "content-type": "text/event-stream" },
      body: readable as unknown as BodyInit,
    });
    const writer = writable.getWriter();
    const bytes = new TextEncoder().encode('data: {"text":"one"}\n\ndata: {"text":"zwölf"}\n\n');
    const half = bytes.indexOf(0xc3) + 1;
    await writer.write(bytes.slice(0, half));
    const first = await reader.until((text) => text.includes("one"));
    expect(first).not.toContain("zw");
    await writer.write(bytes.slice(half));
    expect(await reader.until((text) => text.includes("zw"))).toContain('id: 1.2\ndata: {"text":"zwölf"}\n\n');
    await writer.close();
    expect((await sending).status).toBe(204);
    worker.complete(job, "one zwölf");
    await reader.whole;
  });

  it("keeps what a worker says of its own job before anyone reads it", async () => {
    const { world, worker, job } = await startedStream();
    worker.say(job, 'data: {"text":"early"}\n\n');
    await settled(300);
    const reader = streamed(await read(world, job.id));
    expect(await reader.until((text) => text.includes("early"))).toContain("id: 1.1");
    worker.end(job);
    worker.complete(job, "early");
    await reader.whole;
  });
});

describe("a stream's readers", () => {
  it("are sixteen with one key", async () => {
    const { world, worker, job } = await startedStream();
    worker.say(job, 'data: {"text":"a"}\n\n');
    const readers = await Promise.all(Array.from({ length: 16 }, async () => streamed(await read(world, job.id))));
    for (const one of readers) await one.until((text) => text.includes('"a"'));
    const refused = await read(world, job.id);
    expect([refused.status, ((await refused.json()) as Body).code]).toEqual([429, "too_many_readers"]);
    worker.end(job);
    worker.complete(job, "a");
    for (const one of readers) expect(await one.whole).toContain('"completed"');
  });

  it("are not those who ask for the headers alone", async () => {
    const { world, worker, job } = await startedStream();
    worker.say(job, 'data: {"text":"a"}\n\n');
    for (let at = 0; at < 16; at += 1) expect((await read(world, job.id, {}, "HEAD")).status).toBe(200);
    const reader = await eventually(async () => {
      worker.say(job, 'data: {"text":"b"}\n\n');
      const answer = await read(world, job.id);
      expect(answer.status).toBe(200);
      return streamed(answer);
    });
    worker.end(job);
    worker.complete(job, "a");
    expect(await reader.whole).toContain('"completed"');
  });

  it("are sixteen together, whatever keys they read with; the next is refused, until one leaves", async () => {
    const { world, worker, job } = await startedStream();
    worker.say(job, 'data: {"text":"a"}\n\n');
    const [one, other, late] = await Promise.all([1, 2, 3].map(() => world.withKey("viewer")));
    if (one === undefined || other === undefined || late === undefined) throw new Error("no keys");
    const readers = await Promise.all(
      Array.from({ length: 16 }, async (_, at) => streamed(await read(at % 2 === 0 ? one : other, job.id))),
    );
    for (const reader of readers) await reader.until((text) => text.includes('"a"'));
    const refused = await read(late, job.id);
    expect([refused.status, ((await refused.json()) as Body).code]).toEqual([429, "too_many_readers"]);
    await readers.pop()?.cancel();
    const next = await eventually(async () => {
      // The platform tells of a reader that left with what is written next.
      worker.say(job, 'data: {"text":"b"}\n\n');
      const answer = await read(late, job.id);
      expect(answer.status).toBe(200);
      return answer;
    });
    worker.end(job);
    worker.complete(job, "a");
    for (const reader of [...readers, streamed(next)]) expect(await reader.whole).toContain('"completed"');
  });

  it("number on after the window has moved over parts of several events", async () => {
    const { world, worker, job } = await startedStream();
    const event = (number: number): string => `data: {"text":"<${number}>${"y".repeat(50_000)}"}\n\n`;
    for (let part = 0; part < 15; part += 1) worker.say(job, event(2 * part + 1) + event(2 * part + 2));
    await settled(300);
    expect((await read(world, job.id, { "last-event-id": "1.2" })).status).toBe(410);
    const resumed = streamed(await read(world, job.id, { "last-event-id": "1.28" }));
    const text = await resumed.until((said) => said.includes("<30>"));
    expect(text).toContain('id: 1.29\ndata: {"text":"<29>');
    expect(text).toContain('id: 1.30\ndata: {"text":"<30>');
    expect(text).not.toContain("<28>");
    worker.end(job);
    worker.complete(job, "y");
    await resumed.whole;
  });
});

describe("a stream that is told lost", () => {
  it("ends its job, too, and its worker is told", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, streaming());
    const job = await worker.nextJob();
    worker.speak(job, chunk("Hel"));
    const answer = await answering;
    await answer.until((text) => text.includes("Hel"));
    worker.end(job, { code: "stream_lost", message: "my line dropped" });
    expect(await answer.whole).toContain('"code":"stream_lost"');
    await worker.socket.next(({ type, job_id }) => type === "job.halted" && job_id === job.id);
    expect(await statusOf(world, job.id)).toMatchObject({ status: "failed", code: "stream_lost" });
  });

  it("because its end was missing fails, although its worker calls it complete later", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, streaming());
    const job = await worker.nextJob();
    worker.speak(job, chunk("Hel"));
    const answer = await answering;
    await answer.until((text) => text.includes("Hel"));
    worker.end(job);
    expect(await answer.whole).toContain('"code":"stream_lost"');
    await expect.poll(async () => (await statusOf(world, job.id)).status).toBe("failed");
    worker.complete(job, chatAnswer("Hel"));
    await settled();
    expect(await statusOf(world, job.id)).toMatchObject({ status: "failed", code: "stream_lost" });
  });
});

describe("a stream of /v1/responses that fails", () => {
  const RESPONSES = "/v1/responses";
  const asking = { model: "m1", input: "hello", stream: true, store: false };
  const said =
    'event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{"id":"resp_9","status":"in_progress"}}\n\n' +
    'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":1,"delta":"Hel"}\n\n';
  const lastOf = (text: string): Body => {
    const [name, data] = (text.split("\n\n").at(-2) ?? "").split("\n");
    return { name, ...JSON.parse((data ?? "").replace("data: ", "")) };
  };

  it("ends with response.failed and the next number, whatever ended it", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const open = async () => {
      const answering = post(world.key, RESPONSES, asking);
      const job = await worker.nextJob();
      worker.speak(job, said);
      const answer = await answering;
      await answer.until((text) => text.includes("Hel"));
      return { job, answer };
    };
    const ended = await open();
    worker.end(ended.job, { code: "runtime_unreachable", message: "broke" });
    const failed = { name: "event: response.failed", type: "response.failed", sequence_number: 2 };
    expect(lastOf(await ended.answer.whole)).toMatchObject({
      ...failed,
      response: {
        id: "resp_9",
        status: "failed",
        error: { code: "runtime_unreachable", message: "broke" },
        output: [],
      },
    });
    const cancelled = await open();
    await world.ok("POST", `/api/jobs/${cancelled.job.id}/cancel`);
    expect(lastOf(await cancelled.answer.whole)).toMatchObject({
      ...failed,
      response: { error: { code: "cancelled" } },
    });
  });

  it("passes the runtime's own end on, and adds none", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    for (const type of ["response.failed", "response.incomplete"]) {
      const answering = post(world.key, RESPONSES, asking);
      const job = await worker.nextJob();
      const own = `event: ${type}\ndata: {"type":"${type}","sequence_number":2,"response":{"id":"resp_9","usage":{"input_tokens":1,"output_tokens":2}}}\n\n`;
      worker.speak(job, said + own);
      worker.end(job, type === "response.failed" ? { code: "server_error", message: "its own" } : undefined);
      expect(await (await answering).whole).toBe(said + own);
    }
  });

  it("before it begins has an id all the same, once its status is sent", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { front_door: { commit_after_seconds: 0.1 } });
    const worker = await fakeWorker(world);
    const answering = post(world.key, RESPONSES, asking);
    const job = await worker.nextJob();
    const answer = await answering;
    worker.fail(job, { code: "boom" });
    const said = await answer.whole;
    // The AI SDK reads no created response without a time and a model, and would not come to the error.
    const { created_at: madeAt } = await world.ok("GET", `/api/jobs/${job.id}`);
    const first = said.split("\n").find((line) => line.startsWith("data: ")) ?? "";
    expect(JSON.parse(first.slice("data: ".length))).toMatchObject({
      type: "response.created",
      sequence_number: 0,
      response: { id: `resp_${job.id}`, created_at: Math.floor(Date.parse(`${madeAt}`) / 1000), model: asking.model },
    });
    expect(lastOf(said)).toMatchObject({
      type: "response.failed",
      sequence_number: 1,
      response: { id: `resp_${job.id}`, status: "failed", error: { code: "boom" } },
    });
  });
});

it("a complete stream still ends with its own words alone", async () => {
  const world = await newWorld();
  const worker = await fakeWorker(world);
  const answering = post(world.key, CHAT, streaming());
  const job = await worker.nextJob();
  worker.speak(job, `${chunk("hi", "stop")}${DONE}`);
  worker.end(job);
  worker.complete(job, chatAnswer("hi"));
  expect(await (await answering).whole).toBe(`${chunk("hi", "stop")}${DONE}`);
  expect(await statusOf(world, job.id)).toMatchObject({ status: "completed" });
});
