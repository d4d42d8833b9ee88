// Who may use the front door, and from which page: a client's key, and a browser's other origins.

import { exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { newWorld } from "../support/workerd/client.ts";
import { CHAT, chat, chatAnswer, fakeWorker, post } from "../support/workerd/fake-worker.ts";

describe("a page of another origin", () => {
  const ORIGIN = "https://chat.example";
  const readerOf = (answer: { headers: Headers }) => answer.headers.get("access-control-allow-origin");

  it("reads every answer where the config names its origin, refusals as well", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { front_door: { cors_origins: [ORIGIN] } });
    const worker = await fakeWorker(world);
    for (const [origin, reader] of [
      [ORIGIN, ORIGIN],
      ["https://other.example", null],
    ] as const) {
      const answering = post(world.key, CHAT, chat(), { origin });
      worker.complete(await worker.nextJob(), chatAnswer("hello"));
      const asked = [
        await answering,
        await post(world.key, CHAT, chat({ model: "none" }), { origin }),
        await post(world.key, "/v1/messages", { origin }, { origin }),
        await post(world.key, "/v1/none", {}, { origin }),
        await world.get("/v1/models", { headers: { origin } }),
        await world.get("/v1/models/m1", { headers: { origin } }),
      ];
      expect(asked.map(({ status }) => status)).toEqual([200, 404, 400, 404, 200, 200]);
      expect(asked.map(readerOf)).toEqual(asked.map(() => reader));
    }
  });

  it("reads why a request without a valid key is refused, and gets leave to ask", async () => {
    expect(readerOf(await post("nonsense", CHAT, chat(), { origin: ORIGIN }))).toBe(ORIGIN);
    const asking = { method: "OPTIONS", headers: { origin: ORIGIN, "access-control-request-headers": "x-api-key" } };
    const preflight = await exports.default.fetch(`https://signalbox.test${CHAT}`, asking);
    expect([preflight.status, readerOf(preflight)]).toEqual([204, ORIGIN]);
    expect(preflight.headers.get("access-control-allow-headers")).toBe("x-api-key");
    // Clients in browsers delete stored responses and files.
    expect(preflight.headers.get("access-control-allow-methods")).toBe("GET, POST, DELETE");
  });
});

describe("a client's key", () => {
  it("uses the front door, reads and cancels its own jobs, and nothing else", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const client = await world.withKey("client");
    const answering = post(client.key, CHAT, chat());
    const own = await worker.nextJob();
    const other = await world.ok("POST", "/api/jobs", { prompt: "x", tags: ["none"] });
    expect((await client.get(`/api/jobs/${own.id}`)).status).toBe(200);
    expect((await client.get(`/api/jobs/${other.id}`)).status).toBe(403);
    expect((await client.post(`/api/jobs/${other.id}/cancel`)).status).toBe(403);
    for (const path of ["/api/jobs", "/api/workers", "/config", "/metrics", "/killswitch", "/api/keys", "/presence"])
      expect([path, (await client.get(path)).status]).toEqual([path, 403]);
    expect((await client.post("/api/jobs", { prompt: "x" })).status).toBe(403);
    expect((await client.get("/v1/models")).status).toBe(200);
    expect((await client.post(`/api/jobs/${own.id}/cancel`)).status).toBe(200);
    expect((await answering).status).toBe(499);
  });

  it("gets no other model by writing one that it may use before its name", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world, { models: ["m1", "m2"] });
    const keyFor = async (models: readonly string[]): Promise<string> =>
      (await world.ok("POST", "/api/keys", { name: "limited", role: "client", limits: { models } })).key;
    const limited = await keyFor(["m1*"]);
    for (const body of [chat({ model: "m1/m2" }), chat({ model: "m1x/m2", models: ["m1"] })]) {
      const refused = await post(limited, CHAT, body);
      expect([refused.status, JSON.parse(await refused.whole).error.message]).toEqual([
        403,
        'this key does not allow model "m2"; it allows m1*',
      ]);
    }
    const answering = post(limited, CHAT, chat({ model: "m1", models: ["m1/m2"] }));
    worker.fail(await worker.nextJob(), { code: "overloaded", message: "no room", status: 503, retryable: false });
    expect((await answering).status).toBe(503);
    const exact = post(await keyFor(["org/m2"]), CHAT, chat({ model: "org/m2" }));
    const job = await worker.nextJob();
    expect(job.model).toBe("m2");
    worker.complete(job, {});
    expect((await exact).status).toBe(200);
  });

  it("gets no other model in another spelling, which some runtimes read as the same, in a small or a large body", async () => {
    const world = await newWorld();
    await fakeWorker(world, { models: ["m1", "m2"] });
    const limits = { models: ["m1"] };
    const { key } = await world.ok("POST", "/api/keys", { name: "limited", role: "client", limits });
    const long = { padding: "x".repeat(1024 * 1024) };
    for (const other of [{ Model: "m2" }, { MODEL: "m2", ...long }, { "\u017ftream": true }]) {
      const refused = await post(key, CHAT, { ...chat(), ...other });
      const { param, message } = JSON.parse(await refused.whole).error;
      expect([refused.status, param]).toEqual([400, Object.keys(other)[0]]);
      expect(message).toContain("must be written in small letters");
    }
  });

  it("gets no other model as a tool of its own, or after a refusal, in a small or a large body", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world, { models: ["m1", "m2"] });
    const limits = { models: ["m1*"] };
    const { key } = await world.ok("POST", "/api/keys", { name: "limited", role: "client", limits });
    const many = Array.from({ length: 300 }, (_, at) => ({ name: `t${at}`, description: "x".repeat(4_000) }));
    for (const other of [
      { fallbacks: [{ model: "m1" }, { model: "m2" }] },
      { fallbacks: ["m2"] },
      { tools: [{ type: "advisor", name: "advisor", model: "m2" }] },
      { tools: [...many, { type: "advisor", name: "advisor", model: "m2" }] },
    ]) {
      const refused = await post(key, CHAT, { ...chat(), ...other });
      expect([refused.status, JSON.parse(await refused.whole).error.message]).toEqual([
        403,
        'this key does not allow model "m2"; it allows m1*',
      ]);
    }
    const named = Array.from({ length: 101 }, (_, at) => `m1-${at}`);
    const refused = await post(key, CHAT, { ...chat(), fallbacks: named });
    expect([refused.status, JSON.parse(await refused.whole).error.param]).toEqual([400, "fallbacks"]);
    const own = { tools: [...many, "m2", { type: "advisor", model: "m1" }], fallbacks: named.slice(0, 99) };
    const answering = post(key, CHAT, { ...chat(), ...own });
    worker.complete(await worker.nextJob(), {});
    expect((await answering).status).toBe(200);
  });

  it("is held to its limits in the turn that makes the job", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world, { models: ["m1", "m2"] });
    const limits = { requests_per_minute: 2, models: ["m1*"] };
    const made = await world.ok("POST", "/api/keys", { name: "limited", role: "client", limits });
    const refused = await post(made.key, CHAT, chat({ model: "m2" }));
    expect([refused.status, JSON.parse(await refused.whole).error.code]).toEqual([403, "forbidden"]);
    for (const left of ["1", "0"]) {
      const answering = post(made.key, CHAT, chat());
      worker.complete(await worker.nextJob(), {});
      expect((await answering).headers.get("x-ratelimit-remaining-requests")).toBe(left);
    }
    const over = await post(made.key, CHAT, chat());
    expect([over.status, JSON.parse(await over.whole).error.code]).toEqual([429, "rate_limit_exceeded"]);
    expect(Number(over.headers.get("retry-after"))).toBeGreaterThan(0);
    const told = ["limit", "remaining"].map((what) => over.headers.get(`x-ratelimit-${what}-requests`));
    expect(told).toEqual(["2", "0"]);
    expect(over.headers.get("x-ratelimit-reset-requests")).toBe(`${over.headers.get("retry-after")}s`);
    await world.ok("PATCH", `/api/keys/${made.id}`, { limits: { concurrent: 1, day_usd: 1 } });
    const first = post(made.key, CHAT, chat());
    const job = await worker.nextJob();
    const busy = await post(made.key, CHAT, chat());
    expect([busy.status, JSON.parse(await busy.whole).error.code]).toEqual([429, "rate_limit_exceeded"]);
    worker.complete(job, {}, { cost_usd: 1.5 });
    await first;
    const broke = await post(made.key, CHAT, chat());
    expect([broke.status, JSON.parse(await broke.whole).error.code]).toEqual([429, "insufficient_quota"]);
    expect(broke.headers.get("x-should-retry")).toBe("false");
    expect((await world.ok("GET", "/api/keys")).keys[0].limits).toEqual({ concurrent: 1, day_usd: 1 });
  });
});
