// What must not matter: the object's sleep between any two steps, history that is down, a queue full of jobs that no
// worker can take.

import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openStore } from "../../durable-objects/store/open.ts";
import { RECENT_CHARS } from "../../durable-objects/store/recent-rows.ts";
import { ageJob, type Body, inStorage, newWorld, type World } from "../support/workerd/client.ts";
import { holdToDocument } from "../support/workerd/document.ts";

let world: World;

holdToDocument();
beforeEach(async () => {
  world = await newWorld();
});

const present = (instance: string, more: Record<string, unknown> = {}): Promise<Body> =>
  world.ok("POST", "/presence", { instance, provider: "p", status: "idle", tags: "", ...more });

describe("an object that sleeps between any two steps", () => {
  it("changes nothing: the story is the same with and without", async () => {
    const story = async (between: () => Promise<unknown>): Promise<Body[]> => {
      world = await newWorld();
      const told: Body[] = [];
      const step = async (method: string, path: string, body?: unknown, key?: string): Promise<Body> => {
        const client = method === "GET" ? world.get(path) : undefined;
        const headers = key === undefined ? {} : { "idempotency-key": key };
        const answer = await (client ?? world[method === "PATCH" ? "patch" : "post"](path, body, { headers }));
        told.push([method, path.replace(/[0-9a-f-]{36}/g, "<id>"), answer.status, strip(answer.body)]);
        await between();
        return answer.body;
      };
      await step("POST", "/presence", { instance: "w1", provider: "p", tags: "gpu", status: "idle", concurrency: 2 });
      await step("POST", "/presence", { instance: "w2", provider: "q", tags: "gpu,eu", status: "idle" });
      const waiting = await step("POST", "/api/jobs", { prompt: "a", tags: ["tpu"] });
      const first = await step("POST", "/dispatch", { prompt: "b", tags: ["gpu"], provider: "p" }, "k1");
      await step("POST", "/dispatch", { prompt: "b", tags: ["gpu"], provider: "p" }, "k1");
      await step("POST", "/dispatch", { prompt: "other", tags: ["gpu"] }, "k1");
      await step("POST", "/api/workers/w2/pause", { reason: "x" });
      await step("POST", "/dispatch", { prompt: "c", provider: "q" });
      await step("POST", `/api/jobs/${first.id}/start`, { lease: 1 });
      await step("POST", `/api/jobs/${first.id}/heartbeat`, { lease: 1, progress: 1 });
      await step("POST", "/presence", {
        instance: "w1",
        provider: "p",
        tags: "gpu",
        status: "busy",
        concurrency: 2,
        jobs: [],
      });
      await step("POST", `/api/jobs/${first.id}/complete`, { lease: 1, result: "late" });
      await step("POST", `/api/jobs/${first.id}/start`, { lease: 2 });
      await step("POST", `/api/jobs/${first.id}/complete`, { lease: 2, result: "done" });
      await step("POST", `/api/jobs/${first.id}/complete`, { lease: 2, result: "done" });
      await step("POST", "/api/workers/w2/resume");
      await step("PATCH", `/api/jobs/${waiting.id}`, { tags: ["eu"], priority: "high" });
      await step("GET", `/api/jobs/${waiting.id}`);
      await step("POST", "/api/workers/w2/claim");
      await step("POST", `/api/jobs/${waiting.id}/fail`, { lease: 1, error: { code: "boom", message: "x" } });
      await step("POST", `/api/jobs/${waiting.id}/retry`);
      await step("POST", `/api/jobs/${waiting.id}/cancel`);
      await step("GET", `/api/jobs/${first.id}/events`);
      await step("GET", `/api/jobs/${waiting.id}/events`);
      await step("GET", "/api/jobs");
      await step("GET", "/api/workers");
      return told;
    };
    const awake = await story(() => world.stub.drain());
    const sleepy = await story(async () => {
      await world.stub.drain();
      await evictDurableObject(world.stub);
    });
    expect(sleepy).toEqual(awake);
  });
});

/** An answer without what differs from run to run: ids, instants, tenants, traces. */
const strip = (value: Body): Body => {
  if (Array.isArray(value)) return value.map(strip);
  if (typeof value === "string")
    return value
      .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "<id>")
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<at>")
      .replace(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/, "<trace>");
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).map(([name, inner]) => [name, name === "key_id" ? "<key>" : strip(inner)]);
  return Object.fromEntries(fields);
};

describe("with history away", () => {
  const TABLES = ["jobs", "events", "payloads", "audit"];
  const take = async (away: boolean): Promise<void> => {
    for (const table of TABLES) {
      const [from, to] = away ? [table, `${table}_away`] : [`${table}_away`, table];
      await env.DB.prepare(`ALTER TABLE ${from} RENAME TO ${to}`).run();
    }
  };
  let isAway = false;
  const setAway = async (away: boolean): Promise<void> => {
    if (away !== isAway) await take(away);
    isAway = away;
  };
  afterEach(() => setAway(false));

  it("dispatch, presence and the worker protocol go on, and reads of history say so", async () => {
    await present("w1", { concurrency: 2 });
    await setAway(true);
    const waiting = await world.ok("POST", "/api/jobs", { prompt: "a", tags: ["gpu"] });
    const job = await world.ok("POST", "/dispatch", { prompt: "hello" });
    await world.ok("POST", `/api/jobs/${job.id}/start`, { lease: 1 });
    await present("w2");
    await world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: 1, result: "done" });
    expect(await world.ok("GET", `/api/jobs/${job.id}`)).toMatchObject({ status: "completed", result: "done" });
    expect((await world.ok("GET", "/api/workers")).total).toBe(2);
    await world.ok("POST", `/api/jobs/${waiting.id}/cancel`);
    for (const path of ["/api/jobs", `/api/jobs/${job.id}/events`, "/api/audit", "/api/jobs/not-in-the-object"]) {
      const { status, headers, body } = await world.get(path);
      expect([path, status, body.code]).toEqual([path, 503, "history_unavailable"]);
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect((await world.post("/api/jobs/not-in-the-object/retry")).body.code).toBe("history_unavailable");
    await evictDurableObject(world.stub);
    expect(await world.ok("GET", `/api/jobs/${job.id}`)).toMatchObject({ status: "completed" });
    await setAway(false);
    const { jobs, total } = await world.ok("GET", "/api/jobs");
    expect([total, jobs.map((one: Body) => one.status)]).toEqual([2, ["completed", "cancelled"]]);
    const { events } = await world.ok("GET", `/api/jobs/${job.id}/events`);
    expect(events.map((one: Body) => one.type)).toEqual([
      "job.created",
      "job.assigned",
      "job.started",
      "job.completed",
    ]);
    const outbox = await inStorage(world, (storage) => storage.sql.exec("SELECT COUNT(*) AS n FROM outbox").one().n);
    expect(outbox).toBe(0);
  });
});

describe("ten thousand jobs that nobody can take", () => {
  it("do not block a job that a worker can take", async () => {
    await present("w1", { tags: "cpu", concurrency: 2 });
    for (let batch = 0; batch < 20; batch += 1) {
      const jobs = Array.from({ length: 500 }, (_, index) => ({
        prompt: "a",
        priority: "critical",
        tags: ["gpu", `shard-${(batch * 500 + index) % 2500}`],
        ...(index % 2 === 0 ? { provider: "p" } : {}),
      }));
      await world.ok("POST", "/api/jobs/batch", { jobs });
    }
    const taken = await world.ok("POST", "/api/jobs", { prompt: "b", tags: ["cpu"], priority: "low" });
    expect(await world.ok("GET", `/api/jobs/${taken.id}`)).toMatchObject({ status: "assigned", assigned_worker: "w1" });
    expect((await world.post("/dispatch", { prompt: "c" })).status).toBe(200);
    await evictDurableObject(world.stub);
    await world.ok("POST", `/api/jobs/${taken.id}/complete`, { lease: 1, result: 1 });
    const next = await world.ok("POST", "/api/jobs", { prompt: "d" });
    expect((await world.ok("GET", `/api/jobs/${next.id}`)).status).toBe("assigned");
    expect((await world.ok("GET", "/api/jobs?status=pending&limit=1")).total).toBe(10_000);
    // Every group is checked once more after a change of the config, and still no worker may have any of them.
    await world.ok("PUT", "/config", { jobs: { max_attempts: 3 } });
    await present("w2", { tags: "gpu,shard-7" });
    expect((await world.ok("GET", "/api/workers/w2")).current_load).toBe(1);
    for (const { id } of (await world.ok("GET", "/api/workers/w1")).jobs) {
      await world.ok("POST", `/api/jobs/${id}/start`, { lease: 1 });
    }
    // One shard has 4 jobs and w2 took one of them; of the 2 500 shards the answer names the 100 with the most jobs.
    const { skipped } = await world.ok("POST", "/api/workers/w1/claim", {});
    expect(Object.values(skipped)).toEqual(Array.from({ length: 100 }, () => 4));
  });
});

describe("a clock that was set back while the object slept", () => {
  it("makes nobody alive, and no lease and no timeout last, until it is where it was", async () => {
    await present("w1");
    const job = await world.ok("POST", "/dispatch", { prompt: "a", timeout_seconds: 60 });
    await world.ok("POST", `/api/jobs/${job.id}/start`, { lease: 1 });
    await ageJob(world, job.id, -3_600_000, ["heartbeatAt", "startedAt"]);
    await inStorage(world, ({ sql }) => {
      sql.exec("UPDATE workers SET record = json_set(record, '$.lastHeartbeatAt', ?)", Date.now() + 3_600_000);
    });
    await evictDurableObject(world.stub);
    const { last_heartbeat } = await world.ok("GET", "/api/workers/w1");
    expect(Date.parse(last_heartbeat)).toBeLessThanOrEqual(Date.now());
    const stored = await inStorage(world, ({ sql }) => ({
      worker: sql.exec("SELECT record ->> 'lastHeartbeatAt' AS at FROM workers").one().at,
      job: sql.exec("SELECT record ->> 'heartbeatAt' AS at FROM jobs").one().at,
      dueAt: sql.exec("SELECT due_at FROM jobs").one().due_at,
      nowAt: Date.now(),
    }));
    expect(stored.worker).toBeLessThanOrEqual(stored.nowAt);
    expect(stored.job).toBeLessThanOrEqual(stored.nowAt);
    expect(stored.dueAt).toBeLessThanOrEqual(stored.nowAt + 60_000);
    // History hears of it.
    const { attempts } = await world.ok("GET", `/api/jobs/${job.id}/attempts`);
    const { started_at } = await world.ok("GET", `/api/jobs/${job.id}`);
    expect(Date.parse(started_at)).toBeLessThanOrEqual(stored.nowAt);
    expect(attempts[0].started_at).toBe(started_at);
  });
});

describe("a clock that was set back into an hour that a worker does not work in", () => {
  it("closes the worker, whether or not it was heard since", async () => {
    const hour = (ahead: number): string => new Date(Date.now() + ahead * 3_600_000).toISOString().slice(11, 13);
    const hours = { hours: `${hour(2)}:00-${hour(4)}:00`, timezone: "UTC" };
    for (const instance of ["heard", "unheard"]) {
      await present(instance);
      await world.ok("PUT", `/api/workers/${instance}/hours`, hours);
    }
    await inStorage(world, ({ sql }) => {
      const later = Date.now() + 3 * 3_600_000;
      const opened = "'$.opening.isOpen', json('true'), '$.opening.sinceAt', ?1, '$.opening.changesAt', ?1 + 3600000";
      sql.exec(`UPDATE workers SET record = json_set(record, ${opened})`, later);
      sql.exec("UPDATE workers SET record = json_set(record, '$.lastHeartbeatAt', ?) WHERE instance = 'heard'", later);
    });
    await evictDurableObject(world.stub);
    for (const instance of ["heard", "unheard"])
      expect((await world.ok("GET", `/api/workers/${instance}`)).unavailable).toContain("outside its hours until");
    expect((await world.post("/dispatch", { prompt: "a" })).status).toBe(503);
    const changes = await inStorage(world, ({ sql }) =>
      sql.exec("SELECT record ->> '$.opening.changesAt' AS at FROM workers").toArray(),
    );
    for (const { at } of changes) expect(at).toBeLessThanOrEqual(Date.now() + 2 * 3_600_000);
  });
});

describe("an object that the platform ends", () => {
  const end = () => runInDurableObject(world.stub, (_tenant, state) => state.abort("ended")).catch(() => undefined);

  it("is asked again by who waits, and a request that may not be repeated is 503", async () => {
    await present("w1");
    const job = await world.ok("POST", "/dispatch", { prompt: "hello" });
    const waits = world.get(`/api/jobs/${job.id}?wait=20`);
    const message = { model: "none", messages: [{ role: "user", content: "hello" }] };
    await present("w2", { apis: ["chat/completions"], models: ["none"] });
    const asks = world.post("/v1/chat/completions", message);
    await expect.poll(async () => (await world.ok("GET", "/api/workers/w2")).jobs.length).toBe(1);
    await end();
    await world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: 1, result: "done" });
    expect((await waits).body).toMatchObject({ status: "completed" });
    const refused = await asks;
    expect([refused.status, refused.body.error.code]).toEqual([503, "tenant_unavailable"]);
  });
});

describe("history that is behind", () => {
  it("is waited for by new jobs alone", async () => {
    await world.ok("POST", "/api/jobs", { prompt: "first" });
    const untaken = (): Promise<number> =>
      inStorage(world, (storage) => {
        const { outbox } = openStore(storage);
        return outbox.lastSeq() - outbox.firstSeq() + 1;
      });
    await inStorage(world, ({ sql }) => void sql.exec("UPDATE outbox SET chars = ?", RECENT_CHARS + 1));
    await evictDurableObject(world.stub);
    await present("w1", { status: "busy" });
    await world.ok("POST", "/api/jobs", { prompt: "second" });
    // History has all but the second.
    expect(await untaken()).toBe(1);
  });
});
