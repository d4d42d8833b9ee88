// A deployment with three history databases: a tenant's rows are in one of them, and everything that reads or deletes
// goes there.

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { app } from "../../src/app.ts";
import type { Env } from "../../src/env.ts";
import { TENANT_TABLES } from "../../src/history/tenant-tables.ts";
import { runMinute } from "../../src/minute.ts";
import {
  alarm,
  type Body,
  Client,
  connectWorker,
  newWorld,
  ORIGIN,
  ROOT_KEY,
  sleep,
  type World,
} from "../support/workerd/client.ts";
import { sendAway } from "../support/workerd/job-steps.ts";

const DAY_MS = 86_400_000;
const { DB, DB_1, DB_2, TEST_ARCHIVE } = env as unknown as Record<"DB" | "DB_1" | "DB_2", D1Database> & {
  TEST_ARCHIVE: R2Bucket;
};
const ALL = { DB, DB_1, DB_2 };
const root = new Client(ROOT_KEY);
const CONTEXT = { waitUntil: () => undefined, passThroughOnException: () => undefined, props: {} };

const countIn = async (db: D1Database, table: string, tenant: string): Promise<number> =>
  (await db.prepare(`SELECT COUNT(*) AS many FROM ${table} WHERE tenant = ?1`).bind(tenant).first<number>("many")) ?? 0;

/** The tables of a database that have rows of the tenant. */
const tablesWith = async (db: D1Database, tenant: string): Promise<string[]> => {
  const found: string[] = [];
  for (const table of Object.keys(TENANT_TABLES)) if ((await countIn(db, table, tenant)) > 0) found.push(table);
  return found;
};

/** The databases that have a row of the tenant beyond its name. */
const homesOf = async (tenant: string): Promise<string[]> => {
  const found: string[] = [];
  for (const [name, db] of Object.entries(ALL)) if ((await countIn(db, "audit", tenant)) > 0) found.push(name);
  return found;
};

const offer = { instance: "w", status: "online", provider: "openai", tags: "", concurrency: 50 };

const finished = async (world: World, body: Body = {}): Promise<string> => {
  const job = await world.ok("POST", "/dispatch", { prompt: "an old zebra", ...body });
  const report = { lease: job.lease, result: "kept", usage: { input_tokens: 1, output_tokens: 1 }, cost_usd: 0.5 };
  await world.ok("POST", `/api/jobs/${job.id}/complete`, report);
  return job.id;
};

const failed = async (world: World): Promise<string> => {
  const job = await world.ok("POST", "/dispatch", { prompt: "a sad zebra" });
  const error = { code: "broken", message: "it broke", retryable: false };
  await world.ok("POST", `/api/jobs/${job.id}/fail`, { lease: job.lease, error });
  return job.id;
};

const age = (db: D1Database, world: World, days: number): Promise<unknown> =>
  db
    .prepare("UPDATE jobs SET finished_at = ?2 WHERE tenant = ?1")
    .bind(world.tenant, Date.now() - days * DAY_MS)
    .run();

describe("a tenant of another database", () => {
  it("has all its rows there, and is read from there", async () => {
    const world = await newWorld({ database: 1 });
    await world.ok("POST", "/presence", offer);
    const [done, broken] = [await finished(world, { tags: [] }), await failed(world)];
    await world.ok("POST", "/api/schedules", { name: "s", interval: "1h", prompt: "p" });
    await world.ok("POST", "/api/schedules/s/run", {});
    const { id: subscription } = await world.ok("POST", "/catalog/subscriptions", { provider: "openai" });
    await sendAway(world, done, broken);

    expect(await world.ok("GET", `/api/jobs/${done}`)).toMatchObject({ prompt: "an old zebra", result: "kept" });
    const { jobs, total } = await world.ok("GET", "/api/jobs?q=zebra");
    expect([total, jobs.map((job: Body) => job.id)]).toEqual([2, [broken, done]]);
    expect((await world.ok("GET", `/api/jobs/${done}/events`)).events.length).toBeGreaterThan(2);
    expect((await world.ok("GET", `/api/jobs/${done}/attempts`)).attempts).toHaveLength(1);
    expect((await world.ok("GET", "/api/failures")).failures).toMatchObject([{ job_id: broken, message: "it broke" }]);
    expect((await world.ok("GET", "/api/cost")).total_usd).toBe(0.5);
    expect((await world.ok("GET", "/api/cost/by/worker")).rows).toMatchObject([{ value: "w" }]);
    expect((await world.ok("GET", "/api/audit")).entries.at(-1)).toMatchObject({ action: "tenant.created" });
    expect((await world.ok("GET", "/api/schedules/s/history")).history).toHaveLength(1);
    expect((await world.ok("GET", "/api/schedules?runs=1")).schedules[0].last_runs).toHaveLength(1);
    expect((await world.ok("GET", "/api/workers/w/activity?period=24h")).served).toHaveLength(1);
    expect((await world.ok("GET", "/catalog/subscriptions")).subscriptions).toMatchObject([{ id: subscription }]);
    expect((await world.ok("GET", `/catalog/subscriptions/${subscription}`)).provider).toBe("openai");
    const retried = await world.ok("POST", "/api/jobs/bulk", { action: "retry", filter: { status: "failed" } });
    expect(retried).toMatchObject({ matched: 1, changed: 1 });

    expect(await tablesWith(DB_1, world.tenant)).toEqual(
      expect.arrayContaining([
        "attempts",
        "audit",
        "catalog_subscriptions",
        "cost_hours",
        "jobs",
        "schedule_runs",
        "tenants",
      ]),
    );
    expect(await tablesWith(DB, world.tenant)).toEqual(["tenants"]);
    expect(await tablesWith(DB_2, world.tenant)).toEqual([]);
  });

  it("gets a command on a job that has left, and the late report of its worker", async () => {
    const world = await newWorld({ database: 2 });
    const socket = await connectWorker(world.key ?? "", offer);
    const broken = await failed(world);
    await sendAway(world, broken);
    socket.send({ type: "job.started", id: "late", job_id: broken, lease: 1 });
    const { problem } = await socket.next(({ type, id }) => type === "ack" && id === "late");
    expect(problem).toMatchObject({ status: 409, code: "lease_lost" });
    expect(await world.ok("POST", `/api/jobs/${broken}/retry`)).toMatchObject({ id: broken, status: "pending" });
  });

  it("keeps its database over a sleep, and its object says so to everybody", async () => {
    const world = await newWorld({ database: 1 });
    await world.ok("POST", "/presence", offer);
    await finished(world);
    await sleep(world);
    expect((await world.ok("GET", "/api/jobs")).total).toBe(1);
    const viewer = await world.withKey("viewer");
    await sleep(world);
    expect((await viewer.ok("GET", "/api/jobs")).total).toBe(1);
  });

  it("is deleted from its own database, and its name can be used again in another", async () => {
    const [world, neighbour] = [await newWorld({ database: 1 }), await newWorld({ database: 1 })];
    await world.ok("POST", "/presence", offer);
    await finished(world);
    await world.ok("GET", "/api/jobs");
    const { tenant } = world;
    expect((await root.delete(`/admin/tenants/${tenant}`)).status).toBe(204);
    for (const db of Object.values(ALL)) expect(await tablesWith(db, tenant)).toEqual([]);
    expect(await homesOf(neighbour.tenant)).toEqual(["DB_1"]);
    const again = new Client((await root.ok("POST", "/admin/tenants", { tenant, database: 2 })).admin_key);
    expect((await again.ok("GET", "/api/jobs")).total).toBe(0);
    expect(await homesOf(tenant)).toEqual(["DB_2"]);
  });
});

describe("a new tenant", () => {
  it("gets the emptiest database, unless one is named", async () => {
    const made = await Promise.all([0, 1, 2].map((database) => newWorld({ database })));
    const homes = await Promise.all(made.map(({ tenant }) => homesOf(tenant)));
    expect(homes).toEqual([["DB"], ["DB_1"], ["DB_2"]]);
    const counts = new Map<string, number>();
    for (let index = 0; index < 9; index += 1) {
      const [home = ""] = await homesOf((await newWorld()).tenant);
      counts.set(home, (counts.get(home) ?? 0) + 1);
    }
    expect([...counts.keys()].sort()).toEqual(["DB", "DB_1", "DB_2"]);
    const { tenants } = await root.ok("GET", "/admin/tenants");
    const listed = made.map(({ tenant }) => tenants.find((one: Body) => one.tenant === tenant).database);
    expect(listed).toEqual([undefined, 1, 2]);
  });

  it("cannot go to a database that is not bound", async () => {
    const refused = await root.post("/admin/tenants", { tenant: "nowhere", database: 3 });
    expect([refused.status, refused.body.errors]).toMatchObject([400, [{ path: "database" }]]);
    expect((await root.post("/admin/tenants", { tenant: "nowhere", database: 16 })).status).toBe(400);
    expect((await root.delete("/admin/tenants/nowhere")).status).toBe(404);
  });

  it("that was claimed by an interrupted try gets the database of that try", async () => {
    const claim = (tenant: string) =>
      DB.prepare("INSERT INTO tenants (tenant, created_at, away) VALUES (?1, 1, 'DB_2')").bind(tenant).run();
    await claim("half-made");
    expect((await root.post("/admin/tenants", { tenant: "half-made", database: 1 })).status).toBe(409);
    await root.ok("POST", "/admin/tenants", { tenant: "half-made" });
    expect(await homesOf("half-made")).toEqual(["DB_2"]);
    expect((await root.post("/admin/tenants", { tenant: "half-made" })).status).toBe(409);
    await claim("never-made");
    expect((await root.delete("/admin/tenants/never-made")).status).toBe(204);
    expect(await countIn(DB, "tenants", "never-made")).toBe(0);
  });
});

describe("a database that is not bound", () => {
  const without = { ...env, DB_1: undefined } as unknown as Env;
  const askWithout = async (key: string | null, path: string): Promise<Response> =>
    app.fetch(
      new Request(`${ORIGIN}${path}`, { headers: { authorization: `Bearer ${key}` } }),
      without,
      CONTEXT as unknown as ExecutionContext,
    );

  it("is 503 at the edge, and no other database is read", async () => {
    const world = await newWorld({ database: 1 });
    await world.ok("POST", "/presence", offer);
    const job = await finished(world);
    await sendAway(world, job);
    await DB.prepare(
      "INSERT INTO audit (tenant, id, at, actor_name, action, target, detail) VALUES (?1, 'x', 1, 'x', 'x', 'x', 'null')",
    )
      .bind(world.tenant)
      .run();
    for (const path of ["/api/jobs", `/api/jobs/${job}`, "/api/audit", "/api/cost", "/catalog/subscriptions"]) {
      const answer = await askWithout(world.key, path);
      expect([path, answer.status, answer.headers.get("retry-after")]).toEqual([path, 503, "5"]);
      expect(await answer.json()).toMatchObject({ code: "history_unavailable" });
    }
    expect((await askWithout(ROOT_KEY, "/metrics")).status).toBe(200);
  });

  it("lets the tenant work on, and keeps what history does not get", async () => {
    const world = await newWorld({ database: 1 });
    const put = async (number: number) => {
      await runInDurableObject(world.stub, (_tenant, state) => {
        const place = JSON.stringify({ at: number, to: null, move: 0 });
        state.storage.sql.exec("UPDATE settings SET value = ? WHERE name = 'history_database'", place);
      });
      await sleep(world);
    };
    await put(9);
    await world.ok("POST", "/presence", offer);
    const job = await finished(world);
    expect(await world.ok("GET", `/api/jobs/${job}`)).toMatchObject({ status: "completed" });
    expect((await world.get("/api/jobs")).status).toBe(503);
    for (const db of Object.values(ALL)) expect(await countIn(db, "jobs", world.tenant)).toBe(0);
    await put(1);
    expect((await world.ok("GET", "/api/jobs")).total).toBe(1);
  });
});

describe("the minute's work", () => {
  it("deletes old jobs, archives and wakes in every database", async () => {
    const worlds = await Promise.all([0, 1, 2].map((database) => newWorld({ database })));
    for (const [index, world] of worlds.entries()) {
      await world.ok("POST", "/presence", offer);
      await world.ok("PUT", "/config", { history: { keep_days: 30 } });
      await finished(world);
      await world.ok("GET", "/api/jobs");
      await age(Object.values(ALL)[index] as D1Database, world, 40);
    }
    await runMinute({ ...env, ARCHIVE: TEST_ARCHIVE } as unknown as Env);
    for (const [index, world] of worlds.entries()) {
      const db = Object.values(ALL)[index] as D1Database;
      expect([
        index,
        await countIn(db, "jobs", world.tenant),
        await countIn(db, "archive_parts", world.tenant),
      ]).toEqual([index, 0, 1]);
      expect((await TEST_ARCHIVE.list({ prefix: `${world.tenant}/` })).objects).toHaveLength(1);
      await db.prepare("UPDATE tenants SET wake_at = 1 WHERE tenant = ?1").bind(world.tenant).run();
    }
    await runMinute(env as unknown as Env);
    for (const [index, world] of worlds.entries()) {
      const db = Object.values(ALL)[index] as D1Database;
      const woken = await db
        .prepare("SELECT wake_at FROM tenants WHERE tenant = ?1")
        .bind(world.tenant)
        .first<number | null>("wake_at");
      expect([index, woken]).not.toEqual([index, 1]);
    }
  });

  it("goes on with the other databases when one is away", async () => {
    const world = await newWorld({ database: 2 });
    await world.ok("POST", "/presence", offer);
    await world.ok("PUT", "/config", { history: { keep_days: 30 } });
    await finished(world);
    await world.ok("GET", "/api/jobs");
    await age(DB_2, world, 40);
    const away = {
      prepare: () => {
        throw new Error("away");
      },
    } as unknown as D1Database;
    await runMinute({ ...env, DB: away, DB_1: away } as unknown as Env);
    expect(await countIn(DB_2, "jobs", world.tenant)).toBe(0);
  });
});

describe("a tenant that moves here", () => {
  const arrival = async (tenant: string, move: string) => {
    const source = await newWorld();
    const { schema } = await root.ok("POST", `/admin/tenants/${source.tenant}/move`, { to: "https://there.example" });
    const created_at = new Date(0).toISOString();
    return root.ok("POST", `/admin/tenants/${tenant}/arrive`, { move, schema, created_at });
  };

  it("gets a database as a new one does, keeps it when its move begins again, and is served from there", async () => {
    const tenant = `arriving-${crypto.randomUUID().slice(0, 8)}`;
    await DB.prepare("INSERT INTO tenants (tenant, created_at, away) VALUES (?1, 1, 'DB_2')").bind(tenant).run();
    await DB_2.prepare("INSERT INTO tenants (tenant, created_at, away) VALUES (?1, 1, 'arriving')").bind(tenant).run();
    await DB_2.prepare(
      "INSERT INTO audit (tenant, id, at, actor_name, action, target, detail) VALUES (?1, 'old', 1, 'x', 'x', 'x', 'null')",
    )
      .bind(tenant)
      .run();
    expect(await arrival(tenant, "move-1")).toMatchObject({ state: "arriving" });
    expect(await homesOf(tenant)).toEqual([]);
    const columns = ["tenant", "id", "at", "actor_name", "action", "target", "detail"];
    const rows = [[tenant, "moved", 5, "x", "moved", "x", "null"]];
    const part = { place: "history", table: "audit", columns, rows, next: null, is_first: true };
    await root.ok("POST", `/admin/tenants/${tenant}/rows`, part);
    const digest = await root.ok("GET", `/admin/tenants/${tenant}/rows/digest?place=history&table=audit`);
    expect(digest.rows).toBe(1);
    const identity = [["identity", JSON.stringify({ tenant, createdAt: 0, locationHint: null, jurisdiction: null })]];
    await root.ok("POST", `/admin/tenants/${tenant}/rows`, {
      ...part,
      place: "object",
      table: "settings",
      columns: ["name", "value"],
      rows: identity,
    });
    await root.ok("POST", `/admin/tenants/${tenant}/arrived`);
    expect(await homesOf(tenant)).toEqual(["DB_2"]);
    const { key } = await root.ok("POST", `/admin/tenants/${tenant}/keys`, { name: "found" });
    const { entries } = await new Client(key).ok("GET", "/api/audit");
    expect(entries.map(({ action }: Body) => action)).toEqual(
      expect.arrayContaining(["moved", "tenant.arrived", "key.created"]),
    );
    const row = await DB_2.prepare("SELECT away FROM tenants WHERE tenant = ?1").bind(tenant).first("away");
    expect(row).toBeNull();
  });

  it("does not take the number of its old database along", async () => {
    const world = await newWorld({ database: 1 });
    await root.ok("POST", `/admin/tenants/${world.tenant}/move`, { to: "https://there.example" });
    const settings = await root.ok("GET", `/admin/tenants/${world.tenant}/rows?place=object&table=settings`);
    const names = settings.rows.map((row: Body[]) => row[settings.columns.indexOf("name")]);
    expect(names).toContain("identity");
    expect(names).not.toContain("history_database");
    const audit = await root.ok("GET", `/admin/tenants/${world.tenant}/rows?place=history&table=audit`);
    expect(audit.rows.length).toBeGreaterThan(0);
    expect((await root.delete(`/admin/tenants/${world.tenant}/move`)).status).toBe(204);
    expect((await world.ok("GET", "/api/audit")).entries.length).toBeGreaterThan(0);
    await alarm(world);
  });
});

it("the metrics of the deployment count the tenants of every database, and say how large each is", async () => {
  await Promise.all([0, 1, 2].map((database) => newWorld({ database })));
  const { text } = await root.get("/metrics");
  const sampleOf = (series: string): number =>
    Number(
      text
        .split("\n")
        .find((line) => line.startsWith(`${series} `))
        ?.split(" ")[1],
    );
  const perDatabase = Object.keys(ALL).map((name) => sampleOf(`signalbox_history_tenants{database="${name}"}`));
  expect(perDatabase.every((many) => many > 0)).toBe(true);
  expect(sampleOf("signalbox_tenants")).toBeGreaterThan(2);
  for (const name of Object.keys(ALL))
    expect(sampleOf(`signalbox_history_bytes{database="${name}"}`)).toBeGreaterThan(10_000);
});
