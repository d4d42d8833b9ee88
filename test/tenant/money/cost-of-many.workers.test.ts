// Cost of many jobs, models and values: read from the sums, and told by the most expensive.

import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { costQueries } from "../../../src/history/cost.ts";
import { type Body, newWorld } from "../../support/workerd/client.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

const parametersOf = (query: string): number =>
  Math.max(...[...query.matchAll(/\?(\d+)/g)].map(([, at]) => Number(at)));

describe("a large history", () => {
  it("is read through the rollup's key, never attempt by attempt", async () => {
    const tenant = `large-${crypto.randomUUID()}`;
    for (const query of Object.values(costQueries)) {
      const { results } = await env.DB.prepare(`EXPLAIN QUERY PLAN ${query}`)
        .bind(...[tenant, 0, 1, 3_600_000, ...Array(8).fill("x")].slice(0, parametersOf(query)))
        .all<{ detail: string }>();
      const plan = results.map((row) => row.detail).join("; ");
      expect(plan).toMatch(
        /SEARCH cost_(?:by_)?hours USING (?:PRIMARY KEY|INDEX \S+) \(tenant=\? AND (?:name=\? AND )?hour_at>\? AND hour_at<\?\)/,
      );
      expect(plan).not.toMatch(/SCAN (?!\(subquery-)|attempts/);
    }
  });

  it("of 200,000 attempts adds up exactly, from a few hundred rows", { timeout: 120_000 }, async () => {
    const world = await newWorld();
    const month = Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth(), 1);
    const chunk = 20_000;
    for (let from = 0; from < 200_000; from += chunk) {
      await env.DB.prepare(
        `WITH RECURSIVE n(i) AS (SELECT ?2 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?3)
         INSERT INTO attempts SELECT ?1, 'j' || i, 1, ?4 + (i % 672) * 3600000, 'p' || (i % 3), 'm', 'w', 'completed', 1, 2, 0, 0, i, 'reported', NULL, 0 FROM n`,
      )
        .bind(world.tenant, from, from + chunk, month)
        .run();
    }
    const { total_usd, jobs, usage: tokens } = await world.ok("GET", "/api/cost?period=month");
    expect(Math.round(total_usd * 1e9)).toBe((200_000 * 199_999) / 2);
    expect(jobs).toBe(200_000);
    expect(tokens).toMatchObject({ input_tokens: 200_000, output_tokens: 400_000 });
    const query = await env.DB.prepare(costQueries.bySlot)
      .bind(world.tenant, month, month + 31 * DAY_MS, DAY_MS)
      .run();
    expect(query.meta.rows_read).toBeLessThan(10_000);
  });
});

describe("metadata with a value of its own for each job", () => {
  it("is told by the most expensive values, which add up with all others to the whole", async () => {
    const world = await newWorld();
    const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
    const add = (into: string, rows: string) =>
      env.DB.prepare(
        `INSERT INTO ${into}, hour_at, jobs, unpriced_jobs, nano_usd, input_tokens, output_tokens, cached_input_tokens,
         reasoning_tokens) ${rows}`,
      ).bind(world.tenant, hour);
    await env.DB.batch([
      add(
        "cost_by_hours (tenant, name, value",
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
         SELECT ?1, 'metadata.order', 'order-' || i, ?2, 1, 0, i * 1000, 2, 3, 0, 0 FROM n`,
      ),
      add("cost_hours (tenant, provider, model", "SELECT ?1, 'p', 'm', ?2, 1600, 0, 1200000000, 3200, 4800, 0, 0"),
    ]);
    const span = new URLSearchParams({
      from: new Date(hour).toISOString(),
      to: new Date(hour + HOUR_MS).toISOString(),
    });
    const { rows, rows_total } = await world.ok("GET", `/api/cost/by/metadata.order?${span}`);
    expect([rows.length, rows_total]).toEqual([1000, 1501]);
    // The others, whose text is none, cost 1.2 dollars without the 1.12575 of the 1,500 orders.
    expect(rows[0]).toMatchObject({ value: null, jobs: 100, usd: 0.07425, usage: { input_tokens: 200 } });
    expect(rows.slice(1, 3).map(({ value }: Body) => value)).toEqual(["order-1500", "order-1499"]);
  });
});

describe("models with a name of their own for each job", () => {
  it("are told by the most expensive, and all totals count every one", async () => {
    const world = await newWorld();
    const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
    await env.DB.prepare(
      `INSERT INTO cost_hours (tenant, provider, model, hour_at, jobs, unpriced_jobs, nano_usd, input_tokens,
         output_tokens, cached_input_tokens, reasoning_tokens)
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
       SELECT ?1, 'p' || (i % 2), 'm' || i, ?2, 1, 0, i * 1000000, 2, 3, 0, 0 FROM n`,
    )
      .bind(world.tenant, hour)
      .run();
    const whole = { jobs: 1500, total_usd: (1500 * 1501) / 2 / 1000 };
    const { providers, ...all } = await world.ok("GET", "/api/cost/providers");
    expect(all).toMatchObject(whole);
    expect(providers.map(({ provider, jobs }: Body) => [provider, jobs])).toEqual([
      ["p0", 750],
      ["p1", 750],
    ]);
    expect(providers.map(({ models }: Body) => models.length)).toEqual([500, 500]);
    expect(providers[0].models[0]).toMatchObject({ model: "m1500", usd: 1.5, jobs: 1 });
    const by = async (name: string) => {
      const { rows, rows_total: count, ...sums } = await world.ok("GET", `/api/cost/by/${name}`);
      expect(sums).toMatchObject({ ...whole, usage: { input_tokens: 3000, output_tokens: 4500 } });
      return [rows.length, count];
    };
    expect(await by("model")).toEqual([1000, 1500]);
    expect(await by("provider")).toEqual([2, 2]);
    expect(await by("metadata.team")).toEqual([1, 1]);
  });
});
