// The operator and tenants: a lost key can be replaced, and a deleted tenant is gone.

import { evictDurableObject, listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { relayName } from "../../durable-objects/object-name.ts";
import { app } from "../../src/app.ts";
import type { Env } from "../../src/env.ts";
import { TENANT_TABLES } from "../../src/history/tenant-tables.ts";
import {
  type Body,
  connect,
  connectWorker,
  inStorage,
  newWorld,
  ORIGIN,
  ROOT_KEY,
  request,
  type World,
} from "../support/workerd/client.ts";

const asOperator = (method: string, path: string, body?: unknown) => request(ROOT_KEY, method, path, body);

/** The answer where some of the bindings are others. */
const deletedIn = (path: string, bindings: object): Promise<Response> =>
  app.fetch(
    new Request(`${ORIGIN}${path}`, { method: "DELETE", headers: { authorization: `Bearer ${ROOT_KEY}` } }),
    { ...env, ...bindings } as unknown as Env,
    { waitUntil: () => undefined, passThroughOnException: () => undefined, props: {} } as unknown as ExecutionContext,
  ) as Promise<Response>;

const rowsOf = async (tenant: string): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const table of Object.keys(TENANT_TABLES)) {
    const row = await env.DB.prepare(`SELECT COUNT(*) AS count FROM ${table} WHERE tenant = ?`).bind(tenant).first();
    if ((row?.count as number) > 0) counts[table] = row?.count as number;
  }
  return counts;
};

const withWork = async (): Promise<{ world: World; id: string }> => {
  const world = await newWorld();
  await world.ok("POST", "/presence", { instance: "w", status: "idle", provider: "p", tags: "" });
  const job = await world.ok("POST", "/dispatch", { prompt: "x" });
  await world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: 1, result: "done", cost_usd: 1 });
  await world.ok("GET", "/api/jobs");
  return { world, id: job.id };
};

describe("another admin key", () => {
  it("is made by the operator, works at once, and stands in the tenant's audit log", async () => {
    const world = await newWorld();
    const made = await asOperator("POST", `/admin/tenants/${world.tenant}/keys`, { name: "found again" });
    expect(made).toMatchObject({ status: 201, body: { name: "found again", role: "admin", key: expect.any(String) } });
    const { entries } = (await request(made.body.key, "GET", "/api/audit")).body;
    expect(entries[0]).toMatchObject({
      action: "key.created",
      target: made.body.id,
      actor: { key_id: null, name: "operator" },
      detail: { name: "found again", role: "admin" },
    });
    const listed = (await world.ok("GET", "/api/keys")).keys.map((key: Body) => key.id);
    expect(listed).toContain(made.body.id);
  });

  it("is the operator's alone to make, for a tenant that exists", async () => {
    const world = await newWorld();
    const path = `/admin/tenants/${world.tenant}/keys`;
    expect((await world.post(path, { name: "x" })).status).toBe(403);
    expect((await request(null, "POST", path, { name: "x" })).status).toBe(401);
    for (const tenant of ["nobody", "NOT-A-NAME"])
      expect((await asOperator("POST", `/admin/tenants/${tenant}/keys`, { name: "x" })).status).toBe(404);
    expect((await asOperator("POST", path, { name: "x", role: "worker" })).status).toBe(400);
  });
});

describe("what a tenant stores", () => {
  it("is bounded by its operator: over it nothing more is stored, and what finishes or stops work goes on", async () => {
    const { world } = await withWork();
    const { id } = await world.ok("POST", "/dispatch", { prompt: "x" });
    const path = `/admin/tenants/${world.tenant}`;
    const set = (max_gb: number | null) => asOperator("PATCH", path, { max_gb });
    expect(await set(0.000001)).toMatchObject({
      status: 200,
      body: { tenant: world.tenant, max_gb: 0.000001, stored_bytes: expect.any(Number) },
    });
    for (const [at, body] of [
      ["/api/jobs", { prompt: "x" }],
      ["/dispatch", { prompt: "x" }],
      ["/api/schedules", { name: "s", interval: "1h", prompt: "x" }],
    ] as const) {
      const refused = await world.post(at, body);
      expect([at, refused.status, refused.body.code]).toEqual([at, 507, "tenant_full"]);
    }
    expect((await world.put("/config", { jobs: { timeout_seconds: 5 } })).body.code).toBe("tenant_full");
    await world.ok("PUT", "/config", { history: { keep_days: 7 } });
    expect((await world.put("/config", { history: { keep_days: 7 } })).body.code).toBe("tenant_full");
    await world.ok("PUT", "/config", { history: { keep_days: 7, keep_texts_days: 1 } });
    expect((await world.post(`/api/jobs/${id}/complete`, { lease: 1, result: "done" })).status).toBe(200);
    expect((await world.post("/killswitch", { level: 1 })).status).toBe(200);
    expect((await world.delete("/killswitch")).status).toBe(200);
    expect((await set(null)).status).toBe(200);
    expect((await world.post("/api/jobs", { prompt: "x" })).status).toBe(201);
    expect((await world.patch(path, { max_gb: 1 })).status).toBe(403);
    expect((await asOperator("PATCH", path, { max_gb: -1 })).status).toBe(400);
  });

  it("gets no jobs from its schedules over its bound, and their history says why", async () => {
    const { world } = await withWork();
    await world.ok("POST", "/api/schedules", { name: "tick", interval: "1s", prompt: "x" });
    await asOperator("PATCH", `/admin/tenants/${world.tenant}`, { max_gb: 0.000001 });
    const newest = async () => (await world.ok("GET", "/api/schedules/tick/history?limit=1")).history[0];
    const failed = { outcome: "failed", reason: "the tenant stores as much as it may", job_id: null };
    await expect.poll(newest, { timeout: 10_000 }).toMatchObject(failed);
    await asOperator("PATCH", `/admin/tenants/${world.tenant}`, { max_gb: null });
    await expect.poll(newest, { timeout: 10_000 }).toMatchObject({ outcome: "created", reason: null });
  });

  it("counts the bytes of its files, until they are deleted", async () => {
    const { world } = await withWork();
    const stored = async (): Promise<number> =>
      (await asOperator("PATCH", `/admin/tenants/${world.tenant}`, { max_gb: null })).body.stored_bytes;
    const before = await stored();
    const { id } = (await world.post("/api/files", undefined, { raw: "x".repeat(900_000) })).body;
    await expect.poll(async () => (await stored()) - before).toBeGreaterThan(900_000);
    expect((await world.delete(`/api/files/${id}`)).status).toBe(204);
    await expect.poll(async () => (await stored()) - before).toBeLessThan(900_000);
  });

  it("counts what history was sent, and forgets the share that retention deletes", async () => {
    const { world } = await withWork();
    const stored = async (): Promise<number> =>
      (await asOperator("PATCH", `/admin/tenants/${world.tenant}`, { max_gb: null })).body.stored_bytes;
    const before = await stored();
    const job = await world.ok("POST", "/dispatch", { prompt: "p".repeat(200_000) });
    await world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: 1, result: "done" });
    await world.ok("GET", "/api/jobs");
    // The live copy of the prompt would count for as long as it is there, and from when the size is next read.
    await inStorage(world, ({ sql }) => {
      for (const table of ["jobs", "payloads"]) sql.exec(`DELETE FROM ${table}`);
    });
    await expect.poll(async () => (await stored()) - before).toBeGreaterThan(190_000);
    const sent = await stored();
    await world.stub.notePruned({ completed: 2 }, 0);
    await expect.poll(async () => sent - (await stored())).toBeGreaterThan(190_000);
  });
});

describe("a tenant that is deleted", () => {
  it("ends although its rows cannot be loaded any more", async () => {
    const { world } = await withWork();
    await inStorage(world, (storage) => storage.sql.exec("UPDATE workers SET record = 'too large to be read'"));
    await evictDurableObject(world.stub);
    expect((await asOperator("DELETE", `/admin/tenants/${world.tenant}`)).status).toBe(204);
    expect(await rowsOf(world.tenant)).toEqual({});
  });

  it("wakes the relays of workers that have opened a data line, and makes none for the others", async () => {
    const { world } = await withWork();
    await world.ok("POST", "/presence", { instance: "with-a-line", status: "idle", provider: "p", tags: "" });
    const line = await connect("/api/workers/with-a-line/stream", { authorization: `Bearer ${world.key}` });
    const relays = async (): Promise<(string | undefined)[]> => {
      const names = ["w", "with-a-line"].map((name) => relayName(env, world.tenant, name));
      const made = (await listDurableObjectIds(env.RELAY)).map(String);
      return [...new Set(names)].filter((name) => made.includes(env.RELAY.idFromName(name).toString()));
    };
    expect((await asOperator("DELETE", `/admin/tenants/${world.tenant}`)).status).toBe(204);
    expect((await line.socket?.closed)?.code).toBe(4401);
    expect(await relays()).toEqual([relayName(env, world.tenant, "with-a-line")]);
  });

  it("ends at once: keys, sessions and sockets; nothing of it is left, live or in history", async () => {
    const { world, id } = await withWork();
    const other = await withWork();
    const others = await rowsOf(other.world.tenant);
    const key = await world.withKey("worker");
    const socket = await connectWorker(key.key ?? "", { instance: "s", status: "idle", provider: "p", tags: "" });
    expect(Object.keys(await rowsOf(world.tenant))).toEqual(expect.arrayContaining(["tenants", "jobs", "cost_hours"]));
    const gone = await asOperator("DELETE", `/admin/tenants/${world.tenant}`);
    expect([gone.status, gone.text]).toEqual([204, ""]);
    expect((await socket.closed).code).toBe(4401);
    for (const client of [world, key]) expect((await client.get("/config")).status).toBe(401);
    expect([await rowsOf(world.tenant), await rowsOf(other.world.tenant)]).toEqual([{}, others]);
    const tenants = (await asOperator("GET", "/admin/tenants")).body.tenants.map((one: Body) => one.tenant);
    expect(tenants).not.toContain(world.tenant);
    expect(await other.world.ok("GET", `/api/jobs/${other.id}`)).toMatchObject({ status: "completed" });
    expect((await asOperator("DELETE", `/admin/tenants/${world.tenant}`)).status).toBe(404);
    const again = await asOperator("POST", "/admin/tenants", { tenant: world.tenant });
    expect(again.status).toBe(201);
    expect((await request(again.body.admin_key, "GET", `/api/jobs/${id}`)).status).toBe(404);
    expect((await request(again.body.admin_key, "GET", "/api/jobs")).body.total).toBe(0);
    expect((await world.get("/config")).status).toBe(401);
  });

  it("keeps its name to itself until all of it is deleted: nobody is given its history", async () => {
    const { world } = await withWork();
    const path = `/admin/tenants/${world.tenant}`;
    const breaking = new Proxy(env.DB, {
      get: (target, name) => {
        if (name === "prepare")
          return (sql: string) => target.prepare(sql.replace(/^DELETE FROM jobs/, "DELETE FROM gone"));
        const value = Reflect.get(target, name) as unknown;
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const interrupted = await deletedIn(path, { DB: breaking });
    expect(interrupted.status).toBe(503);
    expect((await rowsOf(world.tenant)).jobs).toBeGreaterThan(0);
    // So that retention and syncs bring nothing back.
    expect(await env.DB.prepare("SELECT away FROM tenants WHERE tenant = ?").bind(world.tenant).first("away")).toBe(
      "leaving",
    );
    const { status, body } = await asOperator("POST", "/admin/tenants", { tenant: world.tenant });
    expect([status, body.code]).toEqual([409, "tenant_exists"]);
    expect((await asOperator("POST", `${path}/keys`, { name: "late" })).status).toBe(404);
    expect((await asOperator("POST", `${path}/move`, { to: "https://there.example.com" })).status).toBe(404);
    const { tenants } = (await asOperator("GET", "/admin/tenants")).body;
    const begun = tenants.filter(({ deleting }: { deleting?: true }) => deleting);
    expect(begun.map(({ tenant }: { tenant: string }) => tenant)).toEqual([world.tenant]);
    expect((await asOperator("DELETE", path)).status).toBe(204);
    expect(await rowsOf(world.tenant)).toEqual({});
    const again = await asOperator("POST", "/admin/tenants", { tenant: world.tenant });
    expect(again.status).toBe(201);
    expect((await request(again.body.admin_key, "GET", "/api/jobs")).body.total).toBe(0);
  });

  it("can be deleted again if its archive was away", async () => {
    const { world } = await withWork();
    const path = `/admin/tenants/${world.tenant}`;
    const away = { list: () => Promise.reject(new Error("the bucket is away")) };
    expect((await deletedIn(path, { ARCHIVE: away })).status).toBe(500);
    expect((await asOperator("DELETE", path)).status).toBe(204);
    expect(await rowsOf(world.tenant)).toEqual({});
  });

  it("leaves an empty object, even if its history was being written", async () => {
    const world = await newWorld();
    await world.ok("POST", "/api/jobs", { prompt: "p" });
    const left = await runInDurableObject(world.stub, async (tenant, { storage }) => {
      const draining = tenant.drain();
      await tenant.destroy();
      await draining;
      return ["settings", "outbox", "jobs"].flatMap((table) => storage.sql.exec(`SELECT * FROM ${table}`).toArray());
    });
    expect(left).toEqual([]);
  });

  it("learns nothing of a catalog's sync or of a pruning that was on its way", async () => {
    const world = await newWorld();
    const left = await runInDurableObject(world.stub, async (tenant, { storage }) => {
      await tenant.destroy();
      await tenant.learnCatalog({ provider: "openai", models: [{ id: "a" }] });
      await tenant.notePruned({ completed: 3 }, 0);
      return ["settings", "outbox", "catalog_models"].flatMap((table) =>
        storage.sql.exec(`SELECT * FROM ${table}`).toArray(),
      );
    });
    expect(left).toEqual([]);
  });

  it("is the operator's alone to delete", async () => {
    const world = await newWorld();
    expect((await world.delete(`/admin/tenants/${world.tenant}`)).status).toBe(403);
    expect((await world.get("/config")).status).toBe(200);
  });
});

describe("the operator's root key", () => {
  it("on a route of a tenant is 401, and says what it is for", async () => {
    const refused = await asOperator("GET", "/api/jobs");
    expect([refused.status, refused.body.detail]).toEqual([401, expect.stringContaining("manages tenants")]);
    const wrong = await request("nonsense", "GET", "/api/jobs");
    expect(wrong.body.detail).not.toContain("root");
  });
});
