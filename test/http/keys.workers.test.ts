// Section 2 of the contract: tenants, keys and roles, as key holders see them.

import { evictDurableObject, listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { app } from "../../src/app.ts";
import { type Body, type Client, newWorld, request } from "../support/workerd/client.ts";
import { useOwnTenant, world } from "../support/workerd/own-tenant.ts";

const ROOT_KEY = "root-key-of-the-tests";
type Answer = { status: number; body: Body };
useOwnTenant();

const statusOf = async (key: string | null, headers: Record<string, string> = {}): Promise<number> =>
  (await request(key, "GET", "/api/jobs", undefined, { headers })).status;

describe("a tenant", () => {
  const name = (): string => `n-${crypto.randomUUID().slice(0, 12)}`;

  it("is made once, by the operator's root key alone", async () => {
    const tenant = name();
    const made = await request(ROOT_KEY, "POST", "/admin/tenants", { tenant, location_hint: "weur" });
    expect(made.status).toBe(201);
    expect(Object.keys(made.body).sort()).toEqual(["admin_key", "tenant"]);
    expect(made.body.tenant).toBe(tenant);
    expect(await statusOf(made.body.admin_key)).toBe(200);

    const again = await request(ROOT_KEY, "POST", "/admin/tenants", { tenant });
    expect([again.status, again.body.code]).toEqual([409, "tenant_exists"]);
    expect((await request(world.key, "POST", "/admin/tenants", { tenant: name() })).status).toBe(403);
    expect((await request(world.key, "GET", "/admin/tenants")).status).toBe(403);
    expect((await request(null, "POST", "/admin/tenants", { tenant: name() })).status).toBe(401);
    expect((await request("wrong", "GET", "/admin/tenants")).status).toBe(401);

    const ended = await world.withKey("standard");
    expect((await ended.get("/admin/tenants")).status).toBe(403);
    await world.ok("DELETE", `/api/keys/${ended.keyId}`);
    expect(await ended.get("/admin/tenants")).toMatchObject({ status: 401, body: { code: "key_revoked" } });

    const { tenants } = (await request(ROOT_KEY, "GET", "/admin/tenants")).body;
    expect(tenants.find((one: Body) => one.tenant === tenant)).toEqual({ tenant, created_at: expect.any(String) });
  });

  it("has a name that fits into every key", async () => {
    for (const tenant of ["", "-a", "A", "a_b", "a b", "a".repeat(64), "é", "a\u0000", 7, null]) {
      const { status, body } = await request(ROOT_KEY, "POST", "/admin/tenants", { tenant });
      expect([tenant, status, body.errors?.[0].path]).toEqual([tenant, 400, "tenant"]);
    }
    const longest = `${name()}${"x".repeat(63)}`.slice(0, 63);
    expect((await request(ROOT_KEY, "POST", "/admin/tenants", { tenant: longest })).status).toBe(201);
  });

  it("has one place under its name, whatever jurisdiction is asked for", async () => {
    const selfHosted = { ...env, LOCAL_NETWORK: { fetch } as unknown as Fetcher };
    const tenant = name();
    const make = async (jurisdiction: string | null): Promise<Answer> => {
      const body = JSON.stringify({ tenant, jurisdiction });
      const headers = { authorization: `Bearer ${ROOT_KEY}`, "content-type": "application/json" };
      const answer = await app.request("/admin/tenants", { method: "POST", headers, body }, selfHosted);
      return { status: answer.status, body: await answer.json() };
    };
    const made = await make("eu");
    expect([made.status, made.body.admin_key]).toEqual([201, expect.stringMatching(/^sbx_a-eu_/)]);
    const headers = { authorization: `Bearer ${made.body.admin_key}` };
    expect((await app.request("/api/jobs", { headers }, selfHosted)).status).toBe(200);
    for (const again of ["eu", "fedramp", null]) {
      const { status, body } = await make(again);
      expect([again, status, body.code]).toEqual([again, 409, "tenant_exists"]);
    }
  });

  // On one machine there are no jurisdictions, and any value is stored.
  const inManyPlaces = it.skipIf(env.TEST_HOME === "node");
  inManyPlaces("is refused a jurisdiction that a platform of many places cannot keep", async () => {
    const { status, body } = await request(ROOT_KEY, "POST", "/admin/tenants", { tenant: name(), jurisdiction: "eu" });
    expect([status, body.errors?.[0].path]).toEqual([400, "jurisdiction"]);
  });

  it("is nothing that the root key looks into", async () => {
    expect(await statusOf(ROOT_KEY)).toBe(401);
  });

  it("never sees another: what is another's is not there", async () => {
    const other = await newWorld();
    const job = await world.ok("POST", "/api/jobs", { prompt: "mine" });
    await world.ok("POST", "/presence", { instance: "w1", provider: "p", status: "idle", tags: "" });
    const key = await world.withKey("standard");
    for (const [method, path, body] of [
      ["GET", `/api/jobs/${job.id}`],
      ["GET", `/api/jobs/${job.id}/events`],
      ["GET", `/dispatch/explain?job_id=${job.id}`],
      ["PATCH", `/api/jobs/${job.id}`, { priority: "low" }],
      ["POST", `/api/jobs/${job.id}/cancel`],
      ["POST", `/api/jobs/${job.id}/retry`],
      ["POST", `/api/jobs/${job.id}/complete`, { lease: 1, result: 1 }],
      ["GET", "/api/workers/w1"],
      ["POST", "/api/workers/w1/pause"],
      ["POST", "/api/workers/w1/claim"],
      ["DELETE", "/api/workers/w1"],
      ["DELETE", `/api/keys/${key.keyId}`],
      ["POST", `/api/keys/${key.keyId}/rotate`],
    ] as const) {
      const { status, body: problem } = await request(other.key, method, path, body);
      expect([path, status, problem.code]).toEqual([path, 404, "not_found"]);
    }
    expect((await other.ok("GET", "/api/jobs")).total).toBe(0);
    expect((await other.ok("GET", "/presence")).workers).toEqual([]);
    expect((await other.ok("GET", "/api/workers")).total).toBe(0);
    expect((await other.ok("GET", "/api/keys")).keys).toHaveLength(1);
  });
});

describe("a key", () => {
  it("is needed, whole and alone, and a forged one wakes no tenant", async () => {
    const key = world.key ?? "";
    const typo = `${key.slice(0, -1)}${key.endsWith("a") ? "b" : "a"}`;
    const forged = key.replace(world.tenant, "no-such-tenant");
    const before = (await listDurableObjectIds(env.TENANT)).length;
    for (const bad of [
      typo,
      forged,
      "x",
      `${key}x`,
      key.slice(0, -1),
      key.toUpperCase(),
      "sbx_a_t_x_y_z",
      "a".repeat(5000),
    ]) {
      const { status, headers, body } = await request(bad, "GET", "/api/jobs");
      expect([bad.slice(0, 40), status]).toEqual([bad.slice(0, 40), 401]);
      expect(body).toMatchObject({ title: "Authentication failed", code: "authentication_failed" });
      expect(headers.get("www-authenticate")).toContain("Bearer");
      expect(JSON.stringify(body)).not.toContain(bad.slice(-20));
    }
    expect((await listDurableObjectIds(env.TENANT)).length).toBe(before);
    expect(await statusOf(null)).toBe(401);
    for (const authorization of [
      "",
      "Bearer",
      "Bearer ",
      key,
      `Basic ${key}`,
      `Bearer ${key}, Bearer ${key}`,
      `Bearer ${key} x`,
    ]) {
      expect([authorization.slice(0, 12), await statusOf(null, { authorization })]).toEqual([
        authorization.slice(0, 12),
        401,
      ]);
    }
    for (const scheme of ["bearer ", "Bearer  "])
      expect(await statusOf(null, { authorization: `${scheme}${key}` })).toBe(200);
  });

  it("is shown once, and listed without its secret", async () => {
    const made = await world.post("/api/keys", { name: "ci", role: "standard" });
    expect(made.status).toBe(201);
    expect(Object.keys(made.body).sort()).toEqual(["id", "key", "name", "role"]);
    expect(await statusOf(made.body.key)).toBe(200);
    const { text, body } = await world.get("/api/keys");
    expect(text).not.toContain(made.body.key);
    expect(text).not.toMatch(/hash/);
    expect(body.keys[0]).toEqual({
      id: made.body.id,
      name: "ci",
      role: "standard",
      created_at: expect.any(String),
      last_used_at: expect.any(String),
      revoked_at: null,
      limits: null,
      weight: 1,
      person_id: null,
    });
    for (const wrong of [
      { name: "x" },
      { role: "standard" },
      { name: "", role: "admin" },
      { name: "x", role: "root" },
      { name: "a\nb", role: "admin" },
    ]) {
      expect((await world.post("/api/keys", wrong)).status).toBe(400);
    }
  });

  it("that is revoked fails from its next request on", async () => {
    const key = await world.withKey("standard");
    expect((await key.get("/api/jobs")).status).toBe(200);
    const gone = await world.delete(`/api/keys/${key.keyId}`);
    expect([gone.status, gone.text]).toEqual([204, ""]);
    const { status, body } = await key.get("/api/jobs");
    expect([status, body.title, body.code]).toEqual([401, "Authentication failed", "key_revoked"]);
    expect((await key.post("/api/jobs", { nonsense: 1 })).status).toBe(401);
    const [listed] = (await world.ok("GET", "/api/keys")).keys.filter((one: Body) => one.id === key.keyId);
    expect(listed.revoked_at).toEqual(expect.any(String));
    const rotated = await world.post(`/api/keys/${key.keyId}/rotate`);
    expect([rotated.status, rotated.body.code]).toEqual([409, "key_inactive"]);
    expect((await world.delete(`/api/keys/${key.keyId}`)).status).toBe(204);
  });

  it("that is rotated fails at once, or when its grace is over; the new one works at once", async () => {
    const key = await world.withKey("standard", "ci");
    const first = await world.post(`/api/keys/${key.keyId}/rotate`);
    expect(first.status).toBe(200);
    expect(first.body).toMatchObject({ id: key.keyId, name: "ci", role: "standard" });
    const old = await key.get("/api/jobs");
    expect([old.status, old.body.code]).toEqual([401, "key_rotated"]);
    expect(await statusOf(first.body.key)).toBe(200);
    const second = await world.post(`/api/keys/${key.keyId}/rotate`, { grace_seconds: 3600 });
    expect(await statusOf(first.body.key)).toBe(200);
    expect(await statusOf(second.body.key)).toBe(200);
    expect(await statusOf(key.key)).toBe(401);
    for (const grace_seconds of [-1, 1.5, "1", 86_401]) {
      expect((await world.post(`/api/keys/${key.keyId}/rotate`, { grace_seconds })).status).toBe(400);
    }
    const [self] = (await world.ok("GET", "/api/keys")).keys.slice(-1);
    const own = await world.ok("POST", `/api/keys/${self.id}/rotate`);
    expect(await statusOf(world.key)).toBe(401);
    expect(await statusOf(own.key)).toBe(200);
  });

  it("that is the last one with role admin stays", async () => {
    const [first] = (await world.ok("GET", "/api/keys")).keys;
    const refused = await world.delete(`/api/keys/${first.id}`);
    expect([refused.status, refused.body.code]).toEqual([409, "last_admin_key"]);
    const second = await world.withKey("admin");
    expect((await world.delete(`/api/keys/${first.id}`)).status).toBe(204);
    expect(await statusOf(world.key)).toBe(401);
    expect((await second.delete(`/api/keys/${second.keyId}`)).status).toBe(409);
  });

  it("that nobody made is unknown, whatever it looks like", async () => {
    for (const id of ["nope", "no-such-key", crypto.randomUUID(), "%00", "a%20b", "x".repeat(300), "__proto__"]) {
      expect([id, (await world.delete(`/api/keys/${id}`)).status]).toEqual([id, 404]);
      expect([id, (await world.post(`/api/keys/${id}/rotate`)).status]).toEqual([id, 404]);
    }
  });
});

describe("a role", () => {
  it("may do what its row says, and nothing else", async () => {
    await world.ok("POST", "/presence", { instance: "w1", provider: "p", status: "idle", tags: "" });
    const clients: Record<string, Client> = {
      admin: world,
      standard: await world.withKey("standard"),
      worker: await world.withKey("worker"),
    };
    const everyone = ["admin", "standard", "worker"];
    const operators = ["admin", "standard"];
    const table: [string[], string, string, unknown?][] = [
      [everyone, "POST", "/presence", { instance: "w2", provider: "p", status: "idle", tags: "" }],
      [everyone, "GET", "/presence"],
      [everyone, "GET", "/config"],
      [everyone, "POST", "/api/workers/w2/claim"],
      [everyone, "POST", "/api/jobs/nope/start", { lease: 1 }],
      [everyone, "GET", "/api/jobs/nope"],
      [operators, "POST", "/api/jobs", { prompt: "a", tags: ["nobody-has-this"] }],
      [operators, "POST", "/api/jobs/batch", { jobs: [{ prompt: "a", tags: ["nobody-has-this"] }] }],
      [operators, "POST", "/dispatch", { prompt: "a", tags: ["nobody-has-this"] }],
      [operators, "GET", "/api/jobs"],
      [operators, "PATCH", "/api/jobs/nope", { priority: "low" }],
      [operators, "POST", "/api/jobs/nope/cancel"],
      [operators, "POST", "/api/jobs/nope/retry"],
      [operators, "GET", "/api/jobs/nope/events"],
      [operators, "GET", "/dispatch/explain"],
      [operators, "GET", "/api/workers"],
      [operators, "GET", "/api/workers/w1"],
      [operators, "POST", "/api/workers/w1/pause"],
      [operators, "POST", "/api/workers/w1/resume"],
      [operators, "DELETE", "/api/workers/nope"],
      [operators, "GET", "/killswitch"],
      [operators, "GET", "/api/schedules"],
      [operators, "GET", "/api/cost?period=day"],
      [operators, "GET", "/metrics"],
      [["admin"], "GET", "/api/keys"],
      [["admin"], "POST", "/api/keys", { name: "x", role: "worker" }],
      [["admin"], "POST", "/api/keys/nope/rotate"],
      [["admin"], "DELETE", "/api/keys/nope"],
      [["admin"], "GET", "/api/audit"],
      [["admin"], "PUT", "/config", {}],
      [["admin"], "GET", "/catalog/providers"],
      [["admin"], "GET", "/catalog/subscriptions"],
    ];
    for (const [allowed, method, path, body] of table) {
      for (const [role, client] of Object.entries(clients)) {
        const { status } = await request(client.key, method, path, body);
        const may = allowed.includes(role);
        expect([role, method, path, status === 403]).toEqual([role, method, path, !may]);
        if (may) expect([401, 405, 500]).not.toContain(status);
      }
    }
  });

  it("of a worker reaches the jobs of its own workers, and no other's", async () => {
    const mine = await world.withKey("worker");
    const theirs = await world.withKey("worker");
    await mine.ok("POST", "/presence", { instance: "mine", provider: "p", status: "idle", tags: "a" });
    await theirs.ok("POST", "/presence", { instance: "theirs", provider: "p", status: "idle", tags: "b" });
    const job = await world.ok("POST", "/dispatch", { prompt: "secret", tags: ["a"] });
    expect(job.assigned_worker).toBe("mine");
    expect((await mine.get(`/api/jobs/${job.id}`)).body.prompt).toBe("secret");
    for (const [method, path, body] of [
      ["GET", `/api/jobs/${job.id}`],
      ["POST", `/api/jobs/${job.id}/start`, { lease: 1 }],
      ["POST", `/api/jobs/${job.id}/heartbeat`, { lease: 1 }],
      ["POST", `/api/jobs/${job.id}/complete`, { lease: 1, result: "stolen" }],
      ["POST", `/api/jobs/${job.id}/fail`, { lease: 1, error: { code: "x", message: "x" } }],
      ["POST", `/api/jobs/${job.id}/release`, { lease: 1, reason: "x" }],
    ] as const) {
      const { status, text } = await request(theirs.key, method, path, body);
      expect([path, status]).toEqual([path, 403]);
      expect(text).not.toContain("secret");
    }
    // Nor is it told the lease.
    expect((await theirs.post(`/api/jobs/${job.id}/start`, { lease: 9 })).body.code).toBe("forbidden");
    expect((await mine.post(`/api/jobs/${job.id}/complete`, { lease: 1, result: "done" })).status).toBe(200);
    expect((await mine.post(`/api/jobs/${job.id}/complete`, { lease: 1, result: "done" })).status).toBe(200);
  });
});

describe("a key's limit on jobs", () => {
  const create = (key: string | null) => request(key, "POST", "/api/jobs", { prompt: "p" });

  it("counts its open jobs, also after the object has slept, and waking reads no job for that", async () => {
    const { id } = (await create(world.key)).body;
    const limited = (
      await request(world.key, "POST", "/api/keys", { name: "l", role: "standard", limits: { concurrent: 2 } })
    ).body;
    const jobs = [await create(limited.key), await create(limited.key)];
    expect([...jobs.map(({ status }) => status), (await create(limited.key)).status]).toEqual([201, 201, 429]);

    await evictDurableObject(world.stub);
    expect((await create(limited.key)).status).toBe(429);
    await request(limited.key, "POST", `/api/jobs/${jobs[0]?.body.id}/cancel`);
    await evictDurableObject(world.stub);
    expect((await create(limited.key)).status).toBe(201);
    const counts = await runInDurableObject(world.stub, (_tenant, { storage }) =>
      storage.sql.exec("SELECT key_id, count FROM key_open_jobs").toArray(),
    );
    expect(counts).toEqual([{ key_id: limited.id, count: 2 }]);

    await request(world.key, "PATCH", `/api/keys/${limited.id}`, { limits: null });
    expect((await create(limited.key)).status).toBe(201);
    await request(world.key, "PATCH", `/api/keys/${limited.id}`, { limits: { concurrent: 3 } });
    expect((await create(limited.key)).status).toBe(429);
    await request(world.key, "POST", `/api/jobs/${id}/cancel`);
    expect((await create(limited.key)).status).toBe(429);
  });
});
