// Attempts of unknown cost reach history in any order, and get their prices in any order: each job counts as unpriced
// once, in the hour of its first attempt without a price, and nowhere when all have one.

import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { type Cells, inserts } from "../../../durable-objects/history/statements.ts";

const HOUR_MS = 3_600_000;
let lastTenant = 0;

type Step = "attempt 1" | "attempt 2" | "price 1" | "price 2";

/** Each lease ran in an hour of its own, on a worker and a model of its own. */
const attempt = (lease: number): Cells => {
  const who = [lease * HOUR_MS, "local", `m${lease}`, `w${lease}`, "late"] as const;
  return ["job", lease, ...who, 10, 5, 0, 0, null, "estimated", null];
};
const price = (lease: number): Cells => ["job", lease, 10, 5, 0, 0, 1_000, "reported", null];

const apply = async (tenant: string, steps: readonly Step[]): Promise<void> => {
  const rowsOf = (kind: string, row: (lease: number) => Cells): Cells[] =>
    steps.filter((step) => step.startsWith(kind)).map((step) => row(Number(step.at(-1))));
  const all = [
    ...inserts("otherAttempts", rowsOf("attempt", attempt)),
    ...inserts("corrections", rowsOf("price", price)),
  ];
  await env.DB.batch(all.map(({ sql, values }) => env.DB.prepare(sql).bind(tenant, ...values)));
};

const unpricedIn = async (tenant: string, table: "cost_hours" | "cost_by_hours"): Promise<Record<string, number>> => {
  const isWorker = table === "cost_hours" ? "" : "AND name = 'worker'";
  const { results } = await env.DB.prepare(
    `SELECT hour_at, unpriced_jobs FROM ${table} WHERE tenant = ? AND unpriced_jobs <> 0 ${isWorker}`,
  )
    .bind(tenant)
    .all<{ hour_at: number; unpriced_jobs: number }>();
  return Object.fromEntries(results.map((row) => [`hour ${row.hour_at / HOUR_MS}`, row.unpriced_jobs]));
};

test.each<[after: string, loads: Step[][], counted: Record<string, number>]>([
  ["the first attempt", [["attempt 1"]], { "hour 1": 1 }],
  ["both in their order", [["attempt 1"], ["attempt 2"]], { "hour 1": 1 }],
  ["both in one load, the second first", [["attempt 2", "attempt 1"]], { "hour 1": 1 }],
  ["the first attempt late", [["attempt 2"], ["attempt 1"]], { "hour 1": 1 }],
  ["a late first attempt and its price", [["attempt 2"], ["attempt 1"], ["price 1"]], { "hour 2": 1 }],
  ["a late first attempt and the price of the other", [["attempt 2"], ["attempt 1"], ["price 2"]], { "hour 1": 1 }],
  ["the first attempt's price before the second", [["attempt 1"], ["price 1"], ["attempt 2"]], { "hour 2": 1 }],
  ["all prices, apart", [["attempt 2"], ["attempt 1"], ["price 1"], ["price 2"]], {}],
  ["all prices at once, the second first", [["attempt 2"], ["attempt 1"], ["price 2", "price 1"]], {}],
])("after %s", async (_, loads, counted) => {
  const tenant = `unpriced-${lastTenant++}`;
  for (const load of loads) {
    await apply(tenant, load);
    // An answer may be lost, and the load sent again.
    await apply(tenant, load);
  }
  expect(await unpricedIn(tenant, "cost_hours")).toEqual(counted);
  expect(await unpricedIn(tenant, "cost_by_hours")).toEqual(counted);
});
