// How SQLite reads history: what one tenant asks for is bounded by an index that begins with the tenant. Every endpoint
// that reads, what a load brings, what the cron deletes, and what a move copies; lists are in `query-plans`.

import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { inserts, type Table } from "../../durable-objects/history/statements.ts";
import { app } from "../../src/app.ts";
import type { Env } from "../../src/env.ts";
import { MOVING_HISTORY, readHistoryTable } from "../../src/history/moving.ts";
import { TenantHistory } from "../../src/history/tenant-history.ts";
import { TENANT_TABLES } from "../../src/history/tenant-tables.ts";
import { deleteTenant } from "../../src/history/tenants.ts";
import { runMinute } from "../../src/minute.ts";
import { type Body, newWorld, ORIGIN, ROOT_KEY } from "../support/workerd/client.ts";
import { readDocument } from "../support/workerd/document.ts";
import { faultsIn, NotedQueries, type Plan } from "../support/workerd/query-plans.ts";

const { DB, TEST_ARCHIVE } = env as unknown as { DB: D1Database; TEST_ARCHIVE: R2Bucket };
const CONTEXT = { waitUntil: () => undefined, passThroughOnException: () => undefined, props: {} };
const DAY_MS = 86_400_000;
const TENANT = "any";

/** What a load brings. */
const WRITTEN: Record<Table, true> = {
  ...{ tenants: true, jobs: true, told: true, payloads: true, results: true, events: true },
  ...{ hourSums: true, groupSums: true, attempts: true, otherAttempts: true, corrections: true, lateCosts: true },
  ...{ audit: true, scheduleRuns: true },
};

/** Steps that read all of a tenant's entries of an index, of a table with many rows of a tenant. */
const allOfTenantIn = ({ sql, lines }: Plan): string[] =>
  lines
    .filter(({ detail }) => / \(tenant=\?\)/.test(detail) && !/^SEARCH (?:tenants|moving) /.test(detail))
    .map(({ detail }) => `${detail} in: ${sql}`);

describe("history is read through an index of the tenant", () => {
  it("by every endpoint that reads", { timeout: 60_000 }, async () => {
    const noted = new NotedQueries(DB);
    const world = await newWorld();
    const offer = { instance: "w", status: "online", provider: "openai", tags: "", concurrency: 5 };
    await world.ok("POST", "/presence", offer);
    const job = await world.ok("POST", "/dispatch", { prompt: "x", metadata: { team: "red" } });
    await world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: job.lease, result: "r" });
    const lost = await world.ok("POST", "/dispatch", { prompt: "x" });
    const error = { code: "broken", message: "it broke", retryable: false };
    await world.ok("POST", `/api/jobs/${lost.id}/fail`, { lease: lost.lease, error });
    await world.ok("POST", "/api/schedules", { name: "s", interval: "1h", prompt: "p" });
    await world.ok("POST", "/api/schedules/s/run", {});
    const subscription = await world.ok("POST", "/catalog/subscriptions", { provider: "openai" });
    const notingEnv = { ...env, DB: noted.database(), ARCHIVE: TEST_ARCHIVE } as unknown as Env;
    const ask = async (path: string, key = world.key): Promise<number> => {
      const headers = { authorization: `Bearer ${key}` };
      const answer = await app.fetch(new Request(`${ORIGIN}${path}`, { headers }), notingEnv, CONTEXT as never);
      await answer.body?.cancel();
      return answer.status;
    };
    const { paths } = await readDocument();
    const reading = Object.entries<Body>(paths)
      .filter(([, { get }]) => JSON.stringify(get?.responses?.["503"] ?? "").includes("history"))
      .map(([path]) => path);
    expect(reading).toEqual(
      expect.arrayContaining(["/api/jobs", "/api/jobs/{id}", "/api/failures", "/api/cost", "/api/audit", "/api/marks"]),
    );
    const nameIn = (path: string): string =>
      path.startsWith("/catalog") ? subscription.id : path.startsWith("/api/jobs") ? job.id : "s";
    const filled = (path: string): string =>
      path
        .replace("{by}", "worker")
        .replace("{instance}", "w")
        .replace("{day}", "2026-01-01")
        .replace("{tenant}", world.tenant)
        .replace(/\{\w+\}/, nameIn(path));
    for (const path of reading) await ask(filled(path), path.startsWith("/admin") ? ROOT_KEY : world.key);
    for (const by of ["provider", "model", "tag", "key", "schedule", "metadata.team"]) await ask(`/api/cost/by/${by}`);
    for (const query of ["/api/schedules?runs=3", "/api/jobs?archived=true&until=2030-01-01T00:00:00.000Z"])
      await ask(query);
    await ask(`/api/jobs/${crypto.randomUUID()}`);
    await ask(`/api/jobs/01990000-0000-7000-8000-000000000000`);
    await ask("/metrics", ROOT_KEY);
    const plans = await noted.plans();
    const read = new Set(plans.flatMap(({ sql }) => Object.keys(TENANT_TABLES).filter((table) => sql.includes(table))));
    expect([...read].sort()).toEqual(Object.keys(TENANT_TABLES).sort());
    expect(faultsIn(plans)).toEqual([]);
  });

  it("by the minute's work, with an archive and without, and where a tenant is deleted or moves", async () => {
    const noted = new NotedQueries(DB);
    const notingEnv = { ...env, DB: noted.database() } as unknown as Env;
    const world = await newWorld();
    await world.ok("POST", "/presence", { instance: "w", status: "online", provider: "openai", tags: "" });
    await world.ok("PUT", "/config", { history: { keep_days: 30, keep_texts_days: 5 } });
    const finish = async (days: number): Promise<void> => {
      const job = await world.ok("POST", "/dispatch", { prompt: "a long story ".repeat(1_000) });
      await world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: job.lease, result: "r" });
      await world.ok("GET", "/api/jobs");
      await DB.prepare("UPDATE jobs SET finished_at = ?2 WHERE tenant = ?1")
        .bind(world.tenant, Date.now() - days * DAY_MS)
        .run();
    };
    await finish(2);
    await runMinute(notingEnv);
    await finish(40);
    await runMinute({ ...notingEnv, ARCHIVE: TEST_ARCHIVE } as unknown as Env);
    await finish(40);
    await runMinute(notingEnv);
    for (const table of MOVING_HISTORY) {
      const keys = (table === "jobs" ? "tenant, id" : TENANT_TABLES[table as keyof typeof TENANT_TABLES]).split(", ");
      for (const after of [null, keys.slice(1).map(() => 1)])
        await readHistoryTable(new TenantHistory(noted.database(), TENANT), { table, after, maxChars: 1_000 });
    }
    const gone = { tenant: "gone", jurisdiction: null, created_at: 0, away: null, database: 0 } as const;
    await deleteTenant(notingEnv, gone.tenant, async () => undefined);
    const plans = await noted.plans();
    const many = (sql: string) => plans.filter((plan) => plan.sql.includes(sql)).length;
    expect([many("DELETE FROM jobs") > 2, many("UPDATE payloads")]).toEqual([true, 1]);
    expect(faultsIn(plans)).toEqual([]);
    // What names jobs looks each up: all of a tenant's compared with those that are named would take minutes.
    const naming = plans.filter(({ sql }) => /^(?:DELETE|UPDATE|WITH).*json_each\(\?2\)/.test(sql));
    expect(naming.length).toBeGreaterThan(10);
    expect(naming.flatMap(allOfTenantIn)).toEqual([]);
  });

  it("and job by job where a load is written, however many the tenant has", async () => {
    const noted = new NotedQueries(DB);
    const database = noted.database({ first: null });
    for (const table of Object.keys(WRITTEN) as Table[])
      for (const { sql, values } of inserts(table, [["a", 1]]))
        await database
          .prepare(sql)
          .bind(TENANT, ...values)
          .run();
    const plans = await noted.plans();
    expect(plans.length).toBeGreaterThanOrEqual(Object.keys(WRITTEN).length);
    expect(plans.flatMap(allOfTenantIn)).toEqual([]);
  });

  it.each(["attempts", "corrections"] as const)("and %s are added up by statements that are prepared once", (table) => {
    for (const { sql } of inserts(table, [["a", 1]])) expect(sql).not.toMatch(/= \?1/);
  });

  it.each([
    ["SELECT id FROM jobs WHERE status = 'failed'", 1],
    ["SELECT id FROM jobs AS one WHERE created_at > 5", 1],
    ["SELECT rowid FROM job_terms LIMIT 5", 1],
    ["SELECT id FROM audit WHERE id IN (SELECT id FROM audit WHERE tenant = 'a') AND tenant <> 'b'", 1],
    ["SELECT jobs.id FROM json_each('[1]') AS one JOIN jobs ON jobs.tenant = 'a' AND jobs.id = one.value", 0],
  ])("and where it is not, that is found: %s", async (sql, faults) => {
    const noted = new NotedQueries(DB);
    await noted.database().prepare(sql).all();
    expect(faultsIn(await noted.plans())).toHaveLength(faults);
  });
});
