// `api.limits` of the config: requests per second and in flight, for each key.

import { evictDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import type { Body } from "../support/workerd/client.ts";
import {
  CHAT,
  chat,
  chatAnswer,
  chunk,
  type FakeWorker,
  fakeWorker,
  post,
  type Streamed,
  streaming,
} from "../support/workerd/fake-worker.ts";
import { useOwnTenant, world } from "../support/workerd/own-tenant.ts";

useOwnTenant();

const limit = (limits: object) => world.ok("PUT", "/config", { api: { limits } });

it("no limit is the default, and every limit is visible in the config", async () => {
  expect((await world.ok("GET", "/config")).api).toEqual({
    limits: { requests_per_second: null, burst: null, in_flight: null },
  });
});

it("a key above its requests a second hears 429 with Retry-After, another key of the tenant does not", async () => {
  const busy = await world.withKey("standard");
  const calm = await world.withKey("standard");
  await limit({ requests_per_second: 0.01, burst: 3 });
  const answers = [];
  for (let times = 0; times < 5; times += 1) answers.push(await busy.get("/api/queue"));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429]);
  const refused = answers[3];
  expect(refused?.body).toMatchObject({ code: "rate_limited", status: 429, title: "Too many requests" });
  expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(50);
  expect(refused?.headers.get("content-type")).toBe("application/problem+json");
  expect((await calm.get("/api/queue")).status).toBe(200);
});

it("a request counts once, however often it asks the object: a list, a change of a job, a wait", async () => {
  const { id } = await world.ok("POST", "/api/jobs", { prompt: "x" });
  const key = await world.withKey("standard");
  await limit({ requests_per_second: 0.01, burst: 4 });
  const statuses = [
    (await key.get("/api/jobs")).status,
    (await key.get(`/api/jobs/${id}?wait=1`)).status,
    (await key.post("/api/jobs", { prompt: 1 })).status,
    (await key.get("/api/cost")).status,
    (await key.get("/api/queue")).status,
  ];
  expect(statuses).toEqual([200, 200, 400, 200, 429]);
});

it("the killswitch, heartbeats and job reports go on where a key has used its rate up", async () => {
  const key = await world.withKey("standard");
  await key.ok("POST", "/presence", { instance: "w1", provider: "p", tags: "" });
  const { id, lease } = await key.ok("POST", "/dispatch", { prompt: "x" });
  await limit({ requests_per_second: 0.01, burst: 1 });
  expect((await key.get("/api/queue")).status).toBe(200);
  expect((await key.get("/api/queue")).status).toBe(429);
  expect((await key.post("/presence", { instance: "w1", provider: "p", tags: "" })).status).toBe(200);
  expect((await key.post(`/api/jobs/${id}/heartbeat`, { lease })).status).toBe(200);
  expect((await key.post(`/api/jobs/${id}/complete`, { lease, result: 1 })).status).toBe(200);
  expect((await key.post("/killswitch", { level: 1, reason: "stop" })).status).toBe(200);
  expect((await key.delete("/killswitch")).status).toBe(200);
});

it("a key has no more requests under way than in_flight", async () => {
  const { id } = await world.ok("POST", "/api/jobs", { prompt: "x" });
  const key = await world.withKey("standard");
  await limit({ in_flight: 2 });
  const waits = Array.from({ length: 4 }, () => key.get(`/api/jobs/${id}?wait=1`));
  const statuses = (await Promise.all(waits)).map(({ status }) => status);
  expect(statuses.toSorted()).toEqual([200, 200, 429, 429]);
  expect((await key.get("/api/queue")).status).toBe(200);
});

/** Every way in which a streamed answer can end. */
const ENDINGS: Readonly<Record<string, (worker: FakeWorker, job: Body, answer: Streamed) => unknown>> = {
  "its runtime's own end": (worker, job) => {
    worker.end(job);
    worker.complete(job, chatAnswer("hello"));
  },
  "an error": (worker, job) => worker.fail(job, { code: "broke", retryable: false }),
  "its client that leaves": async (worker, job, answer) => {
    await answer.cancel();
    worker.say(job, chunk("more"));
  },
  "the killswitch": () => world.ok("POST", "/killswitch", { level: 1, reason: "drill" }),
};

it.each(Object.keys(ENDINGS))("a stream is under way until it has ended, by %s", async (ending) => {
  const worker = await fakeWorker(world);
  const key = await world.withKey("standard");
  await limit({ in_flight: 1 });
  const answering = post(key.key, CHAT, streaming());
  const job = await worker.nextJob();
  worker.start(job);
  worker.speak(job, chunk("hel"));
  const answer = await answering;
  await answer.until((text) => text !== "");
  expect((await key.get("/api/queue")).status).toBe(429);
  await ENDINGS[ending]?.(worker, job, answer);
  await answer.whole.catch(() => undefined);
  await expect.poll(async () => (await key.get("/api/queue")).status).toBe(200);
});

it("an answer that has begun with line feeds is under way until it is whole", async () => {
  const worker = await fakeWorker(world);
  const key = await world.withKey("standard");
  await world.ok("PUT", "/config", { api: { limits: { in_flight: 1 } }, front_door: { commit_after_seconds: 0.1 } });
  const answering = post(key.key, CHAT, chat());
  const job = await worker.nextJob();
  const answer = await answering;
  expect(await answer.until((text) => text !== "")).toBe("\n");
  expect((await key.get("/api/queue")).status).toBe(429);
  worker.complete(job, chatAnswer("late"));
  await answer.whole;
  await expect.poll(async () => (await key.get("/api/queue")).status).toBe(200);
});

it("an answer that is not streamed gives its share back however it ends", async () => {
  const worker = await fakeWorker(world);
  const key = await world.withKey("standard");
  await limit({ in_flight: 1 });
  const asked = async (headers: Record<string, string>, end: (job: Body) => void): Promise<number> => {
    const answering = post(key.key, CHAT, chat(), headers);
    end(await worker.nextJob());
    const { status, whole } = await answering;
    await whole.catch(() => undefined);
    await expect.poll(async () => (await key.get("/api/queue")).status).toBe(200);
    return status;
  };
  expect(await asked({}, (job) => worker.complete(job, chatAnswer("hello")))).toBe(200);
  expect(await asked({}, (job) => worker.fail(job, { code: "broke", retryable: false }))).toBe(500);
  for (const [path, body, status] of [
    ["/v1/chat/completions", {}, 400],
    ["/v1/chat/completions", { model: "nobody's" }, 404],
    ["/api/jobs", { prompt: 1 }, 400],
    ["/api/jobs/none/cancel", {}, 404],
    ["/api/keys", { name: "k", role: "worker" }, 403],
  ] as const) {
    expect([path, (await key.post(path, body)).status]).toEqual([path, status]);
    await expect.poll(async () => (await key.get("/api/queue")).status).toBe(200);
  }
});

it("a revoked key above its rate hears that it was revoked", async () => {
  const key = await world.withKey("standard");
  await limit({ requests_per_second: 0.01, burst: 1 });
  await key.get("/api/queue");
  await world.delete(`/api/keys/${key.keyId}`);
  expect((await key.get("/api/queue")).status).toBe(401);
});

it("a config that was stored before there were limits reads as without", async () => {
  await world.ok("PUT", "/config", { jobs: { max_attempts: 3 } });
  await world.stub.drain();
  await evictDurableObject(world.stub);
  expect((await world.get("/api/queue")).status).toBe(200);
});
