// Cost by an operator's groups, over any span: rows that add up to the total.

import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { costByGroup } from "../../../src/history/cost.ts";
import { TenantHistory } from "../../../src/history/tenant-history.ts";
import { type Body, newWorld, type World } from "../../support/workerd/client.ts";
import { dispatch, present, start } from "../../support/workerd/job-steps.ts";

const usage = { input_tokens: 10, output_tokens: 5 };

const run = async (world: World, cost_usd: number | null, more: Record<string, unknown> = {}): Promise<Body> => {
  const job = await dispatch(world, { provider: "openai", ...more });
  return world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: job.lease, result: 1, cost_usd, usage });
};

/** The same once more long before, long after, and by another tenant: none of it counts. */
const spendElsewhere = async (tenant: string): Promise<void> => {
  const groups = { cost_hours: "provider, model", cost_by_hours: "name, value" };
  const sums = "jobs, unpriced_jobs, nano_usd, input_tokens, output_tokens, cached_input_tokens, reasoning_tokens";
  const others = "SELECT '' AS other, -100 AS days UNION ALL SELECT '', 100 UNION ALL SELECT '-other', 0";
  for (const [table, group] of Object.entries(groups))
    await env.DB.prepare(
      `INSERT INTO ${table} (tenant, hour_at, ${group}, ${sums})
         SELECT tenant || other, hour_at + days * 86400000, ${group}, ${sums} FROM ${table}, (${others}) WHERE tenant = ?`,
    )
      .bind(tenant)
      .run();
};

describe("cost by", () => {
  let world: World;
  let keyId = "";

  beforeAll(async () => {
    world = await newWorld();
    await present(world, "w1", { provider: "openai", tags: "a,b" });
    await present(world, "w2", { provider: "mistral", tags: "" });
    await run(world, 0.5, { tags: ["a", "b"], metadata: { team: "blue", site: "x" }, model: "gpt" });
    await run(world, 0.25, { tags: ["a"], metadata: { team: "red" }, model: "gpt" });
    await run(world, null, { model: "unheard-of" });
    const other = await world.withKey("standard");
    keyId = other.keyId;
    const job = await other.ok("POST", "/dispatch", { prompt: "x", provider: "mistral" });
    // Two attempts of one job: both cost, and it counts once.
    const error = { code: "oops", message: "broke", retryable: false };
    await world.ok("POST", `/api/jobs/${job.id}/fail`, { lease: job.lease, error, cost_usd: 1, usage });
    await world.ok("POST", `/api/jobs/${job.id}/retry`);
    const again = await world.ok("GET", `/api/jobs/${job.id}`);
    await start(world, again);
    await world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: again.lease, result: 1, cost_usd: 2, usage });
    await world.stub.drain();
    await spendElsewhere(world.tenant);
  });

  const rowsBy = async (by: string): Promise<[string | null, number, number][]> => {
    const answer = await world.ok("GET", `/api/cost/by/${by}`);
    expect(answer).toMatchObject({
      by,
      period: "day",
      total_usd: 3.75,
      jobs: 4,
      unpriced_jobs: 1,
      previous_total_usd: 0,
    });
    expect(answer.rows_total).toBe(answer.rows.length);
    const sum = answer.rows.reduce((usd: number, row: Body) => usd + row.usd, 0);
    const jobs = answer.rows.reduce((count: number, row: Body) => count + row.jobs, 0);
    if (answer.adds_up) expect([sum, jobs]).toEqual([3.75, 4]);
    return answer.rows.map((row: Body) => [row.value, row.usd, row.jobs]);
  };

  test("of one instant: what history gets meanwhile is in no part of it", async () => {
    const later = (): Promise<unknown> =>
      env.DB.prepare(
        `INSERT INTO cost_by_hours (tenant, name, hour_at, value, jobs, unpriced_jobs, nano_usd, input_tokens,
           output_tokens, cached_input_tokens, reasoning_tokens)
         VALUES (?1, 'metadata.late', ?2, 'x', 99, 0, 99000000000, 0, 0, 0, 0) ON CONFLICT DO NOTHING`,
      )
        .bind(world.tenant, Math.floor(Date.now() / 3_600_000) * 3_600_000)
        .run();
    let batches = 0;
    const db = {
      prepare: (sql: string) => env.DB.prepare(sql),
      batch: async (statements: D1PreparedStatement[]) => {
        batches += 1;
        if (batches > 1) await later();
        return env.DB.batch(statements);
      },
    } as unknown as D1Database;
    await world.stub.drain();
    const { rows } = await costByGroup(new TenantHistory(db, world.tenant), "metadata.late", {}, Date.now());
    expect(rows.map(({ value, usd }) => [value, usd])).toEqual([[null, 3.75]]);
    await env.DB.prepare("DELETE FROM cost_by_hours WHERE name = 'metadata.late'").run();
  });

  test("what has no value is a row also where it is free, and its jobs were counted before", async () => {
    const world = await newWorld();
    await env.DB.prepare(
      `INSERT INTO cost_hours (tenant, hour_at, provider, model, jobs, unpriced_jobs, nano_usd, input_tokens,
         output_tokens, cached_input_tokens, reasoning_tokens) VALUES (?1, ?2, 'ollama', '', 0, 0, 0, 7, 5, 0, 0)`,
    )
      .bind(world.tenant, Math.floor(Date.now() / 3_600_000) * 3_600_000)
      .run();
    for (const by of ["model", "metadata.team"]) {
      const { rows, usage: whole } = await world.ok("GET", `/api/cost/by/${by}`);
      expect(rows).toEqual([{ value: null, usd: 0, jobs: 0, unpriced_jobs: 0, usage: whole }]);
    }
  });

  test("provider and model", async () => {
    expect(await rowsBy("provider")).toEqual([
      ["mistral", 3, 1],
      ["openai", 0.75, 3],
    ]);
    expect(await rowsBy("model")).toEqual([
      [null, 3, 1],
      ["gpt", 0.75, 2],
      ["unheard-of", 0, 1],
    ]);
  });

  test("model over time, each with what it cost in its hour", async () => {
    const { series, from } = await world.ok("GET", "/api/cost/by/model");
    expect(series).toHaveLength(24);
    expect(series[0].at).toBe(from);
    const spent = series.filter(({ rows }: Body) => rows.length > 0);
    const sums = new Map<string | null, number>();
    for (const { rows } of spent) for (const { value, usd } of rows) sums.set(value, (sums.get(value) ?? 0) + usd);
    expect(sums).toEqual(
      new Map([
        ["gpt", 0.75],
        [null, 3],
      ]),
    );
    const { series: byTag } = await world.ok("GET", "/api/cost/by/tag");
    expect(byTag.flatMap(({ rows }: Body) => rows.map(({ value }: Body) => value))).toContain("b");
  });

  test("worker", async () => {
    expect(await rowsBy("worker")).toEqual([
      ["w2", 3, 1],
      ["w1", 0.75, 3],
    ]);
  });

  test("tag: a job of several counts in each, and the answer says so", async () => {
    expect((await world.ok("GET", "/api/cost/by/tag")).adds_up).toBe(false);
    expect(await rowsBy("tag")).toEqual([
      [null, 3, 2],
      ["a", 0.75, 2],
      ["b", 0.5, 1],
    ]);
  });

  test("metadata, with what has none of it", async () => {
    expect(await rowsBy("metadata.team")).toEqual([
      [null, 3, 2],
      ["blue", 0.5, 1],
      ["red", 0.25, 1],
    ]);
    expect(await rowsBy("metadata.nobody")).toEqual([[null, 3.75, 4]]);
  });

  test("metadata: an empty text is a value, and what has none of it is in the series, too", async () => {
    const own = await newWorld();
    await present(own, "w1", { provider: "openai" });
    await run(own, 0.25, { metadata: { team: "" } });
    await run(own, 0.5, { metadata: { team: "blue" } });
    await run(own, 1);
    const { rows, series } = await own.ok("GET", "/api/cost/by/metadata.team");
    const told = (list: Body[]) => new Map(list.map(({ value, usd }: Body) => [value, usd]));
    const expected = new Map<string | null, number>([
      [null, 1],
      ["blue", 0.5],
      ["", 0.25],
    ]);
    expect([rows.length, told(rows)]).toEqual([3, expected]);
    const sums = new Map<string | null, number>();
    for (const { value, usd } of series.flatMap((slot: Body) => slot.rows))
      sums.set(value, (sums.get(value) ?? 0) + usd);
    expect(sums).toEqual(expected);
  });

  test("key and schedule", async () => {
    const byKey = await rowsBy("key");
    expect(byKey[0]).toEqual([keyId, 3, 1]);
    expect(byKey).toHaveLength(2);
    expect(await rowsBy("schedule")).toEqual([[null, 3.75, 4]]);
  });

  test("nothing else", async () => {
    for (const by of ["colour", "metadata.", "metadata", "tags"]) {
      expect((await world.get(`/api/cost/by/${by}`)).status, by).toBe(400);
    }
  });

  test("the groups of attempts that history had before, as an upgrade reads them", async () => {
    const { results } = await env.DB.prepare(
      `SELECT name, value, SUM(nano_usd) AS nano_usd FROM attempts JOIN attempt_groups USING (tenant, job_id, lease)
       WHERE tenant = ?1 AND name = 'tag' GROUP BY name, value ORDER BY nano_usd DESC`,
    )
      .bind(world.tenant)
      .all();
    expect(results.map((row) => [row.value, row.nano_usd])).toEqual([
      ["", 3e9],
      ["a", 75e7],
      ["b", 5e8],
    ]);
  });
});

describe("a span", () => {
  test("is any of at most 92 days, in whole hours, beside the span before", async () => {
    const world = await newWorld();
    await present(world, "w1", { provider: "openai" });
    await run(world, 0.5);
    await world.ok("GET", "/api/cost");
    await env.DB.prepare("UPDATE cost_hours SET hour_at = hour_at - 3 * 3600000 WHERE tenant = ?1")
      .bind(world.tenant)
      .run();
    await run(world, 0.25);
    const hourMs = 3_600_000;
    const toAt = Date.now();
    const query = new URLSearchParams({
      from: new Date(toAt - hourMs).toISOString(),
      to: new Date(toAt).toISOString(),
    });
    const summary = await world.ok("GET", `/api/cost?${query}`);
    expect(summary).toMatchObject({ period: null, total_usd: 0.25, previous_total_usd: 0.5 });
    expect(Date.parse(summary.from) % hourMs).toBe(0);
    expect(Date.parse(summary.to) - Date.parse(summary.from)).toBe(2 * hourMs);
    expect(summary.series).toHaveLength(2);
    const week = new URLSearchParams({ from: new Date(toAt - 7 * 24 * hourMs).toISOString() });
    const byProvider = await world.ok("GET", `/api/cost/providers?${week}`);
    expect(byProvider).toMatchObject({ period: null, total_usd: 0.75, jobs: 2, unpriced_jobs: 0 });
    expect((await world.ok("GET", `/api/cost?${week}`)).series.length).toBeLessThanOrEqual(8);
  });

  test("is refused where it says nothing, too much, or two things", async () => {
    const world = await newWorld();
    const day = (date: string) => `${date}T00:00:00Z`;
    for (const query of [
      `to=${day("2026-01-01")}`,
      `from=${day("2026-01-02")}&to=${day("2026-01-01")}`,
      `from=${day("2026-01-01")}&to=${day("2026-01-01")}`,
      `from=${day("2026-01-01")}&to=${day("2026-04-04")}`,
      `period=day&from=${day("2026-01-01")}`,
      "from=yesterday",
    ]) {
      for (const path of ["/api/cost", "/api/cost/providers", "/api/cost/by/tag"]) {
        expect((await world.get(`${path}?${query}`)).status, query).toBe(400);
      }
    }
    expect((await world.get(`/api/cost?from=${day("2026-01-01")}&to=${day("2026-04-03")}`)).status).toBe(200);
  });
});

test("schedules whose runs are alike are told apart; of equal cost, what has more jobs is first", async () => {
  const world = await newWorld();
  await present(world, "w1", { provider: "openai", models: ["a", "b"], concurrency: 3 });
  for (const [name, runs, cost_usd] of [
    ["a", 1, 1],
    ["b", 2, 0.5],
  ] as const) {
    await world.ok("POST", "/api/schedules", { name, interval: "7d", prompt: "x", provider: "openai", model: name });
    for (let run = 0; run < runs; run += 1) await world.ok("POST", `/api/schedules/${name}/run`);
    const { jobs } = await world.ok("POST", "/api/workers/w1/claim", { max: 3 });
    expect(jobs).toHaveLength(runs);
    for (const { id, lease } of jobs)
      await world.ok("POST", `/api/jobs/${id}/complete`, { lease, result: 1, cost_usd, usage });
  }
  for (const by of ["schedule", "model"]) {
    const { rows } = await world.ok("GET", `/api/cost/by/${by}`);
    expect(rows.map((row: Body) => [row.value, row.usd, row.jobs])).toEqual([
      ["b", 1, 2],
      ["a", 1, 1],
    ]);
  }
});
