// Idempotency-Key: endpoints that support it answer a repeated request as the first time; the others refuse it.

import { beforeEach, describe, expect, it } from "vitest";
import { inStorage, newWorld, request, type World } from "../support/workerd/client.ts";

let world: World;
beforeEach(async () => {
  world = await newWorld();
});

const present = (instance: string, more: Record<string, unknown> = {}) =>
  world.ok("POST", "/presence", { instance, status: "online", provider: "echo", tags: "", ...more });

const withKey = (path: string, body: unknown, key: string) =>
  world.post(path, body, { headers: { "idempotency-key": key } });

describe("an idempotency key", () => {
  it("answers the same request with the first answer, byte for byte", async () => {
    await present("w1", { concurrency: 5 });
    for (const path of ["/api/jobs", "/dispatch", "/dispatch?queue=true"]) {
      const body = { prompt: "hello", input: { b: 1, a: [2] }, tags: ["x"].slice(1) };
      const key = `key-${path}`;
      const first = await withKey(path, body, key);
      expect(first.headers.has("idempotency-replayed")).toBe(false);
      await world.ok("POST", `/api/jobs/${first.body.id}/cancel`);
      const again = await withKey(path, { tags: [], input: { a: [2], b: 1 }, prompt: "hello" }, key);
      expect(again.headers.get("idempotency-replayed")).toBe("true");
      expect([path, again.status, again.text]).toEqual([
        path,
        first.status,
        first.text.replace('{"b":1,"a":[2]}', '{"a":[2],"b":1}'),
      ]);
      const exact = await withKey(path, body, key);
      expect(exact.text).toBe(first.text);
      const other = await withKey(path, { ...body, prompt: "other" }, key);
      expect([other.status, other.body.code]).toEqual([422, "idempotency_key_reused"]);
    }
    expect((await world.ok("GET", "/api/jobs")).total).toBe(3);
  });

  it("answers a dispatch that was queued as queued, also where the repetition does not ask for the queue", async () => {
    const first = await withKey("/dispatch?queue=true", { prompt: "hello" }, "k");
    const again = await withKey("/dispatch", { prompt: "hello" }, "k");
    expect([first.status, again.status, again.text]).toEqual([202, 202, first.text]);
  });

  it("stores little of an answer, and answers what an earlier release has stored", async () => {
    const body = { prompt: "p".repeat(9_000), tags: ["x"], metadata: { team: "a".repeat(200) }, max_attempts: 3 };
    const headers = { "idempotency-key": "k", traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" };
    const first = await world.post("/api/jobs", body, { headers });
    const answers = (storage: DurableObjectStorage) => storage.sql.exec("SELECT answer FROM idempotency").toArray();
    const [stored] = await inStorage(world, answers);
    expect(String(stored?.answer).length).toBeLessThan(400);
    expect((await withKey("/api/jobs", body, "k")).text).toBe(first.text);

    const { prompt: _prompt, input: _input, tags: _tags, ...rest } = first.body;
    const earlier = JSON.stringify({ ...rest, prompt: "", input: null, tags: [], status: "pending" });
    await inStorage(world, (storage) => storage.sql.exec("UPDATE idempotency SET answer = ?", earlier).toArray());
    expect((await withKey("/api/jobs", body, "k")).text).toBe(first.text);
  });

  it("is of its API key alone, and of the dashboard's sessions of that key", async () => {
    const other = await world.withKey("standard");
    const headers = { "idempotency-key": "k" };
    const first = await withKey("/api/jobs", { prompt: "a" }, "k");
    const others = await other.post("/api/jobs", { prompt: "b" }, { headers });
    expect([others.status, others.headers.has("idempotency-replayed"), others.body.prompt]).toEqual([201, false, "b"]);
    expect((await withKey("/api/jobs", { prompt: "a" }, "k")).text).toBe(first.text);
    expect((await other.post("/api/jobs", { prompt: "b" }, { headers })).text).toBe(others.text);
  });

  it("of an earlier release, which did not note whose it was, answers any key until it expires", async () => {
    const first = await withKey("/api/jobs", { prompt: "a" }, "k");
    await inStorage(world, (storage) => storage.sql.exec("UPDATE idempotency SET key_id = ''").toArray());
    expect((await withKey("/api/jobs", { prompt: "a" }, "k")).text).toBe(first.text);
  });

  it("keeps two requests that arrive together from making two jobs", async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => withKey("/api/jobs", { prompt: "a" }, "one")));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers.has("idempotency-replayed"))).toHaveLength(9);
  });

  it("is free again after a refusal, which leaves nothing", async () => {
    const body = { prompt: "a" };
    expect((await withKey("/dispatch", body, "k")).status).toBe(503);
    expect((await withKey("/dispatch", body, "k")).status).toBe(503);
    expect((await world.ok("GET", "/api/jobs")).total).toBe(0);
    await present("w1");
    const taken = await withKey("/dispatch", body, "k");
    expect([taken.status, taken.headers.has("idempotency-replayed")]).toEqual([200, false]);
    expect((await withKey("/dispatch", body, "k")).text).toBe(taken.text);
  });

  it("is 1 to 255 visible characters", async () => {
    for (const key of ["", "a b", "x".repeat(256), "a\tb"]) {
      const { status, body } = await withKey("/api/jobs", { prompt: "a" }, key);
      expect([key.slice(0, 3), status, body.errors?.[0].path]).toEqual([key.slice(0, 3), 400, "Idempotency-Key"]);
    }
    expect((await withKey("/api/jobs", { prompt: "a" }, "x".repeat(255))).status).toBe(201);
  });
});

describe("an idempotency key on a batch", () => {
  const jobs = [
    { prompt: "a", tags: ["x", "x", "y"] },
    { prompt: "b", input: { at: 2 } },
  ];

  it("makes its jobs once, and answers them as it did, even under the killswitch", async () => {
    const first = await withKey("/api/jobs/batch", { jobs }, "one");
    expect(first.status).toBe(201);
    await world.ok("POST", "/killswitch", { level: 3, reason: "drill" });
    const again = await withKey("/api/jobs/batch", { jobs }, "one");
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect((await withKey("/api/jobs/batch", { jobs }, "two")).body.code).toBe("killswitch_active");
    expect((await withKey("/api/jobs/batch", { jobs: jobs.slice(1) }, "one")).body.code).toBe("idempotency_key_reused");
    expect((await world.ok("GET", "/api/jobs")).total).toBe(2);
  });

  it("holds for the largest batch that there is", async () => {
    const many = Array.from({ length: 500 }, (_, at) => ({ prompt: `${at} ${"p".repeat(1_900)}` }));
    const first = await withKey("/api/jobs/batch", { jobs: many }, "large");
    expect(first.status).toBe(201);
    expect((await withKey("/api/jobs/batch", { jobs: many }, "large")).text).toBe(first.text);
  });
});

describe("an idempotency key on a schedule's run", () => {
  it("runs it once, and is of that schedule alone", async () => {
    for (const name of ["s", "t"]) await world.ok("POST", "/api/schedules", { name, interval: "1h", prompt: "x" });
    const first = await withKey("/api/schedules/s/run", undefined, "one");
    const again = await withKey("/api/schedules/s/run", undefined, "one");
    expect([again.status, again.text]).toEqual([200, first.text]);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect((await withKey("/api/schedules/t/run", undefined, "one")).body.code).toBe("idempotency_key_reused");
    expect((await world.ok("GET", "/api/schedules/s/history")).total).toBe(1);
  });
});

describe("an idempotency key where nothing is done for it", () => {
  it.each([
    ["PUT", "/config", {}],
    ["POST", "/killswitch", { level: 0, reason: "x" }],
    ["POST", "/api/keys", { name: "k", role: "worker" }],
    ["POST", "/api/schedules", { name: "s", interval: "1h", prompt: "x" }],
    ["PATCH", "/api/jobs/none", {}],
    ["DELETE", "/api/schedules/none", undefined],
    ["GET", "/api/jobs", undefined],
  ] as const)("is refused: %s %s", async (method, path, body) => {
    const headers = { "idempotency-key": "one" };
    const refused = await request(world.key, method, path, body, { headers });
    expect([refused.status, refused.body.errors?.[0]]).toEqual([
      400,
      { path: "Idempotency-Key", message: expect.stringContaining("has no effect on this endpoint") },
    ]);
    const stranger = await request("sk_no_key", method, path, body, { headers });
    expect(stranger.status).toBe(401);
  });
});
