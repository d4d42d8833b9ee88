// The minute's work stays within Cloudflare's limits for one invocation, with 5,000 subscriptions that are all due.

import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Allowance } from "../../domain/words/allowance.ts";
import { SYNC_WORST, syncDueSubscriptions } from "../../src/catalog/due.ts";
import type { Env } from "../../src/env.ts";
import { meteredDatabase } from "../../src/metered-database.ts";
import { MINUTE_TASKS, PLATFORM_LIMITS, runMinute } from "../../src/minute.ts";
import { catalogWorld } from "./catalog-world.ts";
import { json, modelRows } from "./fake-provider.ts";

const SUBSCRIPTIONS = 5_000;
const TENANTS = 40;
const HOUSE = [
  "provider: house",
  "list_url: https://models.house.example/list",
  'response_path: "data[]"',
  "fields: { id: id }",
].join("\n");
const { DB, ...bound } = env as unknown as Env;
const asked = { queries: 0, requests: 0 };

/** Counts calls at the database's own methods. */
const counted: D1Database = new Proxy(DB, {
  get: (db, name: keyof D1Database) => {
    if (name === "prepare") return (sql: string) => countedStatement(db.prepare(sql));
    if (name === "batch")
      return (statements: D1PreparedStatement[]) => {
        asked.queries += statements.length;
        return db.batch(statements.map((one) => plain.get(one) ?? one));
      };
    return db[name];
  },
});
const plain = new WeakMap<D1PreparedStatement, D1PreparedStatement>();
const countedStatement = (statement: D1PreparedStatement): D1PreparedStatement => {
  const one: D1PreparedStatement = new Proxy(statement, {
    get:
      (target, name: keyof D1PreparedStatement) =>
      (...values: never[]) => {
        if (name === "bind") return countedStatement(target.bind(...values));
        asked.queries += 1;
        return (target[name] as (...values: never[]) => unknown)(...values);
      },
  });
  plain.set(one, statement);
  return one;
};

const world: Env = { ...bound, DB: counted, SERVICE_CATALOG_FILES: JSON.stringify({ "house.yaml": HOUSE }) };

beforeEach(async () => {
  Object.assign(asked, { queries: 0, requests: 0 });
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => {
    asked.requests += 1;
    return json(modelRows("a", "b"));
  });
  await DB.prepare("DELETE FROM catalog_subscriptions").run();
  await DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${SUBSCRIPTIONS - 1})
     INSERT INTO catalog_subscriptions (tenant, id, provider, models_sync_schedule, models_sync_url, next_sync_at, created_at)
     SELECT 'many-' || (i % ${TENANTS}), 'sub_' || i, 'house', '0 */6 * * *', 'https://m' || i || '.example.com/', i, 0 FROM n`,
  ).run();
});
afterEach(() => {
  vi.restoreAllMocks();
});

const waiting = async (): Promise<number> => {
  const row = await DB.prepare("SELECT COUNT(*) AS count FROM catalog_subscriptions WHERE models_synced_at IS NULL");
  return (await row.first<{ count: number }>())?.count ?? 0;
};

// The clock stands: a pass begins nothing after three quarters of a minute, which is about time and not about limits.
it("one run stays within the limits of the Paid plan, and takes up what it can", { timeout: 120_000 }, async () => {
  vi.spyOn(Date, "now").mockReturnValue(Date.now());
  const spent = Object.values(await runMinute(world));
  expect(asked.queries).toBeGreaterThan(300);
  expect(asked.queries).toBeLessThanOrEqual(PLATFORM_LIMITS.queries);
  expect(spent.reduce((sum, one) => sum + one.queries, 0)).toBe(asked.queries);
  expect(spent.reduce((sum, one) => sum + one.requests, 0)).toBeLessThanOrEqual(PLATFORM_LIMITS.requests);
  expect(spent.reduce((sum, one) => sum + one.requests, 0)).toBeGreaterThanOrEqual(asked.queries + asked.requests);
  // First lists cost the most: each is written, audited and sent to its tenant.
  const first = SUBSCRIPTIONS - (await waiting());
  expect(first).toBeGreaterThan(50);
  await DB.prepare("UPDATE catalog_subscriptions SET next_sync_at = 0 WHERE models_synced_at IS NOT NULL").run();
  Object.assign(asked, { queries: 0, requests: 0 });
  await runMinute(world);
  expect(asked.requests).toBeGreaterThan(first);
  expect(asked.queries).toBeLessThanOrEqual(PLATFORM_LIMITS.queries);
});

it("the tasks' parts together are within the limits, whatever each of them does", () => {
  const parts = Object.values(MINUTE_TASKS).map(({ part }) => part);
  for (const what of ["queries", "requests"] as const)
    expect(parts.reduce((sum, part) => sum + part[what], 0)).toBeLessThanOrEqual(PLATFORM_LIMITS[what]);
});

it("the worst of syncs asks no more than is held for it", async () => {
  const catalog = await catalogWorld();
  await DB.prepare("DELETE FROM catalog_subscriptions").run();
  const allowance = new Allowance(PLATFORM_LIMITS);
  const db = meteredDatabase(DB, allowance);
  const { id } = await catalog.subscribe();
  const rows = (prefix: string) => modelRows(...Array.from({ length: 5_000 }, (_, n) => `${prefix}${n}`));
  catalog.answer = () => json(rows("a"));
  await syncDueSubscriptions(catalog.tools);
  catalog.clock.now = (await catalog.see(id)).nextSyncAt;
  catalog.answer = () => json(rows("b"));
  expect(await syncDueSubscriptions({ ...catalog.tools, db, allowance })).toMatchObject({ changed: 1 });
  expect(allowance.spent.queries).toBeGreaterThan(20);
  expect(allowance.spent.queries).toBeLessThan(SYNC_WORST.queries);
});

it("what does not fit waits for the next pass", async () => {
  const catalog = await catalogWorld();
  await DB.prepare("DELETE FROM catalog_subscriptions").run();
  for (const n of [1, 2, 3]) await catalog.subscribe({ models_sync_url: `https://m${n}.example.com/` });
  catalog.lists("a");
  const allowance = new Allowance({ queries: SYNC_WORST.queries + 5, requests: 1_000 });
  const tools = { ...catalog.tools, db: meteredDatabase(DB, allowance), allowance, concurrency: 1 };
  const { synced, left } = await syncDueSubscriptions(tools);
  expect([synced, left]).toEqual([1, 2]);
  expect(await syncDueSubscriptions(catalog.tools)).toMatchObject({ synced: 2, left: 0 });
});
