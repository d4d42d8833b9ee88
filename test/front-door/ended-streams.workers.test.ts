// What ends an open stream at once, and what its client and its worker learn of it.

import { abortAllDurableObjects } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { clientClosed } from "../../domain/job/job-error.ts";
import { relayName } from "../../durable-objects/object-name.ts";
import { newWorld, ORIGIN, ROOT_KEY, request, type World } from "../support/workerd/client.ts";
import {
  CHAT,
  chatAnswer,
  chunk,
  DONE,
  fakeWorker,
  post,
  responseEvent,
  settled,
  statusOf,
  streamed,
  streaming,
} from "../support/workerd/fake-worker.ts";

/** A stream whose client reads nothing of its own accord. */
const askUnread = (world: World): Promise<Response> =>
  exports.default.fetch(`${ORIGIN}${CHAT}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${world.key}` },
    body: JSON.stringify(streaming()),
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
    const { worker, job, answer } = await openStream(world);
    const waiting = post(world.key, "/v1/embeddings", { model: "w1", input: "x" });
    await worker.nextJob();
    expect(await world.ok("POST", "/killswitch", { level: 1, reason: "drill" })).toMatchObject({ halted_jobs: 2 });
    expect(await answer.whole).toContain('"code":"killswitch_active"');
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

  it("with its tenant, as do the connections of its worker", async () => {
    const world = await newWorld();
    const { worker, answer } = await openStream(world);
    const lineClosed = worker.lineClosed();
    expect((await request(ROOT_KEY, "DELETE", `/admin/tenants/${world.tenant}`)).status).toBe(204);
    expect(await answer.whole).toContain('"code":"stream_lost"');
    expect([await lineClosed, (await worker.socket.closed).code]).toEqual([4401, 4401]);
  });

  it("when its key is revoked before the first word, whether a worker has its job or not", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { front_door: { commit_after_seconds: 0.1 } });
    const client = await world.withKey("client");
    const worker = await fakeWorker(world, { concurrency: 1 });
    const answers = [await post(client.key, CHAT, streaming({ model: "m1" }))];
    await worker.nextJob();
    answers.push(await post(client.key, CHAT, streaming({ model: "m1" })));
    await world.delete(`/api/keys/${client.keyId}`);
    for (const { whole } of answers) expect(await whole).toContain('"code":"invalid_api_key"');
  });

  it("when its key is rotated, at once or at the end of the grace; what came with the new secret goes on", async () => {
    const world = await newWorld();
    const client = await world.withKey("client");
    const first = await openStream(world, client.key, "w1");
    const named = { "idempotency-key": "ask-1" };
    const plain = { model: "w1", messages: [{ role: "user", content: "hi" }] };
    const waiting = post(client.key, CHAT, plain, named);
    const unanswered = await first.worker.nextJob();
    const path = `/api/keys/${client.keyId}/rotate`;
    const second: string = (await world.ok("POST", path)).key;
    expect(await first.answer.whole).toContain('"message":"the key was rotated: use the new one"');
    expect((await waiting).status).toBe(401);
    for (const { id } of [first.job, unanswered])
      expect(await statusOf(world, id)).toMatchObject({ status: "cancelled", code: "invalid_api_key" });

    // The same request with the new secret is a new one.
    const again = post(second, CHAT, plain, named);
    const repeated = await first.worker.nextJob();
    const third: string = (await world.ok("POST", path, { grace_seconds: 1 })).key;
    const other = await openStream(world, third, "w2");
    expect(await statusOf(world, repeated.id)).toMatchObject({ status: "assigned" });
    expect((await again).status).toBe(401);
    expect(await statusOf(world, repeated.id)).toMatchObject({ status: "cancelled", code: "invalid_api_key" });
    expect(await statusOf(world, other.job.id)).toMatchObject({ status: "running" });
    await world.ok("POST", `/api/jobs/${other.job.id}/cancel`);
    expect(await other.answer.whole).toContain('"code":"cancelled"');
  }, 15_000);

  it("not with the old secret, when its request was repeated with the new one", async () => {
    const world = await newWorld();
    const client = await world.withKey("client");
    const worker = await fakeWorker(world);
    const named = { "idempotency-key": "ask-1" };
    const plain = { model: "m1", messages: [{ role: "user", content: "hi" }] };
    const first = post(client.key, CHAT, plain, named);
    const job = await worker.nextJob();
    const { key } = await world.ok("POST", `/api/keys/${client.keyId}/rotate`, { grace_seconds: 1 });
    const repeated = post(key, CHAT, plain, named);
    await settled(1_500);
    expect(await statusOf(world, job.id)).toMatchObject({ status: "assigned" });
    worker.complete(job, chatAnswer("hello"));
    expect([(await repeated).status, (await first).status]).toEqual([200, 401]);
  }, 15_000);

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

  const HALF = 'data: {"half":';
  const RELAY_DIES = [
    [CHAT, chunk("Hel"), /^data: \{"error":\{.*"code":"stream_lost".*\}\}\n\n$/],
    [
      "/v1/responses",
      'event: response.created\ndata: {"type":"response.created","sequence_number":7,"response":{"id":"resp_1"}}\n\n',
      /^event: response\.failed\ndata: \{.*"sequence_number":8,.*\}\n\n$/,
    ],
    ["/v1/messages", 'event: message_start\ndata: {"type":"message_start"}\n\n', /^event: error\ndata: \{.*\}\n\n$/],
  ] as const;

  const begun = async (path: string, first: string) => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const input = path === "/v1/responses" ? { input: "hi" } : { messages: [{ role: "user", content: "hi" }] };
    const answering = post(world.key, path, { model: "m1", stream: true, max_tokens: 9, ...input });
    const job = await worker.nextJob();
    worker.speak(job, first);
    return { world, worker, job, answer: await answering };
  };

  it.each(RELAY_DIES)("%s, when its relay dies: behind a whole event, with the error", async (path, first, error) => {
    const { worker, job, answer } = await begun(path, first);
    await answer.until((text) => text.endsWith("\n\n"));
    const before = answer.text();
    worker.say(job, HALF);
    await settled(300);
    await abortAllDurableObjects();
    const whole = await answer.whole;
    expect(whole.startsWith(before)).toBe(true);
    expect(whole).not.toContain(HALF);
    expect(whole.slice(before.length).trimStart()).toMatch(error);
  });

  const SAYS_ITS_END = [
    [CHAT, chunk("Hel"), DONE],
    [
      "/v1/responses",
      responseEvent("response.created", 0, { response: { id: "r1" } }),
      responseEvent("response.completed", 1, { response: { id: "r1" } }),
    ],
    ["/v1/messages", 'event: message_start\ndata: {"type":"message_start"}\n\n', "event: message_stop\ndata: {}\n\n"],
  ] as const;

  it.each(SAYS_ITS_END)("%s, when its relay dies behind its end: without another one", async (path, first, last) => {
    const { world, worker, job, answer } = await begun(path, first);
    worker.say(job, last);
    await settled(300);
    await abortAllDurableObjects();
    const events = (await answer.whole).split("\n\n").filter((event) => event.trim() !== "");
    expect(events).toHaveLength(2);
    await settled(1_000);
    await world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: job.lease, result: { output: [] } });
    expect(await statusOf(world, job.id)).toMatchObject({ status: "completed" });
  });

  it("of the own API, when its relay dies: without an end, so that its reader comes again", async () => {
    const world = await newWorld();
    const { job, answer } = await openStream(world);
    const reader = streamed(
      (await exports.default.fetch(`${ORIGIN}/api/jobs/${job.id}/stream`, {
        headers: { authorization: `Bearer ${world.key}` },
      })) as unknown as Response,
    );
    await reader.until((text) => text.includes("event: chunk"));
    await abortAllDurableObjects();
    await expect(reader.whole).rejects.toThrow();
    expect(reader.text()).not.toContain("event: end");
    await answer.whole;
  });

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

  it("when its client leaves with the last event: its job is its worker's to report", async () => {
    const world = await newWorld();
    const { worker, job, answer } = await openStream(world);
    worker.say(job, DONE);
    await answer.until((text) => text.endsWith(DONE));
    await answer.cancel();
    await settled(500);
    expect(worker.heard).toEqual([]);
    worker.complete(job, chatAnswer("x"));
    await expect.poll(() => statusOf(world, job.id)).toMatchObject({ status: "completed" });
  });

  it("when the tenant hears before the relay that its client has left: its worker is told, and once", async () => {
    const world = await newWorld();
    const { worker, job, answer } = await openStream(world);
    const relay = env.RELAY.getByName(relayName(env, world.tenant, "w1"));
    const { code, message } = clientClosed;
    await relay.cut([{ instance: "w1", jobId: job.id, lease: job.lease, error: { code, message } }]);
    await answer.cancel().catch(() => undefined);
    await settled(300);
    expect(worker.heard).toEqual([{ type: "reader.gone", job_id: job.id, lease: job.lease }]);
  });

  it("when its client leaves 1 MiB unread", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const asking = askUnread(world);
    const job = await worker.nextJob();
    worker.speak(job, chunk("x"));
    const answer = (await asking) as unknown as Response;
    for (let sent = 0; sent < 60; sent += 1) worker.say(job, chunk("y".repeat(100_000)));
    await worker.socket.next(({ type, job_id }) => type === "job.halted" && job_id === job.id);
    expect((await answer.text()).slice(-500)).toContain('"code":"slow_reader"');
    expect(await statusOf(world, job.id)).toMatchObject({ status: "cancelled", code: "slow_reader" });
  });
});

describe("what a worker sends over HTTP faster than its client reads", () => {
  /** Twelve MB; the client has read nothing of it yet. */
  const sentAtOnce = async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const asking = askUnread(world);
    const job = await worker.nextJob();
    worker.start(job);
    const said = chunk("y".repeat(100_000)).repeat(120) + DONE;
    const sending = exports.default.fetch(`${ORIGIN}/api/jobs/${job.id}/stream?lease=${job.lease}`, {
      method: "POST",
      headers: { "content-type": "text/event-stream", authorization: `Bearer ${world.key}` },
      body: said,
    });
    return { world, worker, job, said, sending, answer: (await asking) as unknown as Response };
  };

  it("waits for it, and reaches it whole", async () => {
    const { worker, job, said, sending, answer } = await sentAtOnce();
    await settled(300);
    const whole = answer.text();
    expect((await sending).status).toBe(204);
    worker.complete(job, chatAnswer("y"));
    expect((await whole) === said).toBe(true);
  });

  it("ends its job when it reads nothing for a second", async () => {
    const { world, worker, job, sending } = await sentAtOnce();
    await worker.socket.next(({ type, job_id }) => type === "job.halted" && job_id === job.id);
    expect(await statusOf(world, job.id)).toMatchObject({ status: "cancelled", code: "slow_reader" });
    expect((await sending).status).toBe(409);
  });
});
