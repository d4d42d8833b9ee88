import { beforeEach, describe, expect, it } from "vitest";
import { readModelsHistory, readSnapshot } from "../../src/catalog/models.ts";
import { getSubscription, listSubscriptions } from "../../src/catalog/subscription-rows.ts";
import {
  createSubscription,
  DEFAULT_SYNC_SCHEDULE,
  deleteSubscription,
  MAX_SUBSCRIPTIONS_PER_TENANT,
  patchSubscription,
} from "../../src/catalog/subscriptions.ts";
import { syncSubscription } from "../../src/catalog/sync.ts";
import { TenantHistory } from "../../src/history/tenant-history.ts";
import { ANA, type CatalogWorld, catalogWorld } from "./catalog-world.ts";
import { json } from "./fake-provider.ts";

let world: CatalogWorld;
beforeEach(async () => {
  world = await catalogWorld();
});

describe("a subscription", () => {
  it("with a provider alone follows its list every six hours, from now on", async () => {
    const created = await world.subscribe();
    expect(created).toMatchObject({
      provider: "acme",
      modelsSyncSchedule: DEFAULT_SYNC_SCHEDULE,
      modelsSyncUrl: null,
      modelCount: 0,
      modelsSyncedAt: null,
      nextSyncAt: world.clock.now,
      lastError: null,
      lastErrorAt: null,
    });
    expect(created.id).toMatch(/^[A-Za-z0-9_]{1,64}$/);
    expect(await world.see(created.id)).toEqual(created);
    expect(await listSubscriptions(world.history)).toEqual([created]);
  });

  it.each([
    [{ provider: "nobody" }, "provider", "GET /catalog/providers"],
    [{ provider: "constructor" }, "provider", "GET /catalog/providers"],
    [{ models_sync_schedule: "every day" }, "models_sync_schedule", "cron"],
    [{ models_sync_schedule: "0 0 30 2 *" }, "models_sync_schedule", "never fires"],
    [{ models_sync_schedule: "* * * * * *" }, "models_sync_schedule", "five"],
    [{ models_sync_schedule: "H * * * *" }, "models_sync_schedule", "cron"],
    [{ models_sync_url: "http://models.example.com/" }, "models_sync_url", "https://"],
    [{ models_sync_url: "https://169.254.169.254/" }, "models_sync_url", "clouds"],
    [{ models_sync_url: "https://localhost/" }, "models_sync_url", "public host"],
  ])("with %j is refused at %s", async (input, path, words) => {
    const refused = await createSubscription(world.tools, world.tenant, ANA, { provider: "acme", ...input });
    expect(refused).toMatchObject({
      ok: false,
      error: { code: "invalid_request", errors: [{ path, message: expect.stringContaining(words) }] },
    });
    expect(await listSubscriptions(world.history)).toEqual([]);
    expect(await world.audit()).toEqual([]);
  });

  it("may follow a local runtime in the network at home", async () => {
    const created = await world.subscribe({ provider: "ollama", models_sync_url: "http://192.168.1.9:11434/api/tags" });
    expect(created.modelsSyncUrl).toBe("http://192.168.1.9:11434/api/tags");
  });

  it("to the same list a second time is refused, and leaves nothing behind", async () => {
    await world.subscribe();
    const again = await createSubscription(world.tools, world.tenant, ANA, { provider: "acme" });
    expect(again).toEqual({ ok: false, error: { code: "subscription_exists", provider: "acme" } });
    expect(await listSubscriptions(world.history)).toHaveLength(1);
    expect(await world.audit()).toHaveLength(1);
    await world.subscribe({ models_sync_url: "https://mirror.example.com/models" });
    expect(await listSubscriptions(world.history)).toHaveLength(2);
  });

  it("beyond the tenant's number is refused", async () => {
    const rows = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
      INSERT INTO catalog_subscriptions (tenant, id, provider, models_sync_schedule, models_sync_url, next_sync_at, created_at)
      SELECT ?1, 'sub_' || i, 'acme', '0 * * * *', 'https://a.example/' || i, 0, 0 FROM n`;
    await world.db.prepare(rows).bind(world.tenant, MAX_SUBSCRIPTIONS_PER_TENANT).run();
    const refused = await createSubscription(world.tools, world.tenant, ANA, { provider: "acme" });
    expect(refused).toMatchObject({ ok: false, error: { code: "invalid_request" } });
    await world.db.prepare("DELETE FROM catalog_subscriptions WHERE tenant = ?1").bind(world.tenant).run();
  });

  it("that is edited is due at once, and forgets nothing that is not named", async () => {
    const { id } = await world.subscribe({ models_sync_url: "https://mirror.example.com/models" });
    world.clock.now += 1_000;
    const edited = await patchSubscription(world.tools, world.tenant, id, ANA, { models_sync_schedule: "30 2 * * *" });
    expect(edited).toMatchObject({
      ok: true,
      value: {
        modelsSyncSchedule: "30 2 * * *",
        modelsSyncUrl: "https://mirror.example.com/models",
        nextSyncAt: world.clock.now,
      },
    });
    const reset = await patchSubscription(world.tools, world.tenant, id, ANA, {
      models_sync_schedule: null,
      models_sync_url: null,
    });
    expect(reset).toMatchObject({
      ok: true,
      value: { modelsSyncSchedule: DEFAULT_SYNC_SCHEDULE, modelsSyncUrl: null },
    });
  });

  it("with a new schedule alone waits for it, and is due at once where its last sync failed", async () => {
    const { id } = await world.subscribe();
    world.lists("a");
    await syncSubscription(world.tools, world.tenant, id, ANA);
    const edited = async (schedule: string) => {
      await patchSubscription(world.tools, world.tenant, id, ANA, { models_sync_schedule: schedule });
      return (await world.see(id)).nextSyncAt;
    };
    const nightly = await edited("0 0 * * *");
    expect(nightly).toBeGreaterThanOrEqual(Date.UTC(2026, 10, 22));
    expect(nightly).toBeLessThan(Date.UTC(2026, 10, 22, 1));
    world.answer = () => json({}, 500);
    await syncSubscription(world.tools, world.tenant, id, ANA);
    expect(await edited("0 1 * * *")).toBe(world.clock.now);
  });

  it("with a new address, and then a new schedule, asks the address at once", async () => {
    const { id } = await world.subscribe();
    world.lists("a");
    await syncSubscription(world.tools, world.tenant, id, ANA);
    const edit = (patch: object) => patchSubscription(world.tools, world.tenant, id, ANA, patch);
    await edit({ models_sync_url: "https://models.example.com/v1/models" });
    const movedAt = world.clock.now;
    world.clock.now += 1_000;
    await edit({ models_sync_schedule: "0 0 * * *" });
    expect((await world.see(id)).nextSyncAt).toBe(movedAt + 1_000);
  });

  it("edited to what it already is changes nothing, the audit included", async () => {
    const created = await world.subscribe();
    world.clock.now += 1_000;
    const patch = { models_sync_schedule: DEFAULT_SYNC_SCHEDULE };
    expect(await patchSubscription(world.tools, world.tenant, created.id, ANA, patch)).toEqual({
      ok: true,
      value: created,
    });
    expect(await world.audit()).toHaveLength(1);
  });

  it("cannot be edited into an invalid one or a duplicate", async () => {
    await world.subscribe();
    const { id } = await world.subscribe({ models_sync_url: "https://mirror.example.com/models" });
    const bad = await patchSubscription(world.tools, world.tenant, id, ANA, { models_sync_url: "https://10.0.0.1/" });
    expect(bad).toMatchObject({ ok: false, error: { code: "invalid_request" } });
    const double = await patchSubscription(world.tools, world.tenant, id, ANA, { models_sync_url: null });
    expect(double).toMatchObject({ ok: false, error: { code: "subscription_exists" } });
    expect((await world.see(id)).modelsSyncUrl).toBe("https://mirror.example.com/models");
  });

  it("that is deleted loses its models and history, and is unknown the second time", async () => {
    const { id } = await world.subscribe();
    world.lists("a", "b");
    await syncSubscription(world.tools, world.tenant, id, ANA);
    expect(await deleteSubscription(world.tools, world.tenant, id, ANA)).toMatchObject({ ok: true });
    const gone = { ok: false, error: { code: "not_found", kind: "subscription", id } };
    expect(await deleteSubscription(world.tools, world.tenant, id, ANA)).toEqual(gone);
    expect(await readSnapshot(world.history, id)).toEqual(gone);
    for (const table of ["catalog_models", "catalog_history"]) {
      const count = `SELECT count(*) AS n FROM ${table} WHERE tenant = ?1`;
      expect(await world.db.prepare(count).bind(world.tenant).first("n")).toBe(0);
    }
  });

  it("is recorded in the audit log, without a possible secret in its address", async () => {
    const { id } = await world.subscribe({ models_sync_url: "https://mirror.example.com/models?token=s3cret" });
    await patchSubscription(world.tools, world.tenant, id, ANA, { models_sync_schedule: "0 * * * *" });
    await deleteSubscription(world.tools, world.tenant, id, ANA);
    const lines = await world.audit();
    expect(lines.map((line) => [line.action, line.actor, line.target])).toEqual([
      ["catalog.subscription_created", "ana", id],
      ["catalog.subscription_updated", "ana", id],
      ["catalog.subscription_deleted", "ana", id],
    ]);
    expect(JSON.stringify(lines)).not.toContain("s3cret");
  });
});

describe("another tenant", () => {
  it("sees nothing of it, and can do nothing to it", async () => {
    const { id } = await world.subscribe();
    const stranger = `t-${crypto.randomUUID()}`;
    const strange = new TenantHistory(world.db, stranger);
    const gone = { ok: false, error: { code: "not_found", kind: "subscription", id } };
    const page = { limit: 50, offset: 0 };
    expect(await listSubscriptions(strange)).toEqual([]);
    expect(await getSubscription(strange, id)).toEqual(gone);
    expect(await patchSubscription(world.tools, stranger, id, ANA, { models_sync_url: null })).toEqual(gone);
    expect(await deleteSubscription(world.tools, stranger, id, ANA)).toEqual(gone);
    expect(await readSnapshot(strange, id)).toEqual(gone);
    expect(await readModelsHistory(strange, id, page)).toEqual(gone);
    expect(await syncSubscription(world.tools, stranger, id, ANA)).toEqual(gone);
    expect(world.requests).toEqual([]);
    expect(await world.see(id)).toBeDefined();
  });

  it("has models of its own, even under the same subscription id", async () => {
    const { id } = await world.subscribe();
    const stranger = `t-${crypto.randomUUID()}`;
    const insert =
      "INSERT INTO catalog_models (tenant, subscription_id, model_id, name) VALUES (?1, ?2, 'theirs', 'theirs')";
    const remember = `INSERT INTO catalog_history (tenant, subscription_id, seq, at, kind, model_id)
      VALUES (?1, ?2, 1, 0, 'added', 'theirs')`;
    await world.db.batch([insert, remember].map((sql) => world.db.prepare(sql).bind(stranger, id)));
    expect(await readSnapshot(world.history, id)).toMatchObject({ value: { models: [] } });
    expect(await readModelsHistory(world.history, id, { limit: 50, offset: 0 })).toMatchObject({
      value: { total: 0 },
    });
    world.lists("ours");
    expect(await syncSubscription(world.tools, world.tenant, id)).toMatchObject({ value: { removed: [] } });
    await deleteSubscription(world.tools, world.tenant, id, ANA);
    const left = world.db.prepare("SELECT count(*) AS n FROM catalog_models WHERE tenant = ?1").bind(stranger);
    expect(await left.first("n")).toBe(1);
  });

  it("may follow the same list on its own", async () => {
    await world.subscribe();
    const other = await world.subscribe({}, `t-${crypto.randomUUID()}`);
    expect(other.provider).toBe("acme");
  });
});
