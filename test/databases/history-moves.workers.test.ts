// A tenant's history moves between two databases of a deployment, interrupted and repeated at each step, while the tenant
// works on.

import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { configureLog, writeLogTo } from "../../log/log.ts";
import { app } from "../../src/app.ts";
import type { Env } from "../../src/env.ts";
import { TENANT_TABLES } from "../../src/history/tenant-tables.ts";
import { deleteTenant } from "../../src/history/tenants.ts";
import {
  type Body,
  Client,
  connectWorker,
  newWorld,
  ORIGIN,
  ROOT_KEY,
  sleep,
  type World,
} from "../support/workerd/client.ts";
import { holdToDocument } from "../support/workerd/document.ts";
import { sendAway } from "../support/workerd/job-steps.ts";

holdToDocument();

const ALL = (({ DB, DB_1, DB_2 }) => [DB, DB_1, DB_2])(env as unknown as Record<"DB" | "DB_1" | "DB_2", D1Database>);
const root = new Client(ROOT_KEY);
const offer = { instance: "w", status: "online", provider: "openai", tags: "", concurrency: 50 };

/** Its worker reports first: since the last job it may have fallen silent. */
const finished = async (world: World): Promise<string> => {
  await world.ok("POST", "/presence", offer);
  const job = await world.ok("POST", "/dispatch", { prompt: "an old zebra" });
  const report = { lease: job.lease, result: "kept", usage: { input_tokens: 1, output_tokens: 1 }, cost_usd: 0.5 };
  await world.ok("POST", `/api/jobs/${job.id}/complete`, report);
  return job.id;
};

const worldIn = async (database: number): Promise<{ world: World; job: string }> => {
  const world = await newWorld({ database });
  const job = await finished(world);
  await sendAway(world, job);
  await world.ok("POST", "/catalog/subscriptions", { provider: "openai" });
  return { world, job };
};

const pathOf = ({ tenant }: World): string => `/admin/tenants/${tenant}/database`;

const stepTo = (world: World, database: number, next?: unknown): Promise<Body> =>
  root.ok("POST", pathOf(world), { database, ...(next === undefined ? {} : { next }) });

/** One call does as much as its time allows. */
const moveTo = async (world: World, database: number, from?: unknown): Promise<void> => {
  let next = from;
  for (let calls = 0; next !== null && calls < 50; calls += 1) ({ next } = await stepTo(world, database, next));
  expect(next).toBeNull();
};

/** A step with databases of its own. */
const stepThrough = async (
  changed: (db: D1Database) => D1Database,
  { tenant }: World,
  database: number,
  next?: unknown,
): Promise<Response> => {
  const [DB, DB_1, DB_2] = ALL.map(changed);
  return app.fetch(
    new Request(`${ORIGIN}/admin/tenants/${tenant}/database`, {
      method: "POST",
      headers: { authorization: `Bearer ${ROOT_KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ database, ...(next == null ? {} : { next }) }),
    }),
    { ...env, DB, DB_1, DB_2 } as unknown as Env,
    { waitUntil: () => undefined, passThroughOnException: () => undefined, props: {} } as unknown as ExecutionContext,
  );
};

/** The steps of a whole move with databases of its own; the answer to the last, or to the one that is refused. */
const stepsThrough = async (
  changed: (db: D1Database) => D1Database,
  world: World,
  database: number,
): Promise<{ status: number; body: Body }> => {
  for (let next: unknown; ; ) {
    const answer = await stepThrough(changed, world, database, next);
    const body = (await answer.json()) as Body;
    if (answer.status !== 200 || body.state === "moved") return { status: answer.status, body };
    next = body.next;
  }
};

/** A move to database 1 whose first statement of a kind stands still on its way to its database until it is let go. */
const standingStill = (world: World, kind: RegExp) => {
  let arrive: () => void = () => undefined;
  let letGo: () => void = () => undefined;
  const standing = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const going = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const held = <T extends object>(one: T): T =>
    new Proxy(one, {
      get: (target, name) => {
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== "function") return value;
        if (name === "bind") return (...given: unknown[]) => held(value.apply(target, given) as object);
        return async (...given: unknown[]) => {
          arrive();
          await going;
          return value.apply(target, given) as unknown;
        };
      },
    });
  const holding = (db: D1Database): D1Database =>
    new Proxy(db, {
      get: (target, name) => {
        const value = Reflect.get(target, name) as unknown;
        if (name === "prepare")
          return (sql: string) => (kind.test(sql) ? held(target.prepare(sql)) : target.prepare(sql));
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  return { standing, letGo, answer: stepsThrough(holding, world, 1) };
};

/** A try whose connection to the databases breaks after so many queries. Returns whether it was done before. */
const interrupted = async (world: World, database: number, queries: number): Promise<boolean> => {
  let left = queries;
  const breaking = (db: D1Database): D1Database =>
    new Proxy(db, {
      get: (target, name) => {
        if (name === "prepare") left -= 1;
        if (left < 0) throw new Error("the connection is gone");
        const value = Reflect.get(target, name) as unknown;
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  const { status, body } = await stepsThrough(breaking, world, database);
  const isMoved = body.state === "moved";
  expect([status, body.code]).toEqual(isMoved ? [200, undefined] : [503, "history_unavailable"]);
  return isMoved;
};

/** How it is logged that a drain, and a socket's report on a job that has left, find no history. */
const levelsWithoutHistory = async (world: World, left: string): Promise<unknown[]> => {
  const socket = await connectWorker(world.key ?? "", { ...offer, instance: "of-socket", concurrency: 0 });
  const lines: string[] = [];
  const take = (line: string) => lines.push(line);
  writeLogTo({ log: take, warn: take, error: take });
  configureLog({ SERVICE_LOG: "json" });
  expect(await world.stub.drain()).toBe(false);
  socket.send({ type: "job.completed", id: "late", job_id: left, lease: 1, result: "kept" });
  const { problem } = await socket.next(({ type, id }) => type === "ack" && id === "late");
  expect(problem.code).toBe("history_unavailable");
  configureLog({ SERVICE_LOG: "off" });
  writeLogTo(console);
  socket.socket.close();
  return lines
    .map((line) => JSON.parse(line))
    .flatMap(({ event, level }) => (/^(drain|history)\.failed$/.test(event) ? [[event, level]] : []));
};

/** How many rows each database has, beside the tenant's name. */
const rowsOf = async ({ tenant }: World): Promise<number[]> => {
  const tables = Object.keys(TENANT_TABLES).filter((table) => table !== "tenants");
  const sums = tables.map((table) => `(SELECT COUNT(*) FROM ${table} WHERE tenant = ?1)`).join(" + ");
  return Promise.all(
    ALL.map(async (db) => (await db.prepare(`SELECT ${sums} AS many`).bind(tenant).first<number>("many")) ?? 0),
  );
};

/** The indices of the databases with rows of the tenant. */
const homesOf = async (world: World): Promise<number[]> =>
  (await rowsOf(world)).flatMap((many, number) => (many > 0 ? [number] : []));

const told = async (world: World, job: string) => ({
  jobs: (await world.ok("GET", "/api/jobs?q=zebra")).jobs.map(({ id }: Body) => id),
  one: (await world.ok("GET", `/api/jobs/${job}`)).result,
  events: await world.ok("GET", `/api/jobs/${job}/events`),
  cost: (await world.ok("GET", "/api/cost/by/worker")).rows,
  subscriptions: (await world.ok("GET", "/catalog/subscriptions")).subscriptions.length,
});

describe("a tenant's history", () => {
  it.each([
    [0, 1],
    [1, 2],
    [2, 0],
  ])("moves from %i to %i with all of its rows, and is read and written there", async (from, to) => {
    const { world, job } = await worldIn(from);
    const before = await told(world, job);
    await moveTo(world, to);
    expect(await told(world, job)).toEqual(before);
    expect(await homesOf(world)).toEqual([to]);
    const { tenants } = await root.ok("GET", "/admin/tenants");
    const listed = tenants.find(({ tenant }: Body) => tenant === world.tenant);
    expect(listed.database ?? 0).toBe(to);
    const { entries } = await world.ok("GET", "/api/audit");
    expect(entries[0]).toMatchObject({ action: "tenant.history_moved", target: to === 0 ? "DB" : `DB_${to}` });
    await sleep(world);
    const later = await finished(world);
    expect((await world.ok("GET", "/api/jobs")).jobs.map(({ id }: Body) => id)).toEqual([later, job]);
    expect(await homesOf(world)).toEqual([to]);
    const away = await ALL[to]?.prepare("SELECT away FROM tenants WHERE tenant = ?1").bind(world.tenant).first("away");
    expect(away).toBeNull();
  });

  it("waits while it moves, and the tenant works on; the log calls none of it an error", async () => {
    const { world, job } = await worldIn(0);
    await world.stub.moveHistory({ step: "begin", to: 1, isNew: true });
    const meanwhile = await finished(world);
    expect(await levelsWithoutHistory(world, job)).toEqual([
      ["drain.failed", "info"],
      ["history.failed", "info"],
    ]);
    await sleep(world);
    for (const path of ["/api/jobs", `/api/jobs/${job}`, "/api/cost", "/catalog/subscriptions"]) {
      const { status, body } = await world.get(path);
      expect([path, status, body.code]).toEqual([path, 503, "history_unavailable"]);
    }
    expect((await world.post("/catalog/subscriptions", { provider: "mistral" })).status).toBe(503);
    expect(await world.ok("GET", `/api/jobs/${meanwhile}`)).toMatchObject({ status: "completed" });
    const other = await root.post(pathOf(world), { database: 2 });
    expect([other.status, other.body.errors]).toMatchObject([400, [{ path: "database" }]]);
    await moveTo(world, 1);
    expect((await world.ok("GET", "/api/jobs")).jobs.map(({ id }: Body) => id)).toEqual([meanwhile, job]);
    expect((await world.ok("GET", "/api/cost")).total_usd).toBe(1);
  });

  it("stays where it was if the move is cancelled, and what the try has brought is deleted", async () => {
    const { world, job } = await worldIn(1);
    const before = await told(world, job);
    await world.stub.moveHistory({ step: "begin", to: 2, isNew: true });
    await interrupted(world, 2, 60);
    expect((await homesOf(world)).length).toBe(2);
    const meanwhile = await finished(world);
    expect((await root.delete(pathOf(world))).status).toBe(204);
    expect(await homesOf(world)).toEqual([1]);
    expect((await told(world, job)).one).toEqual(before.one);
    expect((await world.ok("GET", "/api/jobs")).jobs.map(({ id }: Body) => id)).toEqual([meanwhile, job]);
    expect((await root.delete(pathOf(world))).status).toBe(204);
    expect(await homesOf(world)).toEqual([1]);
  });

  it("arrives whole, once, whatever query of a try is the last, while jobs come in between", {
    timeout: 60_000,
  }, async () => {
    const { world, job } = await worldIn(1);
    const jobs = [job];
    let queries = 0;
    for (; queries < 400 && !(await interrupted(world, 2, queries)); queries += 9) jobs.unshift(await finished(world));
    expect(queries).toBeGreaterThan(60);
    expect((await world.ok("GET", "/api/jobs?limit=200")).jobs.map(({ id }: Body) => id)).toEqual(jobs);
    expect((await world.ok("GET", "/api/cost")).total_usd).toBe(jobs.length / 2);
    expect(await homesOf(world)).toEqual([2]);
  });

  it("does not go on with a step of an earlier try, nor of another tenant's", async () => {
    const { world } = await worldIn(0);
    const { value: place } = (await world.stub.moveHistory({ step: "begin", to: 1, isNew: true })) as unknown as Body;
    const last = { phase: "compare", table: "cost_by_hours", after: null };
    const stale = { database: 1, next: { ...last, move: String(place.move) } };
    await world.stub.moveHistory({ step: "begin", to: 1, isNew: true });
    for (const next of [stale.next, { ...last, move: "x" }, { ...stale.next, table: "sqlite_master" }]) {
      const { status, body } = await root.post(pathOf(world), { ...stale, next });
      expect([status, body.errors?.[0].path]).toEqual([400, "next"]);
    }
    expect(await homesOf(world)).toEqual([0]);
    await moveTo(world, 1);
    await moveTo(world, 1);
    expect(await homesOf(world)).toEqual([1]);
  });

  it("is copied once more if something was written late", async () => {
    const { world } = await worldIn(0);
    const { value: place } = (await world.stub.moveHistory({ step: "begin", to: 1, isNew: true })) as unknown as Body;
    // Nothing was copied: the comparison finds that out.
    const next = { move: String(place.move), phase: "compare", table: "jobs", after: null };
    await moveTo(world, 1, next);
    expect(await homesOf(world)).toEqual([1]);
    expect((await world.ok("GET", "/api/jobs")).total).toBe(1);
  });

  it("loses nothing to the late deletes of a move when it has moved back meanwhile", async () => {
    const { world, job } = await worldIn(0);
    const before = await told(world, job);
    const there = standingStill(world, /^DELETE FROM jobs (?!.*away)/s);
    await there.standing;
    await moveTo(world, 0);
    there.letGo();
    expect((await there.answer).status).toBe(200);
    expect(await told(world, job)).toEqual(before);
    expect(await homesOf(world)).toEqual([0]);
    await moveTo(world, 2);
    expect(await homesOf(world)).toEqual([2]);
  });

  it("stays where it was if the move is cancelled while its last step is under way", async () => {
    const { world, job } = await worldIn(0);
    const before = await told(world, job);
    const there = standingStill(world, /^SELECT .* FROM cost_by_hours .*LIMIT/s);
    await there.standing;
    expect((await root.delete(pathOf(world))).status).toBe(204);
    there.letGo();
    const refused = await there.answer;
    expect([refused.status, refused.body.errors[0].path]).toEqual([400, "next"]);
    const next = { move: "1", phase: "compare", table: "jobs", after: null };
    expect((await root.post(pathOf(world), { database: 1, next })).status).toBe(400);
    expect(await told(world, job)).toEqual(before);
    expect(await homesOf(world)).toEqual([0]);
  });

  it("ends with the try that began last, whatever an earlier one has compared", async () => {
    const { world, job } = await worldIn(0);
    const earlier = standingStill(world, /^UPDATE tenants SET history_move/);
    await earlier.standing;
    await world.stub.moveHistory({ step: "begin", to: 1, isNew: true });
    earlier.letGo();
    expect((await earlier.answer).status).toBe(400);
    expect(await homesOf(world)).toEqual([0, 1]);
    await moveTo(world, 1);
    expect(await homesOf(world)).toEqual([1]);
    expect((await world.ok("GET", `/api/jobs/${job}`)).result).toBe("kept");
  });

  it("is deleted with its tenant, wherever a move has left it", async () => {
    const { world } = await worldIn(1);
    await interrupted(world, 2, 60);
    expect((await homesOf(world)).length).toBe(2);
    expect((await root.delete(`/admin/tenants/${world.tenant}`)).status).toBe(204);
    expect(await homesOf(world)).toEqual([]);
    const { tenant } = world;
    const again = new Client((await root.ok("POST", "/admin/tenants", { tenant, database: 0 })).admin_key);
    expect((await again.ok("GET", "/api/jobs")).total).toBe(0);
  });

  it("is brought nowhere by a step that was on its way when the deletion of its tenant began", async () => {
    const { world } = await worldIn(0);
    const late = standingStill(world, /^SELECT .* FROM jobs .*LIMIT/s);
    await late.standing;
    await deleteTenant(env as unknown as Env, world.tenant, async () => {
      late.letGo();
      expect((await late.answer).status).toBeGreaterThanOrEqual(400);
      expect(await homesOf(world)).toEqual([0]);
      expect((await root.post(pathOf(world), { database: 1 })).status).toBe(404);
    });
    expect(await homesOf(world)).toEqual([]);
  });

  it("moves to no database that is not bound, and not without the root key", async () => {
    const { world } = await worldIn(0);
    expect((await root.post(pathOf(world), { database: 3 })).body.errors).toMatchObject([{ path: "database" }]);
    expect((await world.post(pathOf(world), { database: 1 })).status).toBe(403);
    expect((await root.post("/admin/tenants/nobody/database", { database: 1 })).status).toBe(404);
  });
});
