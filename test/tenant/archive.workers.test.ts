// Where an archive is bound, old jobs go there before they leave history: nothing is deleted that was not read back.

import { env } from "cloudflare:workers";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { type JobListQuery, jobListQuery } from "../../contract/jobs/job-list.ts";
import { app } from "../../src/app.ts";
import type { Env } from "../../src/env.ts";
import { type ArchivedLine, dayOfId, packPart, unpackPart } from "../../src/history/archive/part.ts";
import { listArchive, PARTS_AN_ANSWER } from "../../src/history/archive/read.ts";
import { type ArchiveStore, archiveOf } from "../../src/history/archive/store.ts";
import { archiveStep, CHARS_A_PART } from "../../src/history/archive/write.ts";
import { TenantHistory } from "../../src/history/tenant-history.ts";
import { runMinute } from "../../src/minute.ts";
import { clearOf } from "../support/clear-of.ts";
import { ageJob, alarm, type Body, newWorld, ORIGIN, ROOT_KEY, type World } from "../support/workerd/client.ts";
import { NotedQueries } from "../support/workerd/query-plans.ts";

const DAY_MS = 86_400_000;
const { TEST_ARCHIVE: bucket } = env as unknown as { TEST_ARCHIVE: R2Bucket };
const withArchive = { ...env, ARCHIVE: bucket } as unknown as Env;
const store = archiveOf(withArchive) as ArchiveStore;
const CONTEXT = { waitUntil: () => undefined, passThroughOnException: () => undefined, props: {} };

const ask = async (
  key: string | null,
  method: string,
  path: string,
  body?: Body,
): Promise<{ status: number; body: Body }> => {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const request = new Request(`${ORIGIN}${path}`, { method, headers, body: body && JSON.stringify(body) });
  const answer = await app.fetch(request, withArchive, CONTEXT as unknown as ExecutionContext);
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? null : JSON.parse(text) };
};

const fetchFrom = async (key: string, path: string): Promise<Response> => {
  const request = new Request(`${ORIGIN}${path}`, { headers: { authorization: `Bearer ${key}` } });
  return app.fetch(request, withArchive, CONTEXT as unknown as ExecutionContext);
};

const worldWithWorker = async (): Promise<World> => {
  const world = await newWorld();
  const offer = { instance: "w", status: "online", provider: "openai", tags: "", concurrency: 50 };
  await world.ok("POST", "/presence", offer);
  await world.ok("PUT", "/config", { history: { keep_days: 30 } });
  return world;
};

const finished = async (world: World, body: Body = {}): Promise<string> => {
  const job = await world.ok("POST", "/dispatch", { prompt: "an old zebra", ...body });
  const report = { lease: job.lease, result: "kept", usage: { input_tokens: 1, output_tokens: 1 }, cost_usd: 0.5 };
  await world.ok("POST", `/api/jobs/${job.id}/complete`, report);
  await world.ok("GET", "/api/jobs");
  return job.id;
};

const age = (world: World, ids: readonly string[]): Promise<unknown> =>
  env.DB.prepare("UPDATE jobs SET finished_at = ?3 WHERE tenant = ?1 AND id IN (SELECT value FROM json_each(?2))")
    .bind(world.tenant, JSON.stringify(ids), Date.now() - 40 * DAY_MS)
    .run();

/** The object has it no more. */
const left = async (world: World, id: string): Promise<void> => {
  await ageJob(world, id, 60_000, ["finishedAt", "updatedAt"]);
  await alarm(world);
};

const count = async (world: World, table: string): Promise<number> => {
  const found = await env.DB.prepare(`SELECT COUNT(*) AS many FROM ${table} WHERE tenant = ?1`)
    .bind(world.tenant)
    .first<{ many: number }>();
  return found?.many ?? 0;
};
const keysOf = async (world: World): Promise<string[]> =>
  (await bucket.list({ prefix: `${world.tenant}/` })).objects.map(({ key }) => key);
const step = (world: World, to: ArchiveStore = store) =>
  archiveStep(new TenantHistory(env.DB, world.tenant), to, Date.now() - 30 * DAY_MS);

describe("the archive", () => {
  it("takes old jobs by the minute's cron; they are read as before, and only they say so", async () => {
    const world = await worldWithWorker();
    const [old, young] = [await finished(world), await finished(world)];
    await left(world, old);
    const [before, events, attempts] = [
      await world.ok("GET", `/api/jobs/${old}`),
      await world.ok("GET", `/api/jobs/${old}/events`),
      await world.ok("GET", `/api/jobs/${old}/attempts`),
    ];
    await age(world, [old]);
    await runMinute(withArchive);
    expect(await count(world, "jobs")).toBe(1);
    for (const table of ["payloads", "results", "events"]) expect(await count(world, table)).toBeLessThanOrEqual(9);
    expect((await ask(world.key, "GET", `/api/jobs/${old}`)).body).toEqual({
      ...before,
      archived: true,
      finished_at: expect.any(String),
    });
    expect((await ask(world.key, "GET", `/api/jobs/${old}/events`)).body).toEqual(events);
    expect((await ask(world.key, "GET", `/api/jobs/${old}/attempts`)).body).toEqual(attempts);
    const stream = await fetchFrom(world.key ?? "", `/api/jobs/${old}/stream`);
    const { status, assigned_worker: worker, lease, error } = before;
    expect(await stream.text()).toBe(`event: end\ndata: ${JSON.stringify({ status, worker, lease, error })}\n\n`);
    expect((await ask(world.key, "GET", `/api/jobs/${young}`)).body).not.toHaveProperty("archived");
    expect((await world.ok("GET", "/api/cost")).total_usd).toBe(1);
  });

  it("looks up a part's jobs one by one: a tenant's other jobs cost a step nothing", async () => {
    const world = await worldWithWorker();
    const id = await finished(world);
    await left(world, id);
    await age(world, [id]);
    const noted = new NotedQueries(env.DB);
    await archiveStep(new TenantHistory(noted.database(), world.tenant), store, Date.now() - 30 * DAY_MS);
    const deleting = (await noted.plans()).filter(({ sql }) => sql.startsWith("DELETE"));
    expect(deleting).toHaveLength(5);
    for (const { lines } of deleting)
      for (const { detail } of lines.filter((line) => / jobs /.test(line.detail))) expect(detail).toContain("AND id=?");
  });

  it("refuses commands on what it has, and knows nothing of it for keys that do not read it", async () => {
    const world = await worldWithWorker();
    const id = await finished(world);
    await left(world, id);
    await age(world, [id]);
    await runMinute(withArchive);
    const client = await world.withKey("client");
    const commands = [
      ["PATCH", `/api/jobs/${id}`, { tags: ["late"] }],
      ["POST", `/api/jobs/${id}/cancel`],
      ["POST", `/api/jobs/${id}/retry`],
    ] as const;
    for (const [method, path, body] of commands) {
      const refused = await ask(world.key, method, path, body);
      expect([path, refused.status, refused.body.code]).toEqual([path, 409, "job_archived"]);
      expect((await ask(world.key, method, path.replace(id, `${id}0`), body)).status).toBe(404);
    }
    expect((await ask(client.key, "POST", `/api/jobs/${id}/cancel`)).status).toBe(404);
  });

  it("keeps one part for jobs of a day, as gzip of a line each, which other tools can read", async () => {
    const world = await worldWithWorker();
    const ids = [await finished(world), await finished(world, { tags: [] })];
    await age(world, ids);
    await step(world);
    const [key = "", ...more] = await keysOf(world);
    expect(more).toEqual([]);
    expect(key).toMatch(new RegExp(`^${world.tenant}/\\d{4}-\\d\\d-\\d\\d/${ids[0]}-[0-9a-f]{8}\\.ndjson\\.gz$`));
    const lines: ArchivedLine[] = [];
    for await (const line of unpackPart((await store.get(key)) ?? new Uint8Array())) lines.push(line);
    expect(lines).toMatchObject(ids.map((id) => ({ id, status: "completed", prompt: "an old zebra", attempts: 1 })));
    expect(lines[0]?.attempt_list).toMatchObject([{ cost_usd: 0.5, outcome: "completed" }]);
  });

  it("lists what it has, newest first, by the filters of the list, page by page", async () => {
    const world = await worldWithWorker();
    const ids: string[] = [];
    const more: Readonly<Record<number, Body>> = { 3: { model: "gpt-x" }, 4: { prompt: "an \u{1f993}, an old zebra" } };
    for (let index = 0; index < 5; index += 1)
      ids.push(await finished(world, { metadata: { n: String(index) }, ...more[index] }));
    // Two parts that overlap.
    await age(world, [ids[1] ?? "", ids[4] ?? ""]);
    await step(world);
    await age(world, ids);
    await step(world);
    expect(await keysOf(world)).toHaveLength(2);
    const listed = async (query: string) => {
      const { status, body } = await ask(world.key, "GET", `/api/jobs?archived=true${query}`);
      expect([query, status]).toEqual([query, 200]);
      return { ids: body.jobs.map((one: Body) => one.id), next: body.next_cursor as string | null, body };
    };
    const newest = [...ids].reverse();
    expect((await listed("")).ids).toEqual(newest);
    const paged: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page: Awaited<ReturnType<typeof listed>> = await listed(
        `&limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`,
      );
      paged.push(...page.ids);
      cursor = page.next;
    }
    expect(paged).toEqual(newest);
    expect((await listed("&model=gpt-x")).ids).toEqual([ids[3]]);
    expect((await listed("&metadata.n=2")).ids).toEqual([ids[2]]);
    expect((await listed("&q=zeb")).ids).toEqual(newest);
    expect((await listed("&q=lion")).ids).toEqual([]);
    expect((await listed("&status=failed")).ids).toEqual([]);
    expect((await listed(`&until=${new Date(Date.now() - DAY_MS).toISOString()}`)).ids).toEqual([]);
    expect((await listed("&max_chars=2&limit=1")).body.jobs[0]).toMatchObject({
      prompt: "an",
      result: null,
      truncated: ["prompt", "result"],
    });
    expect((await listed("&max_chars=4&limit=1")).body.jobs[0].prompt).toBe("an ");
    for (const query of ["sort=cost_usd", "offset=1", "unpriced=true"])
      expect((await ask(world.key, "GET", `/api/jobs?archived=true&${query}`)).status).toBe(400);
    expect((await ask(world.key, "GET", "/api/jobs")).body.jobs).toEqual([]);
    expect((await world.get("/api/jobs?archived=true")).status).toBe(400);
  });

  it("gives its days, and a day as one file of gzip, to who reads the tenant whole", async () => {
    await clearOf(DAY_MS);
    const [world, other] = [await worldWithWorker(), await worldWithWorker()];
    const ids = [await finished(world), await finished(world), await finished(world)];
    await age(world, ids.slice(0, 1));
    await step(world);
    await age(world, ids);
    await step(world);
    const day = dayOfId(ids[0] ?? "") ?? "";
    const { key: viewer } = await world.ok("POST", "/api/keys", { name: "v", role: "viewer" });
    const { key: worker } = await world.ok("POST", "/api/keys", { name: "w", role: "worker" });
    const { body } = await ask(viewer, "GET", "/api/archive");
    expect(body).toEqual({
      days: [{ day, jobs: 3, parts: 2, bytes: expect.any(Number) }],
      ...{ total: 1, limit: 50, offset: 0 },
    });
    const exported = await fetchFrom(viewer, `/api/archive/${day}`);
    expect(exported.headers.get("content-type")).toBe("application/gzip");
    expect(exported.headers.get("content-disposition")).toContain(`${world.tenant}-${day}.ndjson.gz`);
    const bytes = new Uint8Array(await exported.arrayBuffer());
    expect(bytes.length).toBe(body.days[0].bytes);
    const text = gunzipSync(bytes).toString();
    const lines = text.trim().split("\n");
    expect(lines.map((line) => JSON.parse(line).id).sort()).toEqual([...ids].sort());
    expect((await ask(viewer, "GET", `/api/archive?until=${day}`)).body.days).toEqual([]);
    expect((await ask(viewer, "GET", "/api/archive/2020-01-01")).status).toBe(404);
    expect((await ask(viewer, "GET", "/api/archive/yesterday")).status).toBe(404);
    expect((await ask(other.key, "GET", `/api/archive/${day}`)).status).toBe(404);
    for (const path of ["/api/archive", `/api/archive/${day}`])
      expect((await ask(worker, "GET", path)).status).toBe(403);
    for (const key of await keysOf(world)) await bucket.delete(key);
    expect((await ask(viewer, "GET", `/api/archive/${day}`)).status).toBe(503);
  });

  it("is another tenant's as little as history is, and no worker's", async () => {
    const [world, other] = [await worldWithWorker(), await worldWithWorker()];
    const id = await finished(world);
    await left(world, id);
    await age(world, [id]);
    await step(world);
    expect((await ask(other.key, "GET", `/api/jobs/${id}`)).status).toBe(404);
    expect((await ask(other.key, "GET", "/api/jobs?archived=true")).body.jobs).toEqual([]);
    const { key } = await world.ok("POST", "/api/keys", { name: "w", role: "worker" });
    expect((await ask(key, "GET", `/api/jobs/${id}`)).status).toBe(404);
    expect((await ask(world.key, "GET", `/api/jobs/${id}`)).status).toBe(200);
  });
});

describe("the archive's bounds", () => {
  it("a list reads a bounded number of parts for one answer, and goes on with its cursor", async () => {
    const { tenant } = await newWorld();
    const rows = Array.from({ length: PARTS_AN_ANSWER + 5 }, (_, index) => String(100 + index));
    const insert = "INSERT INTO archive_parts VALUES (?1, '2026-01-01', ?2, ?2, ?2, 0, 0, '')";
    await env.DB.batch(rows.map((name) => env.DB.prepare(insert).bind(tenant, name)));
    const empty = await packPart([]);
    let reads = 0;
    const counting: ArchiveStore = {
      ...store,
      get: async () => {
        reads += 1;
        return empty;
      },
    };
    const list = (cursor?: string) =>
      listArchive(
        new TenantHistory(env.DB, tenant),
        counting,
        jobListQuery.parse({ cursor }) as unknown as JobListQuery,
      );
    const first = await list();
    expect([reads, first.jobs, first.total_is_capped]).toEqual([PARTS_AN_ANSWER, [], true]);
    expect((await list(first.next_cursor ?? "")).next_cursor).toBeNull();
    expect(reads).toBe(rows.length);
  });

  it("divides large jobs among parts", async () => {
    const world = await worldWithWorker();
    const ids: string[] = [];
    for (let index = 0; index < 7; index += 1) ids.push(await finished(world));
    await age(world, ids);
    await env.DB.prepare("UPDATE jobs SET result = ?2 WHERE tenant = ?1")
      .bind(world.tenant, JSON.stringify("r".repeat(1_500_000)))
      .run();
    // Five times 1.5 million characters fit into one.
    expect(5 * 1_500_000).toBeLessThan(CHARS_A_PART);
    expect(await step(world)).toMatchObject({ pruned: { completed: 5 }, isMore: true });
    expect(await step(world)).toMatchObject({ pruned: { completed: 2 }, isMore: false });
    expect(await keysOf(world)).toHaveLength(2);
  });
});

describe("an archive with faults", () => {
  const failing = (changes: Partial<ArchiveStore>): ArchiveStore => ({ ...store, ...changes });

  it.each([
    ["cannot be written", failing({ put: () => Promise.reject(new Error("away")) })],
    ["gives nothing back", failing({ get: async () => null })],
    ["gives something else back", failing({ get: async () => new Uint8Array(3) })],
  ])("that %s leaves every job in history", async (_what, faulty) => {
    const world = await worldWithWorker();
    const id = await finished(world);
    await age(world, [id]);
    await expect((async () => step(world, faulty))()).rejects.toThrow("the archive did not keep");
    expect([await count(world, "jobs"), await count(world, "archive_parts")]).toEqual([1, 0]);
  });

  it("warns once, until it takes jobs again", async () => {
    const world = await worldWithWorker();
    const id = await finished(world);
    await age(world, [id]);
    const away = { put: () => Promise.reject(new Error("away")) };
    const cut = { ...withArchive, ARCHIVE: away } as unknown as Env;
    await runMinute(cut);
    await runMinute(cut);
    const isFailing = async () => /^signalbox_archive_failing (\d)$/m.exec((await world.get("/metrics")).text)?.[1];
    expect(await isFailing()).toBe("1");
    expect((await world.ok("GET", "/api/audit?action=archive.failing")).total).toBe(1);
    expect(await count(world, "jobs")).toBe(1);
    await runMinute(withArchive);
    expect(await isFailing()).toBe("0");
    expect(await count(world, "jobs")).toBe(0);
  });

  it("repeats a step that broke off before its part was recorded, and finds the job once", async () => {
    const world = await worldWithWorker();
    const ids = [await finished(world), await finished(world)];
    await age(world, ids.slice(0, 1));
    const brokenDb = {
      prepare: (sql: string) => {
        if (sql.startsWith("INSERT INTO archive_parts")) throw new Error("lost");
        return env.DB.prepare(sql);
      },
      batch: (statements: D1PreparedStatement[]) => env.DB.batch(statements),
    };
    const broken = new TenantHistory(brokenDb as unknown as D1Database, world.tenant);
    await expect((async () => archiveStep(broken, store, Date.now() - DAY_MS))()).rejects.toThrow("lost");
    expect([await count(world, "jobs"), (await keysOf(world)).length]).toEqual([2, 1]);
    await age(world, ids);
    await step(world);
    expect([await count(world, "jobs"), await count(world, "archive_parts")]).toEqual([0, 1]);
    const { body } = await ask(world.key, "GET", "/api/jobs?archived=true");
    expect(body.jobs.map((one: Body) => one.id)).toEqual([...ids].reverse());
  });

  it("leaves a job in history that was retried while its part was written", async () => {
    const world = await worldWithWorker();
    const id = await finished(world);
    await age(world, [id]);
    const retried = failing({
      put: async (key, bytes) => {
        await env.DB.prepare("UPDATE jobs SET version = version + 1 WHERE tenant = ?1").bind(world.tenant).run();
        await store.put(key, bytes);
      },
    });
    await step(world, retried);
    expect([await count(world, "jobs"), await count(world, "attempts")]).toEqual([1, 1]);
  });
});

describe("a tenant with an archive", () => {
  it("counts the archive's bytes as stored", async () => {
    const world = await worldWithWorker();
    await world.stub.notePruned({}, 5_000_000);
    const request = new Request(`${ORIGIN}/admin/tenants/${world.tenant}`, {
      method: "PATCH",
      headers: { authorization: `Bearer ${ROOT_KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ max_gb: null }),
    });
    const answer = await app.fetch(request, withArchive, CONTEXT as unknown as ExecutionContext);
    expect(((await answer.json()) as Body).stored_bytes).toBeGreaterThan(5_000_000);
  });

  it("leaves no bytes when it is deleted, not even of a part that is written meanwhile", async () => {
    const world = await worldWithWorker();
    const ids = [await finished(world), await finished(world)];
    await age(world, ids.slice(0, 1));
    await step(world);
    await age(world, ids);
    const late: ArchiveStore = {
      ...store,
      put: async (key, bytes) => {
        expect((await ask(ROOT_KEY, "DELETE", `/admin/tenants/${world.tenant}`)).status).toBe(204);
        expect((await ask(ROOT_KEY, "POST", "/admin/tenants", { tenant: world.tenant })).status).toBe(201);
        await store.put(key, bytes);
      },
    };
    await step(world, late);
    expect([await keysOf(world), await count(world, "archive_parts")]).toEqual([[], 0]);
  });

  it("keeps its jobs where they are while it moves away", async () => {
    const world = await worldWithWorker();
    const id = await finished(world);
    await age(world, [id]);
    await env.DB.prepare("UPDATE tenants SET away = 'leaving' WHERE tenant = ?1").bind(world.tenant).run();
    await step(world);
    expect([await count(world, "jobs"), await keysOf(world)]).toEqual([1, []]);
  });
});
