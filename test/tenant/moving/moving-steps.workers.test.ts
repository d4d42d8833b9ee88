// The steps of a move, each from outside: what stands still, what may be repeated, what is refused. The same deployment
// plays both ends: the tenant is read out, deleted, and arrives again.

import { env, exports } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  type Body,
  connect,
  connectWorker,
  inStorage,
  newWorld,
  ORIGIN,
  ROOT_KEY,
  request,
  type World,
} from "../../support/workerd/client.ts";
import { holdToDocument } from "../../support/workerd/document.ts";
import { busyWorld, engage, offer } from "../../support/workerd/halting.ts";

holdToDocument();

const ELSEWHERE = "https://elsewhere.example";
const DAY_MS = 86_400_000;
/** Each reads and writes dozens of tables, one after the other. */
const MANY_CALLS_MS = 120_000;

const operator = async (method: string, path: string, body?: unknown) =>
  request(ROOT_KEY, method, `/admin/tenants/${path}`, body);

const done = async (method: string, path: string, body?: unknown): Promise<Body> => {
  const answer = await operator(method, path, body);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
  return answer.body;
};

const leave = (world: World): Promise<Body> => done("POST", `${world.tenant}/move`, { to: ELSEWHERE });

const runCron = (): Promise<unknown> =>
  (exports.default as unknown as { scheduled(event: { cron: string }): Promise<unknown> }).scheduled({
    cron: "* * * * *",
  });

interface Read {
  readonly place: string;
  readonly table: string;
}

const allParts = async (tenant: string, { place, table }: Read, what = "rows"): Promise<Body[]> => {
  const parts: Body[] = [];
  for (let from: string | null = ""; from !== null; from = parts.at(-1).next)
    parts.push(await done("GET", `${tenant}/${what}?place=${place}&table=${table}&from=${encodeURIComponent(from)}`));
  return parts;
};

const digestsOf = async (tenant: string, tables: readonly Read[]): Promise<Body[]> =>
  (await Promise.all(tables.map((table) => allParts(tenant, table, "rows/digest")))).flat();

const partsOf = async (tenant: string, tables: readonly Read[]): Promise<Body[]> => {
  const parts: Body[] = [];
  for (const table of tables) parts.push(...(await allParts(tenant, table)));
  return parts;
};

/** Everything of the tenant, which is no longer here. */
const takenOut = async (world: World) => {
  const left = await leave(world);
  const { move, created_at, schema, tables } = left;
  const [parts, digests] = [await partsOf(world.tenant, tables), await digestsOf(world.tenant, tables)];
  await done("DELETE", world.tenant);
  return { arrival: { move, created_at, schema }, tables, parts, digests };
};

const refused = async (answer: Promise<{ status: number; body: Body }>): Promise<[number, string]> => {
  const { status, body } = await answer;
  return [status, body?.code];
};

describe("a tenant that leaves", () => {
  it("lets its callers wait, then names its address; and cannot stay once it has", async () => {
    const { world } = await busyWorld();
    await leave(world);
    const waits = await world.post("/dispatch", { prompt: "p" });
    expect([waits.status, waits.body.code, waits.headers.get("retry-after")]).toEqual([503, "tenant_unavailable", "5"]);
    expect(waits.body.detail).toContain("moving");
    await done("POST", `${world.tenant}/left`);
    await done("POST", `${world.tenant}/left`);
    for (const ask of [
      world.get("/api/jobs/x"),
      world.post("/dispatch", { prompt: "p" }),
      operator("DELETE", `${world.tenant}/move`),
    ])
      expect(await refused(ask)).toEqual([410, "tenant_moved"]);
    expect((await world.get("/killswitch")).body.detail).toContain(ELSEWHERE);
  });

  it("gives the same move when it is asked again, and no other", async () => {
    const { world } = await busyWorld();
    const first = await leave(world);
    expect(await leave(world)).toEqual(first);
    await done("POST", `${world.tenant}/left`);
    expect((await leave(world)).move).toBe(first.move);
    expect(await refused(operator("POST", `${world.tenant}/move`, { to: "https://other.example" }))).toEqual([
      410,
      "tenant_moved",
    ]);
  });

  it("takes no new admin key, which would not be copied", async () => {
    const { world } = await busyWorld();
    await leave(world);
    expect(await refused(operator("POST", `${world.tenant}/keys`, { name: "late" }))).toEqual([
      503,
      "tenant_unavailable",
    ]);
  });

  it("closes the sockets of workers and viewers, and answers who waits", async () => {
    const { world, running } = await busyWorld();
    const socket = await connectWorker(world.key ?? "", offer("w2"));
    const viewer = await connect("/live", { authorization: `Bearer ${world.key}` });
    const waiting = world.get(`/api/jobs/${running.id}?wait=25`);
    await world.get("/killswitch");
    await leave(world);
    // A worker comes back, and is told the new address: the move may be cancelled, too.
    expect(await Promise.all([socket.closed, viewer.socket?.closed])).toMatchObject([{ code: 1012 }, { code: 1012 }]);
    const leftAt = Date.now();
    expect((await waiting).status).toBe(503);
    expect(Date.now() - leftAt).toBeLessThan(5_000);
  });

  it("is not left while history is away: nothing is given out, and the step is repeated", async () => {
    const { world } = await busyWorld();
    await env.DB.prepare("ALTER TABLE audit RENAME TO audit_away").run();
    try {
      expect(await refused(operator("POST", `${world.tenant}/move`, { to: ELSEWHERE }))).toEqual([
        503,
        "history_unavailable",
      ]);
    } finally {
      await env.DB.prepare("ALTER TABLE audit_away RENAME TO audit").run();
    }
    const { tables } = await leave(world);
    const audit = await allParts(world.tenant, { place: "history", table: "audit" });
    expect(audit[0].rows.flat()).toContain("tenant.left");
    const [outbox] = await allParts(world.tenant, { place: "object", table: "outbox" });
    expect([tables.length > 10, outbox.rows]).toEqual([true, []]);
  });
});

describe("the rows of a tenant that leaves do not change", { timeout: MANY_CALLS_MS }, () => {
  const digests = async (world: World): Promise<Body[]> => digestsOf(world.tenant, (await leave(world)).tables);

  it("when the outcome of a webhook comes late; it is delivered after a cancelled move", async () => {
    let isAnswered = false;
    const sent = vi.spyOn(globalThis, "fetch").mockImplementation(async () => {
      while (!isAnswered) await scheduler.wait(5);
      return new Response(null, { status: 204 });
    });
    const { world, running } = await busyWorld();
    await world.ok("POST", "/api/webhooks", { url: "https://hooks.example.com/", events: ["job.completed"] });
    await world.ok("POST", `/api/jobs/${running.id}/complete`, { lease: running.lease, result: "r" });
    await expect.poll(() => sent.mock.calls.length).toBeGreaterThan(0);
    const before = await digests(world);
    isAnswered = true;
    await Promise.all(sent.mock.results.map(({ value }) => value));
    await scheduler.wait(50);
    expect(await digests(world)).toEqual(before);
    await done("DELETE", `${world.tenant}/move`);
    const [webhook] = (await world.ok("GET", "/api/webhooks")).webhooks;
    await inStorage(world, ({ sql }) => sql.exec("UPDATE deliveries SET next_attempt_at = 1 WHERE status = 'pending'"));
    await world.stub.poke();
    const states = async (): Promise<string[]> =>
      (await world.ok("GET", `/api/webhooks/${webhook.id}/deliveries`)).deliveries.map((one: Body) => one.status);
    await expect.poll(states).toEqual(["delivered"]);
  });

  /** A tenant whose only ended job, run and change of models are due to be deleted, and the job's texts. */
  const withOldRows = async () => {
    const { world, running } = await busyWorld();
    await world.ok("PUT", "/config", { history: { keep_days: 30, keep_texts_days: 20 } });
    await world.ok("POST", `/api/jobs/${running.id}/complete`, { lease: running.lease, result: "r" });
    await world.ok("POST", "/api/schedules", { name: "s", interval: "1d", prompt: "x" });
    await world.ok("POST", "/api/schedules/s/run");
    await world.ok("GET", "/api/schedules/s/history");
    const { tenant } = world;
    const old = Date.now() - 1_000 * DAY_MS;
    await env.DB.batch([
      env.DB.prepare("UPDATE jobs SET finished_at = ?2 WHERE tenant = ?1 AND id = ?3").bind(tenant, old, running.id),
      env.DB.prepare("UPDATE schedule_runs SET ran_at = ?2 WHERE tenant = ?1").bind(tenant, old),
      env.DB.prepare(
        "INSERT INTO catalog_history (tenant, subscription_id, seq, at, kind, model_id) VALUES (?1, 's', 1, ?2, 'added', 'm')",
      ).bind(tenant, old),
    ]);
    const counts = async (): Promise<number[]> =>
      Promise.all(
        ["jobs WHERE finished_at IS NOT NULL AND", "schedule_runs WHERE", "catalog_history WHERE"].map(async (from) =>
          Number(await env.DB.prepare(`SELECT COUNT(*) AS n FROM ${from} tenant = ?1`).bind(tenant).first("n")),
        ),
      );
    return { world, counts };
  };

  it("when its retention is due: jobs, their texts, runs and changes of models stay", async () => {
    const { world, counts } = await withOldRows();
    const before = await digests(world);
    await runCron();
    expect([await counts(), await digests(world)]).toEqual([[1, 1, 1], before]);
    await done("POST", `${world.tenant}/left`);
    await runCron();
    expect(await counts()).toEqual([1, 1, 1]);
  });

  it("when its retention is due, which goes on after a cancelled move", async () => {
    const { world, counts } = await withOldRows();
    await leave(world);
    await done("DELETE", `${world.tenant}/move`);
    await world.stub.drain();
    await expect
      .poll(async () => {
        await runCron();
        return counts();
      })
      .toEqual([0, 0, 0]);
  });

  it("when the sync of a model list is due, or ends late", async () => {
    const { world } = await busyWorld();
    const fetched = vi
      .spyOn(globalThis, "fetch")
      .mockImplementation(async () => Response.json({ data: [{ id: "m" }] }));
    await env.DB.prepare(
      `INSERT INTO catalog_subscriptions (tenant, id, provider, models_sync_schedule, models_sync_url, next_sync_at, created_at, lease_id, lease_until)
       VALUES (?1, 'due', 'openai', '0 */6 * * *', '', 1, 0, 'a sync under way', 2)`,
    )
      .bind(world.tenant)
      .run();
    const before = await digests(world);
    await runCron();
    expect(fetched).not.toHaveBeenCalled();
    expect(await world.stub.isSyncHalted()).toBe(true);
    expect(await digests(world)).toEqual(before);
    const row = await env.DB.prepare("SELECT lease_id FROM catalog_subscriptions WHERE tenant = ?1")
      .bind(world.tenant)
      .first();
    expect(row).toEqual({ lease_id: null });
  });

  afterEach(() => {
    vi.restoreAllMocks();
  });
});

describe("a tenant that arrives", { timeout: MANY_CALLS_MS }, () => {
  it("has what it had, also its model lists' changes, and does not serve before", async () => {
    const { world, running } = await busyWorld();
    await env.DB.prepare(
      "INSERT INTO catalog_history (tenant, subscription_id, seq, at, kind, model_id) VALUES (?1, 's', 7, 1, 'added', 'm')",
    )
      .bind(world.tenant)
      .run();
    const { arrival, tables, parts, digests } = await takenOut(world);
    expect((await done("POST", `${world.tenant}/arrive`, arrival)).state).toBe("arriving");
    for (const part of parts) await done("POST", `${world.tenant}/rows`, part);
    expect(await digestsOf(world.tenant, tables)).toEqual(digests);
    expect(await refused(world.get("/killswitch"))).toEqual([503, "tenant_unavailable"]);
    for (let twice = 0; twice < 2; twice += 1) await done("POST", `${world.tenant}/arrived`);
    expect((await world.get("/killswitch")).body.active).toBe(false);
    const { entries } = (await world.get("/api/audit?action=tenant.arrived")).body;
    expect(entries).toHaveLength(1);
    await world.ok("POST", "/presence", offer("w1"));
    expect((await world.ok("GET", `/api/jobs/${running.id}`)).status).toBe("assigned");
  });

  it("links its webhooks' events to where it is now", async () => {
    const { world } = await busyWorld();
    await world.ok("POST", "/api/webhooks", { url: "https://hooks.example.com/", events: ["job.completed"] });
    const { arrival, parts } = await takenOut(world);
    await done("POST", `${world.tenant}/arrive`, arrival);
    for (const part of parts) {
      const text = JSON.stringify(part);
      const sent = part.table === "webhooks" ? text.replace(ORIGIN, "https://before.example") : text;
      await done("POST", `${world.tenant}/rows`, JSON.parse(sent));
    }
    const origins = () =>
      inStorage(world, ({ sql }) => [...sql.exec("SELECT record ->> 'origin' FROM webhooks").raw()]);
    expect(await origins()).toEqual([["https://before.example"]]);
    await done("POST", `${world.tenant}/arrived`);
    expect(await origins()).toEqual([[ORIGIN]]);
  });

  it("keeps the halt of before its move, and no memory of its parts", async () => {
    const { world } = await busyWorld();
    await engage(world, 1, "the bill explodes");
    const { arrival, parts } = await takenOut(world);
    await done("POST", `${world.tenant}/arrive`, arrival);
    for (const part of parts) {
      await done("POST", `${world.tenant}/rows`, part);
      // Builds the object's memory from what is there by now.
      await world.get("/killswitch");
    }
    await done("POST", `${world.tenant}/arrived`);
    expect(await world.ok("GET", "/killswitch")).toMatchObject({ level: 1, reason: "the bill explodes" });
    expect((await world.ok("GET", "/api/workers")).workers).toHaveLength(1);
    await world.ok("DELETE", "/killswitch?resume_all=true");
    expect((await world.ok("GET", "/api/jobs")).total).toBe(2);
  });

  it("begins again after an interruption, without what an earlier try brought", async () => {
    const { world } = await busyWorld();
    const { arrival, tables, parts, digests } = await takenOut(world);
    const stale = parts.map((part: Body) =>
      part.table === "events"
        ? { ...part, rows: part.rows.map((row: Body[]) => row.map((cell) => (cell === "created" ? "forged" : cell))) }
        : part,
    );
    for (const tries of [stale.slice(0, 5), stale, parts]) {
      expect((await done("POST", `${world.tenant}/arrive`, arrival)).state).toBe("arriving");
      for (const part of tries) {
        await done("POST", `${world.tenant}/rows`, part);
        await done("POST", `${world.tenant}/rows`, part);
      }
    }
    expect(await digestsOf(world.tenant, tables)).toEqual(digests);
  });

  it("is known to have arrived, so that a move that was cut at its end removes nothing", async () => {
    const { world, running } = await busyWorld();
    const { arrival, parts } = await takenOut(world);
    await done("POST", `${world.tenant}/arrive`, arrival);
    for (const part of parts) await done("POST", `${world.tenant}/rows`, part);
    await done("POST", `${world.tenant}/arrived`);
    expect((await done("POST", `${world.tenant}/arrive`, arrival)).state).toBe("arrived");
    await done("POST", `${world.tenant}/arrived`);
    expect((await world.get(`/api/jobs/${running.id}`)).status).toBe(200);
    const other = operator("POST", `${world.tenant}/arrive`, { ...arrival, move: "another" });
    expect(await refused(other)).toEqual([409, "tenant_exists"]);
  });

  it("is refused with a name that is no tenant's, with another release's tables, and over one that is served", async () => {
    const { world } = await busyWorld();
    const arrival = { move: "m", created_at: new Date().toISOString(), schema: 1 };
    expect(await refused(operator("POST", "NOT-A-NAME/arrive", arrival))).toEqual([400, "invalid_request"]);
    expect(await refused(operator("POST", "new-one/arrive", arrival))).toEqual([400, "invalid_request"]);
    expect(await refused(operator("POST", `${world.tenant}/arrive`, arrival))).toEqual([409, "tenant_exists"]);
  });
});

describe("a tenant that is served", () => {
  it("gives out no rows, takes none, and does not leave before it has begun to", async () => {
    const { world } = await busyWorld();
    for (const place of ["object&table=jobs", "history&table=jobs"])
      expect(await refused(operator("GET", `${world.tenant}/rows?place=${place}`))).toEqual([400, "invalid_request"]);
    for (const [place, table] of [
      ["object", "keys"],
      ["history", "cost_hours"],
    ]) {
      const part = { place, table, columns: ["tenant"], rows: [], next: null, is_first: true };
      expect(await refused(operator("POST", `${world.tenant}/rows`, part))).toEqual([409, "tenant_exists"]);
    }
    expect(await refused(operator("POST", `${world.tenant}/left`))).toEqual([400, "invalid_request"]);
    expect((await world.get("/killswitch")).status).toBe(200);
  });

  it("names a cursor that is not one", async () => {
    const { world } = await busyWorld();
    await leave(world);
    for (const place of ["object", "history"])
      for (const from of ["1", "[", "[1,2,3,4,5]", '[{"a":1}]'])
        expect(
          await refused(
            operator("GET", `${world.tenant}/rows?place=${place}&table=jobs&from=${encodeURIComponent(from)}`),
          ),
        ).toEqual([400, "invalid_request"]);
  });
});

it("a page is read after a key, so rows that go meanwhile take no others with them", async () => {
  const world = await newWorld();
  const jobs = Array.from({ length: 620 }, (_, index) => ({ prompt: `p${index}` }));
  for (let from = 0; from < jobs.length; from += 100)
    await world.ok("POST", "/api/jobs/batch", { jobs: jobs.slice(from, from + 100) });
  await leave(world);
  const table = { place: "history", table: "jobs" };
  const first = await done("GET", `${world.tenant}/rows?place=history&table=jobs`);
  const id = first.columns.indexOf("id");
  await env.DB.prepare("DELETE FROM jobs WHERE tenant = ?1 AND id = ?2").bind(world.tenant, first.rows[0][id]).run();
  const rest = await done(
    "GET",
    `${world.tenant}/rows?place=history&table=jobs&from=${encodeURIComponent(first.next)}`,
  );
  const ids = new Set([...first.rows, ...rest.rows].map((row: Body[]) => row[id]));
  expect([first.rows.length < 620, ids.size, rest.next]).toEqual([true, 620, null]);
  const live = await allParts(world.tenant, { place: "object", table: "jobs" });
  const kept = await allParts(world.tenant, table);
  expect([live, kept].map((parts) => parts.length)).toEqual([2, 2]);
  expect([live, kept].map((parts) => parts.flatMap(({ rows }) => rows).length)).toEqual([620, 619]);
});
