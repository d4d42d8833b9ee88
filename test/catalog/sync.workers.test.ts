import { beforeEach, describe, expect, it } from "vitest";
import { SERVICE_ACTOR } from "../../domain/words/event.ts";
import { LIST_BUDGET } from "../../src/catalog/list-models.ts";
import { pruneHistory, readModelsHistory, readSnapshot } from "../../src/catalog/models.ts";
import { deleteSubscription, patchSubscription } from "../../src/catalog/subscriptions.ts";
import { syncSubscription } from "../../src/catalog/sync.ts";
import { SYNC_LEASE_MS } from "../../src/catalog/sync-lease.ts";
import { ANA, type CatalogWorld, catalogWorld } from "./catalog-world.ts";
import { ACME_KEY, acme, json, modelRows, unending } from "./fake-provider.ts";

let world: CatalogWorld;
let id = "";
beforeEach(async () => {
  world = await catalogWorld();
  id = (await world.subscribe()).id;
});

const sync = () => syncSubscription(world.tools, world.tenant, id, ANA);
/** Prices of a million tokens by model: input and output. */
const pricesNow = async () => {
  const { results } = await world.db
    .prepare(
      "SELECT model_id, input_nano_per_mtok AS input, output_nano_per_mtok AS output FROM catalog_models WHERE tenant = ?1",
    )
    .bind(world.tenant)
    .all<{ model_id: string; input: number | null; output: number | null }>();
  return Object.fromEntries(results.map((row) => [row.model_id, [row.input, row.output]]));
};

const idsNow = async () => {
  const snapshot = await readSnapshot(world.history, id);
  return snapshot.ok ? snapshot.value.models.map((model) => model.id) : [];
};
const history = async (limit = 50, offset = 0) => {
  const found = await readModelsHistory(world.history, id, { limit, offset });
  if (!found.ok) throw new Error("no history");
  return found.value;
};
const everything = async () => {
  const of = (table: string) =>
    world.db.prepare(`SELECT rowid, * FROM ${table} WHERE tenant = ?1`).bind(world.tenant).all();
  const tables = await Promise.all(["catalog_subscriptions", "catalog_models", "catalog_history", "audit"].map(of));
  return tables.map((table) => table.results);
};

/** A provider that answers when it is told to. */
function held() {
  let release = (_: Response) => {};
  let arrive = () => {};
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const answer = () =>
    new Promise<Response>((resolve) => {
      release = resolve;
      arrive();
    });
  return { answer, arrived, release: (response: Response) => release(response) };
}

describe("a sync", () => {
  it("stores what is listed, and tells what it did", async () => {
    world.answer = () => json({ data: [{ id: "b", name: "B", context: 8192 }, { id: "a" }] });
    expect(await sync()).toEqual({
      ok: true,
      value: {
        subscriptionId: id,
        provider: "acme",
        isChanged: true,
        added: ["a", "b"],
        removed: [],
        updated: [],
        repriced: [],
        modelsSyncedAt: world.clock.now,
      },
    });
    expect(await readSnapshot(world.history, id)).toEqual({
      ok: true,
      value: {
        models: [
          { id: "a", name: "a" },
          { id: "b", name: "B", context_window: 8192 },
        ],
        prices: new Map(),
        subscription: expect.objectContaining({ id, modelsSyncedAt: world.clock.now }),
      },
    });
    expect(await world.see(id)).toMatchObject({ modelCount: 2, modelsSyncedAt: world.clock.now, lastError: null });
  });

  it("writes the history of each model, newest first", async () => {
    world.lists("a", "b");
    await sync();
    world.clock.now += 60_000;
    world.answer = () => json({ data: [{ id: "b", name: "Bee" }, { id: "c" }] });
    expect(await sync()).toMatchObject({ value: { added: ["c"], removed: ["a"], updated: ["b"] } });
    const { history: lines, total } = await history(3);
    expect(total).toBe(5);
    expect(lines.map(({ kind, modelId, before, after }) => [kind, modelId, before?.name, after?.name])).toEqual([
      ["added", "c", undefined, "c"],
      ["changed", "b", "b", "Bee"],
      ["removed", "a", "a", undefined],
    ]);
    expect(lines.every((line) => line.at === world.clock.now)).toBe(true);
    expect((await history(2, 3)).history.map((line) => line.modelId)).toEqual(["b", "a"]);
    expect(await idsNow()).toEqual(["b", "c"]);
  });

  it("of an identical list changes nothing but the times of the sync", async () => {
    world.answer = () =>
      json({
        data: [
          { id: "a", created: 1 },
          { id: "b", created: 1 },
        ],
      });
    await sync();
    const [before, ...rest] = await everything();
    world.clock.now += 60_000;
    world.answer = () =>
      json({
        data: [
          { id: "b", created: 2, throughput: 9 },
          { id: "a", created: 2 },
        ],
      });
    expect(await sync()).toMatchObject({ value: { isChanged: false, added: [], removed: [], updated: [] } });
    const [after, ...same] = await everything();
    expect(same).toEqual(rest);
    expect({ ...after?.[0], models_synced_at: 0, next_sync_at: 0 }).toEqual({
      ...before?.[0],
      models_synced_at: 0,
      next_sync_at: 0,
    });
    expect((await world.see(id)).modelsSyncedAt).toBe(world.clock.now);
  });

  it("is recorded in the audit log only if it changed something, with its caller", async () => {
    world.lists("a");
    await sync();
    await sync();
    world.lists();
    await syncSubscription(world.tools, world.tenant, id);
    const lines = (await world.audit()).filter((line) => line.action === "catalog.synced");
    expect(lines.map((line) => [line.actor, line.detail])).toEqual([
      ["ana", { provider: "acme", added: 1, removed: 0, updated: 0 }],
      [SERVICE_ACTOR.name, { provider: "acme", added: 0, removed: 1, updated: 0 }],
    ]);
  });

  it("of a truly empty list removes every model", async () => {
    world.lists("a", "b");
    await sync();
    world.answer = () => json({ data: null });
    expect(await sync()).toMatchObject({ value: { removed: ["a", "b"] } });
    expect(await world.see(id)).toMatchObject({ modelCount: 0 });
  });

  it("of thousands of models stores and removes them all", async () => {
    const ids = Array.from({ length: 5_000 }, (_, index) => `m${String(index).padStart(4, "0")}`);
    world.lists(...ids);
    expect(await sync()).toMatchObject({ value: { added: { length: 5_000 } } });
    expect(await idsNow()).toEqual(ids);
    world.lists("m0000");
    expect(await sync()).toMatchObject({ value: { removed: { length: 4_999 } } });
    expect(await idsNow()).toEqual(["m0000"]);
    expect((await history()).total).toBe(9_999);
  });

  it("keeps hostile names as the text they are", async () => {
    const hostile = ["'; DROP TABLE catalog_models; --", "<img src=x onerror=alert(1)>", "__proto__", "%2e%2e/", '"]'];
    world.lists(...hostile, "a\u0000b");
    expect(await sync()).toMatchObject({ ok: true });
    expect(await idsNow()).toEqual([...hostile].sort());
  });

  it("keeps prices beside the models; one that moves changes no list, and stands in the history", async () => {
    const pricing = { unit: "per_1m", input: "in", output: "out" } as const;
    const tools = { ...world.tools, providers: new Map([["acme", { ...acme, pricing }]]) };
    world.answer = () => json({ data: [{ id: "a", in: 3, out: 15 }, { id: "b" }] });
    await syncSubscription(tools, world.tenant, id, ANA);
    expect(await pricesNow()).toEqual({ a: [3_000_000_000, 15_000_000_000], b: [null, null] });
    world.answer = () => json({ data: [{ id: "a", in: 2, out: 10 }, { id: "b" }] });
    expect(await syncSubscription(tools, world.tenant, id, ANA)).toMatchObject({
      value: { isChanged: false, updated: [], repriced: ["a"] },
    });
    expect(await pricesNow()).toMatchObject({ a: [2_000_000_000, 10_000_000_000] });
    const { history: lines, total } = await history();
    expect(total).toBe(3);
    expect(lines[0]).toMatchObject({
      kind: "changed",
      modelId: "a",
      before: { id: "a", name: "a" },
      after: { id: "a", name: "a" },
      priceBefore: { input_nano_per_mtok: 3_000_000_000, output_nano_per_mtok: 15_000_000_000 },
      priceAfter: { input_nano_per_mtok: 2_000_000_000, output_nano_per_mtok: 10_000_000_000 },
    });
    expect(await syncSubscription(tools, world.tenant, id, ANA)).toMatchObject({ value: { repriced: [] } });
    expect((await history()).total).toBe(3);
  });
});

describe("a sync that fails", () => {
  beforeEach(async () => {
    world.lists("a", "b");
    await sync();
    world.clock.now += 60_000;
  });

  it.each<[string, () => Response]>([
    ["refuses the key", () => json({ error: { message: `bad key ${ACME_KEY}` } }, 401)],
    ["answers 200 with an error", () => json({ error: "no quota" })],
    ["answers something else", () => new Response("<html>")],
    ["says that there is more", () => json({ ...modelRows("a"), has_more: true })],
    ["redirects", () => new Response(null, { status: 302, headers: { location: "https://evil.example/" } })],
    ["repeats the key", () => json(modelRows(ACME_KEY))],
    ["drips", () => unending('{"data":[').response],
    [
      "throws",
      () => {
        throw new Error(`boom ${ACME_KEY}`);
      },
    ],
  ])("because the provider %s keeps the snapshot, shows the error and holds no key", async (_name, answer) => {
    world.answer = answer;
    const tools = { ...world.tools, budget: { ...LIST_BUDGET, timeoutMs: 40 } };
    const result = await syncSubscription(tools, world.tenant, id, ANA);
    expect(result).toMatchObject({ ok: false, error: { code: "provider_failed" } });
    expect(await idsNow()).toEqual(["a", "b"]);
    expect((await history()).total).toBe(2);
    expect(await world.see(id)).toMatchObject({
      modelCount: 2,
      modelsSyncedAt: world.clock.now - 60_000,
      lastError: expect.stringMatching(/./),
      lastErrorAt: world.clock.now,
    });
    expect(JSON.stringify([result, await everything()])).not.toContain(ACME_KEY);
  });

  it("recovers with the next successful sync", async () => {
    world.answer = () => json({}, 500);
    await sync();
    world.lists("a", "b");
    expect(await sync()).toMatchObject({ ok: true, value: { isChanged: false } });
    expect(await world.see(id)).toMatchObject({ lastError: null, lastErrorAt: null });
  });

  it("is tried again sooner than its schedule when that may help, ever more slowly", async () => {
    world.answer = () => json({}, 503);
    await sync();
    expect((await world.see(id)).nextSyncAt).toBe(world.clock.now + 5 * 60_000);
    await sync();
    expect((await world.see(id)).nextSyncAt).toBe(world.clock.now + 10 * 60_000);
  });

  it("waits for its schedule when trying again cannot help", async () => {
    world.answer = () => json({}, 401);
    await sync();
    expect((await world.see(id)).nextSyncAt).toBeGreaterThan(world.clock.now + 5 * 60 * 60_000);
  });

  it("waits as long as the provider asks", async () => {
    world.answer = () => json({}, 429, { "retry-after": "36000" });
    await sync();
    expect((await world.see(id)).nextSyncAt).toBe(world.clock.now + 36_000_000);
  });

  it("because its provider's file is gone says so", async () => {
    const tools = { ...world.tools, providers: new Map() };
    expect(await syncSubscription(tools, world.tenant, id, ANA)).toMatchObject({
      error: { code: "provider_failed", detail: expect.stringContaining("no provider file for it") },
    });
  });
});

describe("two syncs of one subscription", () => {
  it("never run at once: the second is refused while the first is listing", async () => {
    const provider = held();
    world.answer = provider.answer;
    const first = sync();
    await provider.arrived;
    expect(await sync()).toEqual({ ok: false, error: { code: "sync_in_progress", id } });
    provider.release(json(modelRows("a")));
    expect(await first).toMatchObject({ ok: true, value: { added: ["a"] } });
    expect(world.requests).toHaveLength(1);
    world.lists("a");
    expect(await sync()).toMatchObject({ ok: true });
  });

  it("cannot both store, even if the first one outlived its lease", async () => {
    const provider = held();
    world.answer = provider.answer;
    const late = sync();
    await provider.arrived;
    world.clock.now += SYNC_LEASE_MS;
    world.lists("new");
    expect(await sync()).toMatchObject({ ok: true, value: { added: ["new"] } });
    provider.release(json(modelRows("old")));
    expect(await late).toEqual({ ok: false, error: { code: "sync_in_progress", id } });
    expect(await idsNow()).toEqual(["new"]);
    expect((await history()).total).toBe(1);
  });

  it("a late failure does not overwrite the other's success", async () => {
    const provider = held();
    world.answer = provider.answer;
    const late = sync();
    await provider.arrived;
    world.clock.now += SYNC_LEASE_MS;
    world.lists("new");
    await sync();
    provider.release(json({}, 500));
    expect(await late).toMatchObject({ ok: false });
    expect(await world.see(id)).toMatchObject({ lastError: null });
  });
});

describe("a subscription that changes while it syncs", () => {
  it("stores nothing of its old address, and is due again", async () => {
    const provider = held();
    world.answer = provider.answer;
    const running = sync();
    await provider.arrived;
    await patchSubscription(world.tools, world.tenant, id, ANA, {
      models_sync_url: "https://mirror.example.com/models",
    });
    provider.release(json(modelRows("old")));
    expect(await running).toEqual({ ok: false, error: { code: "sync_in_progress", id } });
    expect(await idsNow()).toEqual([]);
    expect((await world.see(id)).nextSyncAt).toBe(world.clock.now);
    world.lists("new");
    expect(await sync()).toMatchObject({ ok: true, value: { added: ["new"] } });
  });

  it("does not record the failure of its old address", async () => {
    const provider = held();
    world.answer = provider.answer;
    const running = sync();
    await provider.arrived;
    await patchSubscription(world.tools, world.tenant, id, ANA, {
      models_sync_url: "https://mirror.example.com/models",
    });
    provider.release(json({}, 500));
    expect(await running).toMatchObject({ ok: false, error: { code: "provider_failed" } });
    expect(await world.see(id)).toMatchObject({ lastError: null, nextSyncAt: world.clock.now });
    world.lists("new");
    expect(await sync()).toMatchObject({ ok: true });
  });

  it("and is deleted leaves nothing behind", async () => {
    const provider = held();
    world.answer = provider.answer;
    const running = sync();
    await provider.arrived;
    await deleteSubscription(world.tools, world.tenant, id, ANA);
    provider.release(json(modelRows("a")));
    expect(await running).toMatchObject({ ok: false, error: { code: "not_found" } });
    const [subscriptions, models, lines] = await everything();
    expect([subscriptions, models, lines]).toEqual([[], [], []]);
  });
});

describe("retention", () => {
  it("removes old lines of the history a bounded number at a time", async () => {
    await world.db.prepare("DELETE FROM catalog_history").run();
    world.lists("a", "b", "c");
    await sync();
    world.clock.now += 60_000;
    world.lists("a", "b", "c", "d");
    await sync();
    const total = async () => (await history()).total;
    expect(await pruneHistory(world.db, world.clock.now, 2)).toBe(2);
    expect(await pruneHistory(world.db, world.clock.now, 100)).toBe(1);
    expect(await total()).toBe(1);
    world.lists("a");
    expect(await sync()).toMatchObject({ ok: true });
    expect(await total()).toBe(4);
  });
});
