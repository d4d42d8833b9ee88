// The catalog over HTTP, with a fake provider behind `fetch`: its list reaches routing, cost, schedules and viewers;
// the minute's cron syncs what is due and prunes what is old.

import { env, exports } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Body, connect, newWorld, request, type World } from "../support/workerd/client.ts";

const MIRROR = "https://mirror.example.com/models";

let listed: Body[] | Response = [];
let asked: Request[] = [];

beforeEach(async () => {
  listed = [];
  asked = [];
  await env.DB.prepare("DELETE FROM catalog_subscriptions").run();
  vi.stubGlobal("fetch", async (given: Request) => {
    // Webhooks of other files' tenants may be tried again meanwhile.
    if (given.method === "GET") asked.push(given);
    return listed instanceof Response ? listed : Response.json({ object: "list", data: listed });
  });
});
afterEach(() => vi.unstubAllGlobals());

const lists = (...ids: string[]) => {
  listed = ids.map((id) => ({ id, object: "model" }));
};
const subscribe = (world: World, more: Record<string, unknown> = {}) =>
  world.ok("POST", "/catalog/subscriptions", { provider: "openai", models_sync_url: MIRROR, ...more });
const sync = (world: World, { id }: Body) => world.ok("POST", `/catalog/subscriptions/${id}/sync`);
const minute = () =>
  (exports.default as unknown as { scheduled(event: { cron: string }): Promise<unknown> }).scheduled({
    cron: "* * * * *",
  });

describe("providers", () => {
  it("are listed with where their list is and what names their key, never the key", async () => {
    const world = await newWorld();
    const { providers } = await world.ok("GET", "/catalog/providers");
    const openai = providers.find((one: Body) => one.provider === "openai");
    expect(openai).toEqual({
      provider: "openai",
      list_url: expect.stringMatching(/^https:\/\//),
      method: "GET",
      auth: { header: expect.any(String), ref: "provider:openai" },
      local: false,
    });
    expect(providers.length).toBeGreaterThan(20);
    expect(providers.find((one: Body) => one.provider === "ollama").local).toBe(true);
  });
});

describe("subscriptions", () => {
  it("are created, listed, changed and deleted", async () => {
    const world = await newWorld();
    const created = await world.post("/catalog/subscriptions", { provider: "openai" });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      id: expect.any(String),
      provider: "openai",
      models_sync_schedule: "0 */6 * * *",
      models_sync_url: null,
      model_count: 0,
      models_synced_at: null,
      next_sync_at: expect.any(String),
      last_error: null,
      last_error_at: null,
    });
    expect((await world.ok("GET", "/catalog/subscriptions")).subscriptions).toEqual([created.body]);
    const path = `/catalog/subscriptions/${created.body.id}`;
    expect(await world.ok("GET", path)).toEqual({ ...created.body, provided_models: [] });
    expect((await world.patch(path, {})).status).toBe(400);
    expect(
      await world.ok("PATCH", path, { models_sync_schedule: " 0\t0 * * * ", models_sync_url: MIRROR }),
    ).toMatchObject({
      models_sync_schedule: "0 0 * * *",
      models_sync_url: MIRROR,
    });
    expect((await world.delete(path)).status).toBe(204);
    expect((await world.delete(path)).status).toBe(404);
    expect((await world.get(path)).status).toBe(404);
    expect((await world.ok("GET", "/catalog/subscriptions")).subscriptions).toEqual([]);
  });

  it("refuse what could never sync, and what is there already", async () => {
    const world = await newWorld();
    const wrong: Record<string, unknown>[] = [
      {},
      { provider: "no-such-provider" },
      { provider: "openai", models_sync_schedule: "nonsense" },
      { provider: "openai", models_sync_schedule: "0 0 31 2 *" },
      { provider: "openai", models_sync_url: "http://mirror.example.com/models" },
      { provider: "openai", models_sync_url: "https://127.0.0.1/models" },
      { provider: "openai", models_sync_url: "https://169.254.169.254/latest" },
      { provider: "openai", models_sync_url: "https://localhost/models" },
      { provider: "openai", models_sync_url: "https://[::1]/models" },
      { provider: "openai", models_sync_url: "file:///etc/passwd" },
      { provider: "openai", models_sync_url: "nonsense" },
      { provider: "openai", key: "x" },
    ];
    for (const body of wrong) {
      expect([JSON.stringify(body), (await world.post("/catalog/subscriptions", body)).status]).toEqual([
        JSON.stringify(body),
        400,
      ]);
    }
    await subscribe(world);
    const again = await world.post("/catalog/subscriptions", { provider: "openai", models_sync_url: MIRROR });
    expect(again).toMatchObject({ status: 409, body: { code: "subscription_exists" } });
  });

  it("are for admins, and of this tenant alone", async () => {
    const [one, other] = [await newWorld(), await newWorld()];
    const { id } = await subscribe(one);
    for (const role of ["standard", "worker"] as const) {
      const client = await one.withKey(role);
      const own = `/catalog/subscriptions/${id}`;
      for (const path of ["/catalog/providers", "/catalog/subscriptions", own, `${own}/models`]) {
        expect([role, path, (await client.get(path)).status]).toEqual([role, path, 403]);
      }
      expect((await client.post("/catalog/subscriptions", { provider: "openai" })).status).toBe(403);
    }
    expect((await request(null, "GET", "/catalog/providers")).status).toBe(401);
    expect((await other.ok("GET", "/catalog/subscriptions")).subscriptions).toEqual([]);
    for (const path of ["", "/models", "/history"])
      expect((await other.get(`/catalog/subscriptions/${id}${path}`)).status).toBe(404);
    expect((await other.post(`/catalog/subscriptions/${id}/sync`)).status).toBe(404);
    expect((await other.patch(`/catalog/subscriptions/${id}`, { models_sync_url: null })).status).toBe(404);
    expect((await other.delete(`/catalog/subscriptions/${id}`)).status).toBe(404);
  });
});

describe("a sync", () => {
  it("answers what changed, and keeps models and history", async () => {
    const world = await newWorld();
    const subscription = await subscribe(world);
    const path = `/catalog/subscriptions/${subscription.id}`;
    expect(await world.ok("GET", `${path}/models`)).toEqual({ models: [], models_synced_at: null });
    lists("b", "a");
    const first = await sync(world, subscription);
    expect(first).toEqual({ changed: true, added: 2, removed: 0, updated: 0, models_synced_at: expect.any(String) });
    expect(asked[0]?.headers.get("authorization")).toBeNull();
    expect((await world.ok("GET", `${path}/models`)).models.map((one: Body) => one.id)).toEqual(["a", "b"]);
    expect(await sync(world, subscription)).toMatchObject({ changed: false, added: 0, removed: 0, updated: 0 });
    lists("a", "c");
    expect(await sync(world, subscription)).toMatchObject({ changed: true, added: 1, removed: 1 });
    const history = await world.ok("GET", `${path}/history?limit=2`);
    expect(history).toMatchObject({ total: 4, limit: 2, offset: 0 });
    expect(history.history.map((one: Body) => [one.kind, one.model_id]).sort()).toEqual([
      ["added", "c"],
      ["removed", "b"],
    ]);
    expect(history.history.find((one: Body) => one.kind === "removed")).toMatchObject({
      before: { id: "b" },
      after: null,
    });
    const [stored] = (await world.ok("GET", "/catalog/subscriptions")).subscriptions;
    const { provided_models: provided, ...shown } = await world.ok("GET", path);
    expect([provided.map((one: Body) => one.id), shown]).toEqual([["a", "c"], stored]);
    expect(stored).toMatchObject({ model_count: 2, last_error: null });
    const actions = (await world.ok("GET", "/api/audit")).entries.map((entry: Body) => entry.action);
    expect(actions.filter((action: string) => action === "catalog.synced")).toHaveLength(2);
    expect(actions).toContain("catalog.subscription_created");
  });

  it("that fails or is lied to is 502 and keeps the snapshot", async () => {
    const world = await newWorld();
    const subscription = await subscribe(world);
    lists("a");
    await sync(world, subscription);
    const lies = [
      new Response("down", { status: 500 }),
      new Response("no", { status: 401 }),
      Response.json({ error: "quota" }),
      Response.json({ data: "none" }),
      new Response("<html>", { headers: { "content-type": "text/html" } }),
      new Response(null, { status: 302, headers: { location: "https://elsewhere.example" } }),
    ];
    for (const lie of lies) {
      listed = lie;
      const answer = await world.post(`/catalog/subscriptions/${subscription.id}/sync`);
      expect([answer.status, answer.body.code]).toEqual([502, "provider_failed"]);
    }
    expect(asked.every((one) => new URL(one.url).host === "mirror.example.com")).toBe(true);
    expect((await world.ok("GET", `/catalog/subscriptions/${subscription.id}/models`)).models).toHaveLength(1);
    const [stored] = (await world.ok("GET", "/catalog/subscriptions")).subscriptions;
    expect(stored).toMatchObject({ model_count: 1, last_error: expect.any(String), last_error_at: expect.any(String) });
  });

  it("without the provider's key says which one is missing, and asks nobody", async () => {
    const world = await newWorld();
    const subscription = await subscribe(world, { models_sync_url: undefined });
    const answer = await world.post(`/catalog/subscriptions/${subscription.id}/sync`);
    expect(answer).toMatchObject({
      status: 502,
      body: { code: "provider_failed", detail: expect.stringContaining("openai") },
    });
    expect(asked).toEqual([]);
  });
});

it("a subscription that is made, changed or deleted is told to viewers", async () => {
  const world = await newWorld();
  const { socket } = await connect("/live", { authorization: `Bearer ${world.key}` });
  let { seq } = await (socket as NonNullable<typeof socket>).next((message) => message.type === "snapshot");
  const told = async () => {
    const message = await socket?.next((one) => one.type === "catalog.updated" && one.seq > seq);
    seq = message?.seq;
    return message;
  };
  const { id } = await subscribe(world);
  expect(await told()).toMatchObject({ removed_models: [] });
  await world.ok("PATCH", `/catalog/subscriptions/${id}`, { models_sync_schedule: "0 0 * * *" });
  expect(await told()).toMatchObject({ removed_models: [] });
  expect((await world.delete(`/catalog/subscriptions/${id}`)).status).toBe(204);
  expect(await told()).toMatchObject({ removed_models: [] });
});

describe("a model that is removed", () => {
  it("is flagged where it is named: waiting job, schedule, explain, live, audit", async () => {
    const world = await newWorld();
    const { socket } = await connect("/live", { authorization: `Bearer ${world.key}` });
    const snapshot = await socket?.next((message) => message.type === "snapshot");
    expect(snapshot).toMatchObject({ removed_models: [], today_usd: 0, budget_reached: null });
    const subscription = await subscribe(world);
    lists("old", "new");
    await sync(world, subscription);
    const bound = await world.ok("POST", "/api/jobs", { prompt: "x", provider: "openai", model: "old" });
    const free = await world.ok("POST", "/api/jobs", { prompt: "x", model: "old" });
    const fine = await world.ok("POST", "/api/jobs", { prompt: "x", model: "new" });
    await world.ok("POST", "/api/schedules", {
      name: "s",
      interval: "1h",
      prompt: "x",
      provider: "openai",
      model: "old",
    });
    expect((await world.ok("GET", "/api/schedules/s")).warning).toBeNull();
    lists("new");
    await sync(world, subscription);
    const note = 'the catalog of openai no longer lists model "old"';
    for (const { id } of [bound, free])
      expect((await world.ok("GET", `/api/jobs/${id}`)).waiting_reason).toContain(note);
    expect((await world.ok("GET", `/api/jobs/${fine.id}`)).waiting_reason).not.toContain("no longer");
    expect((await world.ok("GET", "/api/schedules/s")).warning).toBe(note);
    const explained = await world.ok("GET", "/dispatch/explain?provider=openai&model=old");
    expect(explained.notes).toContain('the catalog of openai does not list model "old"');
    const told = await socket?.next(
      (message) => message.type === "catalog.updated" && message.removed_models.length > 0,
    );
    expect(told.removed_models).toEqual([
      { provider: "openai", models_in_use: ["old"], waiting_jobs: 2, workers: [], schedules: ["s"] },
    ]);
    const entry = (await world.ok("GET", "/api/audit")).entries.find(
      (one: Body) => one.action === "catalog.models_removed",
    );
    expect(entry).toMatchObject({
      target: "openai",
      actor: { name: "signalbox" },
      detail: { models: ["old"], waiting_jobs: 2, schedules: ["s"] },
    });
    lists("new", "old");
    await sync(world, subscription);
    expect((await world.ok("GET", "/api/schedules/s")).warning).toBeNull();
  });

  it("from one list is not gone while another list of the same provider has it", async () => {
    const world = await newWorld();
    const one = await subscribe(world);
    const other = await subscribe(world, { models_sync_url: "https://other.example.com/models" });
    lists("shared", "mine");
    await sync(world, one);
    lists("shared", "theirs");
    await sync(world, other);
    lists("theirs");
    await sync(world, other);
    const job = await world.ok("POST", "/api/jobs", { prompt: "x", provider: "openai", model: "shared" });
    expect((await world.ok("GET", `/api/jobs/${job.id}`)).waiting_reason).not.toContain("no longer");
    await world.delete(`/catalog/subscriptions/${other.id}`);
    const explained = await world.ok("GET", "/dispatch/explain?provider=openai&model=mine");
    expect(explained.notes).toEqual([]);
    await world.delete(`/catalog/subscriptions/${one.id}`);
    const after = await world.ok("GET", "/dispatch/explain?provider=openai&model=unheard-of");
    expect(after.notes).toEqual([]);
  });
});

describe("the minute's cron", () => {
  it("syncs what is due, tells the tenant, and nothing while it is halted", async () => {
    const world = await newWorld();
    const subscription = await subscribe(world);
    lists("a");
    await world.ok("POST", "/killswitch", { level: 4, reason: "drill" });
    await minute();
    expect(asked).toEqual([]);
    await world.ok("DELETE", "/killswitch");
    await env.DB.prepare("UPDATE catalog_subscriptions SET next_sync_at = 1 WHERE id = ?1").bind(subscription.id).run();
    await minute();
    expect(asked).toHaveLength(1);
    expect((await world.ok("GET", `/catalog/subscriptions/${subscription.id}/models`)).models).toHaveLength(1);
    const explained = await world.ok("GET", "/dispatch/explain?provider=openai&model=b");
    expect(explained.notes).toContain('the catalog of openai does not list model "b"');
    await minute();
    expect(asked).toHaveLength(1);
  });

  it("prunes the catalog's history after a year, and nothing younger", async () => {
    const world = await newWorld();
    const subscription = await subscribe(world);
    lists("a", "b");
    await sync(world, subscription);
    const lines = async () => (await world.ok("GET", `/catalog/subscriptions/${subscription.id}/history`)).total;
    await env.DB.prepare("UPDATE catalog_history SET at = ?2 WHERE tenant = ?1 AND model_id = 'a'")
      .bind(world.tenant, Date.now() - 366 * 86_400_000)
      .run();
    expect(await lines()).toBe(2);
    await minute();
    expect(await lines()).toBe(1);
    expect((await world.ok("GET", `/catalog/subscriptions/${subscription.id}/models`)).models).toHaveLength(2);
  });
});
