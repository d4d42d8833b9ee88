// Bodies over 64 KiB: who is asked before they are read, and what is stored of those over 1 MiB.

import { listDurableObjectIds, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { DAY_MS } from "../../domain/words/duration.ts";
import { bodyName } from "../../durable-objects/object-name.ts";
import { holdUrl } from "../../durable-objects/relay/relay-request.ts";
import { newWorld, ORIGIN, ROOT_KEY, request } from "../support/workerd/client.ts";
import { edgeFetch } from "../support/workerd/edge.ts";
import { CHAT, chat, chatAnswer, fakeWorker, heldBody, post } from "../support/workerd/fake-worker.ts";

const KIB = 1024;
const PIECES = 100;
const PIECE = new TextEncoder().encode(" ".repeat(16 * KIB));

/** Sends a body of so many pieces without a declared length; tells how much of it was read. */
const sendSlowly = async (key: string | null, path: string) => {
  let read = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        read += 1;
        if (read > PIECES) controller.close();
        else controller.enqueue(PIECE.slice());
      },
    },
    { highWaterMark: 0 },
  );
  const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
  const answer = await edgeFetch(`${ORIGIN}${path}`, { method: "POST", headers, body });
  return { status: answer.status, text: await answer.text(), readKib: read * 16 };
};

const PATHS = [CHAT, "/v1/messages", "/api/jobs", "/api/jobs/batch", "/dispatch"];
/** 64 KiB, what the platform reads ahead, and the piece that shows that there is more. */
const MOST_READ_KIB = 64 + 48;

describe("before more than 64 KiB of a body are read", () => {
  it.each(PATHS)("a revoked key hears that it was revoked: %s", async (path) => {
    const world = await newWorld();
    const key = await world.withKey("standard");
    await world.delete(`/api/keys/${key.keyId}`);
    const { status, text, readKib } = await sendSlowly(key.key, path);
    expect([status, text.includes("revoked")]).toEqual([401, true]);
    expect(readKib).toBeLessThanOrEqual(MOST_READ_KIB);
  });

  it.each(PATHS)("a key above its rate hears 429: %s", async (path) => {
    const world = await newWorld();
    const key = await world.withKey("standard");
    await world.ok("PUT", "/config", { api: { limits: { requests_per_second: 0.01, burst: 1 } } });
    await key.get("/api/queue");
    const { status, readKib } = await sendSlowly(key.key, path);
    expect(status).toBe(429);
    expect(readKib).toBeLessThanOrEqual(MOST_READ_KIB);
  });

  it("a front door that is shut says so: the killswitch, a key without money", async () => {
    const world = await newWorld();
    const { key } = await world.ok("POST", "/api/keys", { name: "k", role: "client", limits: { day_usd: 0 } });
    const poor = await sendSlowly(key, CHAT);
    expect([poor.status, poor.text.includes("insufficient_quota")]).toEqual([429, true]);
    await world.ok("POST", "/killswitch", { level: 1, reason: "drill" });
    const halted = await sendSlowly(world.key, CHAT);
    expect([halted.status, halted.text.includes("killswitch_active")]).toEqual([503, true]);
    expect(Math.max(poor.readKib, halted.readKib)).toBeLessThanOrEqual(MOST_READ_KIB);
  });

  it.each([
    ["/api/jobs", 3],
    ["/api/jobs/batch", 3],
    ["/dispatch", 1],
  ])("a halted or a full tenant says so: %s", async (path, level) => {
    const world = await newWorld();
    const bound = (max_gb: number | null) =>
      request(ROOT_KEY, "PATCH", `/admin/tenants/${world.tenant}`, { max_gb }).then(({ status }) => status);
    expect(await bound(0)).toBe(200);
    const full = await sendSlowly(world.key, path);
    expect([full.status, full.text.includes("tenant_full")]).toEqual([507, true]);
    expect(await bound(null)).toBe(200);
    await world.ok("POST", "/killswitch", { level, reason: "drill" });
    const halted = await sendSlowly(world.key, path);
    expect([halted.status, halted.text.includes("killswitch_active")]).toEqual([503, true]);
    expect(Math.max(full.readKib, halted.readKib)).toBeLessThanOrEqual(MOST_READ_KIB);
  });

  it("a smaller body is read without asking, and is one request all the same", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { api: { limits: { requests_per_second: 0.01, burst: 2 } } });
    const body = { prompt: "x", input: "y".repeat(100_000) };
    expect((await world.post("/api/jobs", { prompt: "x" })).status).toBe(201);
    expect((await world.post("/api/jobs", body)).status).toBe(201);
    expect((await world.post("/api/jobs", body)).status).toBe(429);
  });
});

it("a body with more values than a body may have is refused as such, on every endpoint", async () => {
  const world = await newWorld();
  const values = Array.from({ length: 330_000 }, () => 1);
  const usual = await world.post("/api/jobs", { prompt: "x", input: values });
  expect([usual.status, usual.body.detail]).toEqual([400, expect.stringContaining("more than 320000 values")]);
  for (const filling of ["", "x".repeat(1_100_000)]) {
    const refused = await post(world.key, CHAT, chat({ values, filling }));
    expect([refused.status, await refused.whole]).toEqual([400, expect.stringContaining("more than 320000 values")]);
  }
});

describe("a body over 1 MiB", () => {
  const filling = "x".repeat(1_100_000);
  const bodiesOf = async (): Promise<number> => (await listDurableObjectIds(env.RELAY)).length;

  it("is stored for no request that is refused: its model, its limits, the killswitch", async () => {
    const world = await newWorld();
    await fakeWorker(world);
    const before = await bodiesOf();
    const models = await world.ok("POST", "/api/keys", { name: "k", role: "client", limits: { models: ["other"] } });
    const poor = await world.ok("POST", "/api/keys", { name: "k", role: "client", limits: { day_usd: 0 } });
    expect((await post(world.key, CHAT, chat({ model: "nobody's", filling }))).status).toBe(404);
    expect((await post(models.key, CHAT, chat({ filling }))).status).toBe(403);
    expect((await post(poor.key, CHAT, chat({ filling }))).status).toBe(429);
    expect((await post(world.key, CHAT, chat({ model: 7, filling }))).status).toBe(400);
    await world.ok("POST", "/killswitch", { level: 1, reason: "drill" });
    expect((await post(world.key, CHAT, chat({ filling }))).status).toBe(503);
    expect(await bodiesOf()).toBe(before);
  });

  it("reaches its worker as it was sent, but for what the edge changes", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { front_door: { aliases: { mine: { model: "m1" } } } });
    const worker = await fakeWorker(world);
    const sent = { filling, model: "mine", stream: true, stream_options: { a: 1 }, n: 1.0, text: "é😀" };
    const answering = post(world.key, CHAT, sent);
    const job = await worker.nextJob();
    const fetched = await world.get(job.input_url);
    expect(fetched.body).toEqual({ ...sent, model: "m1", stream_options: { a: 1, include_usage: true } });
    worker.fail(job, { code: "enough", retryable: false });
    await answering;
    const stateless = post(world.key, "/v1/responses", { input: "say hello", model: "m1", filling });
    const other = await worker.nextJob();
    expect(other.prompt).toBe("say hello");
    expect((await world.get(other.input_url)).body).toMatchObject({ store: false, model: "m1", filling });
    worker.complete(other, chatAnswer("hello"));
    await stateless;
  });

  it("reaches its worker without what is for the coordinator, wherever that stands", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const headers = { authorization: `Bearer ${world.key}`, "content-type": "application/json" };
    const rest = `"stream" : true, "model":"m1", "messages": [], "filling": "${filling}"`;
    for (const sent of [
      `{"edge":false,${rest}}`,
      `{${rest} , "edge": true }`,
      `{"seed": 12345678901234567891, "edge":false, "model":"m1"}`,
      `{"models":null, "edge":true, ${rest}}`,
      `{${rest}, "models" : null , "edge": false }`,
      `{${rest}, "models" : [] , "edge": true }`,
      `{"models":["m1"], "edge":true, ${rest}}`,
      `{"seed": 12345678901234567891, "model":"m1", "edge":true,"models":null}`,
    ]) {
      const answering = edgeFetch(`${ORIGIN}${CHAT}`, { method: "POST", headers, body: sent });
      const job = await worker.nextJob();
      expect(job.edge).toBe(!sent.includes("false"));
      const text = await (await edgeFetch(`${ORIGIN}${job.input_url}`, { headers })).text();
      for (const ours of ["edge", "models"]) expect(JSON.parse(text)).not.toHaveProperty(ours);
      expect(JSON.parse(text)).toMatchObject({ model: "m1" });
      expect(text.includes("12345678901234567891")).toBe(sent.includes("seed"));
      worker.fail(job, { code: "enough", retryable: false });
      await answering;
    }
  });

  it("belongs to the conversation of its tools by how these begin, if they are very long", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const outcomeWith = async (first: string, last: string): Promise<string | null> => {
      const tools = [{ name: first, description: "d".repeat(1_100_000) }, { name: last }];
      const answering = post(world.key, CHAT, chat({ tools }));
      worker.complete(await worker.nextJob(), chatAnswer("hello"));
      return (await answering).headers.get("x-signalbox-session");
    };
    expect(await outcomeWith("one", "a")).toBe("miss");
    expect(await outcomeWith("one", "b")).toBe("hit");
    expect(await outcomeWith("another", "a")).toBe("miss");
  });

  it("may be small, if it has numbers with more digits than a parser keeps: they reach its worker", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const sent = (seed: string) =>
      `{"seed": ${seed}, "messages": [{"role": "user", "content": "id: 12345678901234567"}], "model":"m1"}`;
    for (const [seed, isKept] of [
      ["12345678901234567891", true],
      ["-9007199254740993", true],
      ["1e400", true],
      ["9007199254740992", false],
      ["0.12345678901234567", false],
    ] as const) {
      const headers = { authorization: `Bearer ${world.key}`, "content-type": "application/json" };
      const answering = edgeFetch(`${ORIGIN}${CHAT}`, { method: "POST", headers, body: sent(seed) });
      const job = await worker.nextJob();
      if (isKept) {
        const url = `${ORIGIN}${job.input_url}`;
        expect(await (await edgeFetch(url, { headers })).text()).toBe(sent(seed));
      } else expect(job.input).toEqual(JSON.parse(sent(seed)));
      expect(job.prompt).toBe("id: 12345678901234567");
      worker.complete(job, chatAnswer("hello"));
      expect((await answering).status).toBe(200);
    }
  });

  it("keeps those digits beside a list of models that names no other one", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const headers = { authorization: `Bearer ${world.key}`, "content-type": "application/json" };
    for (const models of ["[]", '["m1"]']) {
      const body = `{"seed": 12345678901234567891, "models": ${models}, "messages": [], "model":"m1"}`;
      const answering = edgeFetch(`${ORIGIN}${CHAT}`, { method: "POST", headers, body });
      const job = await worker.nextJob();
      const text = await (await edgeFetch(`${ORIGIN}${job.input_url}`, { headers })).text();
      expect(text).toBe(`{"seed": 12345678901234567891, "messages": [], "model":"m1"}`);
      worker.complete(job, chatAnswer("hello"));
      expect((await answering).status).toBe(200);
    }
  });

  it("may be small, if it would be too large for its tenant once its numbers are written again", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const headers = { authorization: `Bearer ${world.key}`, "content-type": "application/json" };
    const sent = (numbers: number) =>
      `{"x":[${Array(numbers).fill("1e20").join(",")}], "messages": [{"role": "user", "content": "hi"}], "model":"m1"}`;
    for (const [numbers, isHeld] of [
      [60_000, true],
      [45_000, false],
    ] as const) {
      const answering = edgeFetch(`${ORIGIN}${CHAT}`, { method: "POST", headers, body: sent(numbers) });
      const job = await worker.nextJob();
      expect(job.input_url !== undefined).toBe(isHeld);
      if (isHeld) expect(await (await edgeFetch(`${ORIGIN}${job.input_url}`, { headers })).text()).toBe(sent(numbers));
      worker.complete(job, chatAnswer("hello"));
      expect((await answering).status).toBe(200);
    }
  });

  it("counts towards what its tenant stores, until its job ends", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const path = `/admin/tenants/${world.tenant}`;
    const stored = async (): Promise<number> =>
      (await request(ROOT_KEY, "PATCH", path, { max_gb: null })).body.stored_bytes;
    const before = await stored();
    const answering = post(world.key, CHAT, chat({ filling }));
    const job = await worker.nextJob();
    await expect.poll(async () => (await stored()) - before).toBeGreaterThan(filling.length);
    worker.complete(job, chatAnswer("hello"));
    await (await answering).whole;
    await expect.poll(async () => (await stored()) - before).toBeLessThan(filling.length);
  });

  it("goes into one of a few objects of its tenant, and leaves nothing in it, however many there are", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const names = new Set<string>();
    for (let count = 0; count < 20; count += 1) {
      const answering = post(world.key, CHAT, chat({ filling }));
      const job = await worker.nextJob();
      names.add(bodyName(world.tenant, job.id));
      expect((await world.get(job.input_url)).body.filling).toBe(filling);
      worker.complete(job, chatAnswer("hello"));
      await (await answering).whole;
    }
    expect(names.size).toBeLessThanOrEqual(16);
    for (const name of names) {
      const size = () => runInDurableObject(env.RELAY.getByName(name), (_, { storage }) => storage.sql.databaseSize);
      await expect.poll(size).toBeLessThan(100_000);
    }
  });

  it("is not kept after its job, also where the front door keeps all: its prompt is", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { front_door: { store: "all" } });
    const worker = await fakeWorker(world);
    for (const more of [{}, { filling }]) {
      const answering = post(world.key, CHAT, chat(more));
      const job = await worker.nextJob();
      worker.complete(job, chatAnswer("hello"));
      expect((await answering).status).toBe(200);
      const kept = await world.ok("GET", `/api/jobs/${job.id}`);
      expect(kept).toMatchObject({ status: "completed", prompt: "say hello" });
      expect(kept.input === null).toBe("filling" in more);
    }
  });

  it.each([
    ["32 MiB", "a", 32 * KIB * KIB],
    ["more than 16 MiB, with a character beyond Latin-1", "→", 17 * KIB * KIB],
  ])("reaches its worker whole: %s", async (_, first, bytes) => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const shell = new TextEncoder().encode(JSON.stringify(chat({ filling: first }))).length;
    const whole = first + "a".repeat(bytes - shell);
    const answering = post(world.key, CHAT, chat({ filling: whole }));
    const job = await worker.nextJob();
    const { status, body } = await world.get(job.input_url);
    expect([status, body.filling === whole]).toEqual([200, true]);
    worker.complete(job, chatAnswer("hello"));
    expect((await answering).status).toBe(200);
  });

  it("whose job never came is gone after 30 days, and what came later stays until its own time", async () => {
    const object = env.RELAY.getByName(bodyName(`lost-${crypto.randomUUID()}`, ""));
    for (const job of ["lost", "later"]) await object.fetch(holdUrl(job), { method: "POST", body: job });
    const age = (job: string) =>
      runInDurableObject(object, (_, { storage }) => {
        storage.sql.exec("UPDATE bodies SET held_at = held_at - ? WHERE job_id = ?", 30 * DAY_MS, job).toArray();
      });
    const statuses = () => Promise.all(["lost", "later"].map(async (job) => (await object.fetch(holdUrl(job))).status));
    await age("lost");
    expect(await runDurableObjectAlarm(object)).toBe(true);
    expect(await statuses()).toEqual([404, 200]);
    await age("later");
    expect(await runDurableObjectAlarm(object)).toBe(true);
    expect([await statuses(), await runDurableObjectAlarm(object)]).toEqual([[404, 404], false]);
  });

  it("goes with its tenant", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const answering = post(world.key, CHAT, chat({ filling }));
    const { id } = await worker.nextJob();
    expect(await heldBody(world.tenant, id)).not.toBe(null);
    await world.stub.destroy();
    await expect.poll(() => heldBody(world.tenant, id)).toBe(null);
    await (await answering).whole.catch(() => undefined);
  });

  it("goes with its tenant, also where no client waits that would let it go", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const later = { model: "m1", input: "say hello", background: true, filling };
    expect((await post(world.key, "/v1/responses", later)).status).toBe(200);
    const { id } = await worker.nextJob();
    expect(await heldBody(world.tenant, id)).not.toBe(null);
    await world.stub.destroy();
    await expect.poll(() => heldBody(world.tenant, id)).toBe(null);
  });

  it("has its metadata whole, however much text comes before it", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const messages = Array.from({ length: 5_000 }, () => ({ role: "user", content: "x".repeat(1_000) }));
    const metadata = { team: "t".repeat(200) };
    const answering = post(world.key, CHAT, chat({ messages, metadata, user: "u1" }));
    const job = await worker.nextJob();
    expect((await world.ok("GET", `/api/jobs/${job.id}`)).metadata).toEqual({ ...metadata, user: "u1" });
    worker.complete(job, chatAnswer("hello"));
    await answering;
  });

  it("has the members that are written again or repeated whole, however many numbers come before them", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const numbers = Array.from({ length: 5_000 }, (_, index) => index / 8);
    const streamed = post(world.key, CHAT, {
      ...{ logit_bias: numbers, filling, messages: [{ role: "user", content: "hi" }], model: "m1" },
      ...{ stream: true, stream_options: { every: 64 } },
    });
    const job = await worker.nextJob();
    expect((await world.get(job.input_url)).body.stream_options).toEqual({ every: 64, include_usage: true });
    worker.complete(job, chatAnswer("hello"));
    await (await streamed).whole;
    const repeated = {
      max_output_tokens: 4_096,
      temperature: 0.25,
      text: { format: { type: "json_schema", max: 12 } },
    };
    const input = [{ type: "message", role: "user", content: [{ type: "input_text", text: "hi", logprobs: numbers }] }];
    const later = { model: "m1", background: true, input, filling, ...repeated };
    expect(JSON.parse(await (await post(world.key, "/v1/responses", later)).whole)).toMatchObject(repeated);
  });

  it("with an Idempotency-Key is the same request only if it is the same body", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const headers = { "idempotency-key": "k" };
    const first = post(world.key, CHAT, chat({ filling, end: "a" }), headers);
    worker.complete(await worker.nextJob(), chatAnswer("hello"));
    expect((await first).status).toBe(200);
    const again = await post(world.key, CHAT, chat({ filling, end: "a" }), headers);
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
    expect((await post(world.key, CHAT, chat({ filling: `${filling}y`, end: "a" }), headers)).status).toBe(422);
  });
});
