import { exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { newWorld, ORIGIN, type World } from "../support/workerd/client.ts";
import { CHAT, chat, chatAnswer, chunk, fakeWorker, post, settled } from "../support/workerd/fake-worker.ts";

/** A worker without sockets; `write` adds to the open body of its stream. */
const streamOverHttp = (world: World, { id, lease }: { id: string; lease: number }) => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const answered = exports.default.fetch(`${ORIGIN}/api/jobs/${id}/stream?lease=${lease}`, {
    method: "POST",
    headers: { authorization: `Bearer ${world.key}`, "content-type": "text/event-stream" },
    body: readable as unknown as BodyInit,
  });
  return {
    write: (events: string) => writer.write(new TextEncoder().encode(events)),
    close: async () => {
      await writer.close();
      return (await answered).status;
    },
  };
};

describe("once a client has heard the first word of an answer, nobody repeats or continues it,", () => {
  it("though its worker streams over HTTP", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, chat({ stream: true }));
    const job = await worker.nextJob();
    const body = streamOverHttp(world, job as { id: string; lease: number });
    await body.write(chunk("Hel").replaceAll("\n", "\r\n"));
    const answer = await answering;
    await answer.until((text) => text.includes("Hel"));
    await settled();
    expect((await world.ok("GET", `/api/jobs/${job.id}`)).first_token_at).not.toBeNull();
    worker.fail(job, { code: "broke", retryable: true });
    expect(await answer.whole).toContain('"code":"broke"');
    expect(await world.ok("GET", `/api/jobs/${job.id}`)).toMatchObject({ status: "failed", attempts: 1 });
    await body.close().catch(() => undefined);
  });

  it("though its worker never says that it speaks", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, chat({ stream: true }));
    const job = await worker.nextJob();
    worker.say(job, chunk("Hel"));
    const answer = await answering;
    await answer.until((text) => text.includes("Hel"));
    worker.end(job, { code: "broke", message: "broke" });
    worker.fail(job, { code: "broke", retryable: true });
    expect(await answer.whole).toContain('"code":"broke"');
    await settled();
    expect(await world.ok("GET", `/api/jobs/${job.id}`)).toMatchObject({ status: "failed", error: { code: "broke" } });
  });

  it("and where its worker leaves the body of its stream without an end, the reader hears so after 5 s", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, chat({ stream: true }));
    const job = await worker.nextJob();
    const body = streamOverHttp(world, job as { id: string; lease: number });
    await body.write(chunk("Hel"));
    const answer = await answering;
    expect(await body.close()).toBe(204);
    expect(await answer.whole).toContain('"code":"stream_lost"');
  }, 15_000);
});

it("a runtime that asks to wait for an hour keeps no client from another worker", async () => {
  const world = await newWorld();
  const resting = await fakeWorker(world);
  const answering = post(world.key, CHAT, chat());
  const job = await resting.nextJob();
  const other = await fakeWorker(world, { instance: "w2", provider: "other" });
  resting.fail(job, { code: "overloaded", status: 503, retryable: true, retry_after_seconds: 3_600 });
  other.complete(await other.nextJob(), chatAnswer("hello"));
  expect((await answering).status).toBe(200);
});

it("a runtime that has asked to wait is not asked again where the next one asks to wait, too", async () => {
  const world = await newWorld();
  const rests = { code: "overloaded", status: 503, retryable: true, retry_after_seconds: 3_600 };
  const first = await fakeWorker(world);
  const answering = post(world.key, CHAT, chat());
  const job = await first.nextJob();
  const second = await fakeWorker(world, { instance: "w2", provider: "other" });
  first.fail(job, { ...rests, message: "the first rests" });
  second.fail(await second.nextJob(), { ...rests, message: "the second rests" });
  const answer = await answering;
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "3600"]);
  expect(await answer.whole).toContain("the second rests");
});
