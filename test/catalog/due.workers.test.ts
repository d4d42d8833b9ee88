import { beforeEach, describe, expect, it, vi } from "vitest";
import { configureLog } from "../../log/log.ts";
import {
  DUE_BEGIN_WITHIN_MS,
  DUE_CONCURRENCY,
  HALTED_FOR_MS,
  isCatalogSyncOn,
  syncDueSubscriptions,
} from "../../src/catalog/due.ts";
import { readSnapshot } from "../../src/catalog/models.ts";
import { syncSubscription } from "../../src/catalog/sync.ts";
import { type CatalogWorld, catalogWorld } from "./catalog-world.ts";
import { json, modelRows } from "./fake-provider.ts";

let world: CatalogWorld;
beforeEach(async () => {
  world = await catalogWorld();
  await world.db.prepare("DELETE FROM catalog_subscriptions").run();
});

const mirror = (index: number) => `https://mirror-${index}.example.com/models`;
const subscribeMany = async (count: number) => {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    ids.push((await world.subscribe({ models_sync_url: mirror(index) })).id);
    world.clock.now += 1;
  }
  return ids;
};
const visited = () => world.requests.map((request) => Number(/mirror-(\d+)/.exec(request.url)?.[1]));

describe("a pass over what is due", () => {
  it("syncs it, and leaves what is not due alone", async () => {
    const [first = ""] = await subscribeMany(2);
    world.lists("a");
    expect(await syncDueSubscriptions(world.tools)).toEqual({ synced: 2, changed: 2, failed: 0, left: 0 });
    expect(await readSnapshot(world.history, first)).toMatchObject({ value: { models: [{ id: "a" }] } });
    expect(await syncDueSubscriptions(world.tools)).toEqual({ synced: 0, changed: 0, failed: 0, left: 0 });
    const next = (await world.see(first)).nextSyncAt;
    expect(next).toBeGreaterThan(world.clock.now);
    world.clock.now = next;
    expect((await syncDueSubscriptions(world.tools)).synced).toBeGreaterThanOrEqual(1);
  });

  it("begins with what has waited longest, takes a bounded number, and goes on the next time", async () => {
    await subscribeMany(10);
    world.lists("a");
    const tools = { ...world.tools, maxPerPass: 4 };
    expect(await syncDueSubscriptions(tools)).toMatchObject({ synced: 4 });
    expect(visited().sort()).toEqual([0, 1, 2, 3]);
    expect(await syncDueSubscriptions(tools)).toMatchObject({ synced: 4 });
    expect(await syncDueSubscriptions(tools)).toMatchObject({ synced: 2 });
    expect(new Set(visited()).size).toBe(10);
  });

  it("starves no subscription, though some fail every time", async () => {
    await subscribeMany(6);
    world.answer = (request) => (/mirror-[0-3]\./.test(request.url) ? json({}, 503) : json(modelRows("a")));
    const tools = { ...world.tools, maxPerPass: 2 };
    for (let pass = 0; pass < 3; pass++) await syncDueSubscriptions(tools);
    expect([...new Set(visited())].sort()).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it("is not blocked for ever by a sync that crashes its isolate", async () => {
    await subscribeMany(2);
    world.answer = (request) => {
      if (request.url.includes("mirror-0")) return new Promise(() => {});
      return json(modelRows("a"));
    };
    const tools = {
      ...world.tools,
      maxPerPass: 1,
      budget: { timeoutMs: 60_000, maxBytes: 1, maxRows: 1, maxPages: 1 },
    };
    void syncDueSubscriptions(tools);
    await expect.poll(() => visited()).toEqual([0]);
    await syncDueSubscriptions({ ...world.tools, maxPerPass: 1 });
    expect(visited()).toEqual([0, 1]);
  });

  it("keeps few requests open at a time", async () => {
    await subscribeMany(12);
    let open = 0;
    let most = 0;
    world.answer = async () => {
      most = Math.max(most, ++open);
      await new Promise((resolve) => setTimeout(resolve, 1));
      open--;
      return json(modelRows("a"));
    };
    expect(await syncDueSubscriptions(world.tools)).toMatchObject({ synced: 12 });
    expect(most).toBe(DUE_CONCURRENCY);
  });

  it("begins nothing once its minute is nearly over", async () => {
    await subscribeMany(12);
    world.answer = () => {
      world.clock.now += DUE_BEGIN_WITHIN_MS;
      return json(modelRows("a"));
    };
    const report = await syncDueSubscriptions(world.tools);
    expect(report.synced).toBeLessThanOrEqual(DUE_CONCURRENCY);
    expect(report.left).toBe(12 - report.synced);
  });

  it("run twice at once visits each subscription once", async () => {
    await subscribeMany(8);
    world.lists("a");
    const passes = await Promise.all([syncDueSubscriptions(world.tools), syncDueSubscriptions(world.tools)]);
    expect(passes.reduce((sum, pass) => sum + pass.synced, 0)).toBe(8);
    expect(visited().sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it("does not repeat a sync that was forced shortly before its turn", async () => {
    const ids = await subscribeMany(6);
    const forced = ids[5] ?? "";
    let isForced = false;
    world.answer = async () => {
      if (!isForced) {
        isForced = true;
        await syncSubscription(world.tools, world.tenant, forced);
      }
      return json(modelRows("a"));
    };
    expect(await syncDueSubscriptions({ ...world.tools, concurrency: 1 })).toMatchObject({ synced: 5, left: 1 });
    expect(visited().filter((index) => index === 5)).toHaveLength(1);
  });

  it("reports each change, and survives a listener that throws", async () => {
    await subscribeMany(3);
    world.answer = (request) => json(request.url.includes("mirror-1") ? { data: [] } : modelRows("a"));
    const told: string[][] = [];
    const onChanged = async (tenant: string, report: { added: readonly string[] }) => {
      expect(tenant).toBe(world.tenant);
      told.push([...report.added]);
      throw new Error("the listener broke");
    };
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    configureLog({ SERVICE_LOG: "json" });
    expect(await syncDueSubscriptions({ ...world.tools, onChanged })).toMatchObject({ changed: 2, failed: 0 });
    configureLog({ SERVICE_LOG: "off" });
    expect(log).toHaveBeenCalledTimes(2);
    log.mockRestore();
    expect(told).toEqual([["a"], ["a"]]);
    expect(await syncDueSubscriptions(world.tools)).toMatchObject({ synced: 0 });
  });

  it("postpones a halted tenant, asks about it once, and continues when it may run again", async () => {
    const [first = ""] = await subscribeMany(3);
    world.lists("a");
    const asked: string[] = [];
    const mayRun = async (tenant: string) => {
      asked.push(tenant);
      return false;
    };
    expect(await syncDueSubscriptions({ ...world.tools, mayRun })).toMatchObject({ synced: 0, left: 3 });
    expect(asked).toEqual([world.tenant]);
    expect(world.requests).toEqual([]);
    expect((await world.see(first)).nextSyncAt).toBe(world.clock.now + HALTED_FOR_MS);
    world.clock.now += HALTED_FOR_MS;
    expect(await syncDueSubscriptions(world.tools)).toMatchObject({ synced: 3 });
  });
});

describe("SERVICE_CATALOG_SYNC", () => {
  it.each([
    ["0", false],
    [" 0 ", false],
    ["1", true],
    ["", true],
    [undefined, true],
  ])("%j means %s", (setting, isOn) => {
    expect(isCatalogSyncOn(setting)).toBe(isOn);
  });
});
