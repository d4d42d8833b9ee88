// An operator's first questions: what waits, what fails, how a job's attempts ended; and one change of many jobs.

import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { FAILURES } from "../../src/history/failures.ts";
import { type Body, inStorage, newWorld, type World } from "../support/workerd/client.ts";
import { dispatch, fail, present, start } from "../support/workerd/job-steps.ts";

const create = (world: World, more: Record<string, unknown> = {}): Promise<Body> =>
  world.ok("POST", "/api/jobs", { prompt: "x", ...more });

const failWith = async (world: World, code: string, more: Record<string, unknown> = {}): Promise<Body> => {
  const job = await dispatch(world, more);
  return fail(world, await start(world, job), { code, message: `it said ${code}`, retryable: false });
};

/** As after the time that a final job stays in the object. */
const leave = async (world: World, ids: readonly string[]): Promise<void> => {
  await world.ok("GET", "/api/jobs");
  await inStorage(world, (storage) => {
    for (const id of ids) storage.sql.exec("UPDATE jobs SET due_at = 1 WHERE id = ?", id);
  });
  await world.stub.poke();
};

describe("the queue", () => {
  test("is shown by what its jobs require, the longest waiting first, each with its reason", async () => {
    const world = await newWorld();
    expect(await world.ok("GET", "/api/queue")).toEqual({ groups: [], groups_total: 0, total: 0, delayed: 0 });
    const oldest = await create(world, { provider: "openai", tags: ["gpu"], priority: "low" });
    await create(world, { provider: "openai", model: "gpt", priority: "critical" });
    await create(world, { provider: "openai", tags: ["gpu"], priority: "low" });
    await create(world, { run_at: new Date(Date.now() + 3_600_000).toISOString() });
    const { groups, ...counts } = await world.ok("GET", "/api/queue");
    expect(counts).toEqual({ groups_total: 2, total: 3, delayed: 1 });
    expect(groups).toEqual([
      {
        provider: "openai",
        model: null,
        tags: ["gpu"],
        api: null,
        excluded_providers: [],
        count: 2,
        oldest_at: oldest.created_at,
        waiting_since: oldest.created_at,
        reason: "no worker is registered",
        capacity: "no_worker",
        priority_max: "low",
        flows: [expect.objectContaining({ priority: "low", waiting: 2, share: 1 })],
        flows_total: 1,
      },
      expect.objectContaining({ provider: "openai", model: "gpt", tags: [], count: 1 }),
    ]);
    await present(world, "w", { provider: "openai" });
    const after = await world.ok("GET", "/api/queue");
    expect(after.groups).toEqual([expect.objectContaining({ tags: ["gpu"], reason: 'no worker offers tag "gpu"' })]);
    await world.ok("POST", "/killswitch", { level: 1, reason: "drill" });
    const halted = await world.ok("GET", "/api/queue");
    expect(halted.groups.map((group: Body) => group.reason)).toEqual(["killswitch level 1", "killswitch level 1"]);
    expect(halted.groups.map((group: Body) => group.capacity)).toEqual([null, null]);
  });
});

describe("a group's age", () => {
  test("is that of its oldest job, whatever the priorities", async () => {
    const world = await newWorld();
    const oldest = await create(world, { priority: "low" });
    await expect.poll(() => Date.now()).toBeGreaterThan(Date.parse(oldest.created_at) + 1);
    const urgent = await create(world, { priority: "critical" });
    const oldestAt = async () => (await world.ok("GET", "/api/queue")).groups[0].oldest_at;
    expect(await oldestAt()).toBe(oldest.created_at);
    await world.ok("POST", `/api/jobs/${oldest.id}/cancel`);
    expect(await oldestAt()).toBe(urgent.created_at);
  });
});

describe("failures", () => {
  test("are counted by error and who ran it, beside the span before", async () => {
    const world = await newWorld();
    await present(world, "w", { provider: "openai" });
    const earlier = await failWith(world, "overflow", { model: "gpt" });
    const sinceAt = Date.parse(earlier.finished_at) + 1;
    await expect.poll(() => Date.now()).toBeGreaterThan(sinceAt);
    await failWith(world, "overflow", { model: "gpt" });
    const last = await failWith(world, "overflow", { model: "gpt" });
    const other = await failWith(world, "refused");
    const span = { since: new Date(sinceAt).toISOString(), until: new Date(sinceAt + 60_000).toISOString() };
    const { failures } = await world.ok("GET", `/api/failures?${new URLSearchParams(span)}`);
    expect(failures).toEqual([
      {
        code: "overflow",
        provider: "openai",
        model: "gpt",
        count: 2,
        previous_count: 1,
        last_at: last.finished_at,
        message: "it said overflow",
        job_id: last.id,
        batch: null,
        retryable: true,
      },
      expect.objectContaining({ code: "refused", model: null, count: 1, previous_count: 0, job_id: other.id }),
    ]);
    const lastHour = await world.ok("GET", "/api/failures");
    expect(lastHour.failures[0]).toMatchObject({ code: "overflow", count: 3, previous_count: 0 });
    const empty = await newWorld();
    expect((await empty.ok("GET", "/api/failures")).failures).toEqual([]);
  });

  test("say whether a retry can change any of them, and whose line the last one is", async () => {
    const world = await newWorld();
    await present(world, "w", { provider: "openai" });
    const asked = [await failWith(world, "own"), await failWith(world, "line"), await failWith(world, "mixed")];
    await failWith(world, "mixed");
    await world.ok("GET", "/api/jobs");
    for (const { id } of asked)
      await env.DB.prepare(
        `UPDATE jobs SET record = json_set(record, '$.api', 'embeddings', '$.batch', IIF(error_code = 'line', 'batch_1', NULL))
         WHERE tenant = ?1 AND id = ?2`,
      )
        .bind(world.tenant, id)
        .run();
    const { failures } = await world.ok("GET", "/api/failures");
    const kinds = failures.map(({ code, retryable, batch }: Body) => [code, retryable, batch]);
    expect(kinds.toSorted()).toEqual([
      ["line", false, "batch_1"],
      ["mixed", true, null],
      ["own", false, null],
    ]);
    const asks = { action: "retry", filter: { status: "failed" } };
    const told = await world.ok("POST", "/api/jobs/bulk", { ...asks, dry_run: true });
    expect(told).toEqual({ matched: 4, changed: 0, refused: { job_state: 3 }, remaining: 1 });
    const report = await world.ok("POST", "/api/jobs/bulk", asks);
    expect(report).toEqual({ matched: 4, changed: 1, refused: { job_state: 3 }, remaining: 0 });
  });

  test("are of at most 92 days", async () => {
    const world = await newWorld();
    for (const span of [
      "since=2026-01-01T00:00:00Z&until=2026-06-01T00:00:00Z",
      "since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:00Z",
    ]) {
      expect((await world.get(`/api/failures?${span}`)).status).toBe(400);
    }
  });
});

describe("a job's attempts", () => {
  test("have no usage where a worker told what one cost and nothing else", async () => {
    const world = await newWorld();
    await present(world, "w", { provider: "openai" });
    const { id, lease } = await dispatch(world, {});
    await world.ok("POST", `/api/jobs/${id}/complete`, { lease, result: "ok", cost_usd: 0.25 });
    const { attempts } = await world.ok("GET", `/api/jobs/${id}/attempts`);
    expect(attempts).toMatchObject([{ usage: null, cost_usd: 0.25, price_source: "reported" }]);
  });

  test("say who had it, how it ended and what it cost", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", {
      providers: { openai: { rate_limit: { max_retries: 1, retry_after_seconds: 0 } } },
    });
    await present(world, "w", { provider: "openai" });
    const job = await dispatch(world, { model: "gpt" });
    await world.ok("POST", `/api/jobs/${job.id}/release`, { lease: 1, reason: "not now" });
    await expect.poll(async () => (await world.ok("GET", `/api/jobs/${job.id}`)).lease).toBe(2);
    await start(world, { ...job, lease: 2 });
    const usage = { input_tokens: 3, output_tokens: 4 };
    const done = await world.ok("POST", `/api/jobs/${job.id}/complete`, {
      lease: 2,
      result: "ok",
      usage,
      cost_usd: 0.25,
      model: "gpt-mini",
    });
    const { attempts } = await world.ok("GET", `/api/jobs/${job.id}/attempts`);
    expect(attempts).toEqual([
      {
        lease: 1,
        worker: "w",
        provider: "openai",
        model: "gpt",
        assigned_at: expect.any(String),
        started_at: null,
        first_token_at: null,
        finished_at: expect.any(String),
        outcome: "released",
        error: null,
        usage: null,
        cost_usd: null,
        price_source: null,
      },
      {
        lease: 2,
        worker: "w",
        provider: "openai",
        model: "gpt-mini",
        assigned_at: done.assigned_at,
        started_at: done.started_at,
        first_token_at: null,
        finished_at: done.finished_at,
        outcome: "completed",
        error: null,
        usage,
        cost_usd: 0.25,
        price_source: "reported",
      },
    ]);
  });

  test("tell what went wrong, and are none of a job that never had a worker", async () => {
    const world = await newWorld();
    const waiting = await create(world);
    expect(await world.ok("GET", `/api/jobs/${waiting.id}/attempts`)).toEqual({ attempts: [] });
    await present(world, "w", { provider: "openai" });
    const failed = await failWith(world, "overflow");
    const { attempts } = await world.ok("GET", `/api/jobs/${failed.id}/attempts`);
    expect(attempts).toMatchObject([
      { outcome: "failed", error: { code: "overflow", message: "it said overflow", retryable: false } },
    ]);
    const running = await dispatch(world);
    expect((await world.ok("GET", `/api/jobs/${running.id}/attempts`)).attempts).toMatchObject([
      { lease: 1, outcome: null, finished_at: null },
    ]);
    expect((await world.get(`/api/jobs/${crypto.randomUUID()}/attempts`)).status).toBe(404);
  });
});

test("what failed is counted in the index of failures alone, kind by kind, and not job by job", async () => {
  const { results } = await env.DB.prepare(`EXPLAIN QUERY PLAN ${FAILURES}`)
    .bind("any", 0, 1, 2)
    .all<{ detail: string }>();
  const searches = results.map(({ detail }) => detail).filter((detail) => detail.includes("SEARCH jobs"));
  const [first, ...others] = searches;
  expect(first).toMatch(/INDEX jobs_failed_kinds \(tenant=\?\)/);
  expect(others).toHaveLength(7);
  // What was shown of each kind last.
  const inIndex = others.filter((search) => search !== "SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)");
  expect(inIndex).toHaveLength(6);
  for (const search of inIndex) expect(search).toMatch(/INDEX jobs_failed_kinds \(tenant=\? AND <expr>[=>]\?/);
});

describe("a bulk change", () => {
  let world: World;

  beforeAll(async () => {
    world = await newWorld();
    await present(world, "w", { provider: "openai", tags: "r" });
  });

  const bulk = (body: Record<string, unknown>, headers: Record<string, string> = {}) =>
    world.post("/api/jobs/bulk", body, { headers });
  const statusOf = async ({ id }: Body): Promise<string> => (await world.ok("GET", `/api/jobs/${id}`)).status;

  test("retries what failed, wherever its jobs are by now, and says what it could not retry", async () => {
    const failed = [await failWith(world, "a", { tags: ["r"] }), await failWith(world, "b", { tags: ["r"] })];
    await leave(world, [failed[0]?.id]);
    const waiting = await create(world, { tags: ["r", "nobody"] });
    await world.ok("POST", "/api/workers/w/pause", {});
    const { status, body } = await bulk({ action: "retry", filter: { tag: "r" }, expected: 3 });
    expect({ status, body }).toEqual({
      status: 200,
      body: { matched: 3, changed: 2, refused: { job_state: 1 }, remaining: 0 },
    });
    for (const job of [...failed, waiting]) expect(await statusOf(job)).toBe("pending");
    expect((await world.ok("GET", `/api/jobs/${failed[0]?.id}`)).prompt).toBe("x");
    const { entries } = await world.ok("GET", "/api/audit?limit=1");
    expect(entries[0]).toMatchObject({ action: "jobs.bulk_retry", detail: { filter: { tag: "r" }, changed: 2 } });
  });

  test("cancels by any filter of the list", async () => {
    const mine = await create(world, { metadata: { team: "blue" } });
    const other = await create(world, { metadata: { team: "red" } });
    const { body } = await bulk({ action: "cancel", filter: { "metadata.team": "blue", status: "pending" } });
    expect(body).toEqual({ matched: 1, changed: 1, refused: {}, remaining: 0 });
    expect([await statusOf(mine), await statusOf(other)]).toEqual(["cancelled", "pending"]);
  });

  test("changes nothing where another number matches than was expected", async () => {
    const job = await create(world, { tags: ["counted"] });
    const refused = await bulk({ action: "cancel", filter: { tag: "counted" }, expected: 2 });
    expect([refused.status, refused.body.code]).toEqual([409, "count_changed"]);
    expect(await statusOf(job)).toBe("pending");
  });

  test("takes the oldest thousand, and says how many are left", async () => {
    for (let batch = 0; batch < 3; batch += 1) {
      const jobs = Array.from({ length: 334 }, () => ({ prompt: "x", tags: ["many"] }));
      await world.ok("POST", "/api/jobs/batch", { jobs });
    }
    const first = await bulk({ action: "cancel", filter: { tag: "many" } });
    expect(first.body).toEqual({ matched: 1002, changed: 1000, refused: {}, remaining: 2 });
    const left = await world.ok("GET", "/api/jobs?tag=many&status=pending&sort=created_at");
    const newest = await world.ok("GET", "/api/jobs?tag=many&limit=2");
    expect(left.jobs.map((job: Body) => job.id)).toEqual(newest.jobs.map((job: Body) => job.id));
    const second = await bulk({ action: "cancel", filter: { tag: "many" } });
    expect(second.body).toEqual({ matched: 1002, changed: 2, refused: { job_state: 1000 }, remaining: 0 });
  });

  test("is done once under an Idempotency-Key", async () => {
    await create(world, { tags: ["once"] });
    const request = { action: "cancel", filter: { tag: "once" } };
    const first = await bulk(request, { "idempotency-key": "k1" });
    await create(world, { tags: ["once"] });
    const second = await bulk(request, { "idempotency-key": "k1" });
    expect(second.body).toEqual(first.body);
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    expect((await bulk({ ...request, expected: 1 }, { "idempotency-key": "k1" })).status).toBe(422);

    await world.ok("POST", "/killswitch", { level: 4, reason: "drill" });
    expect((await bulk(request, { "idempotency-key": "k1" })).body).toEqual(first.body);
    expect((await bulk(request, { "idempotency-key": "k2" })).body.code).toBe("killswitch_active");
  });

  test("is refused to a worker's key, with an unknown filter, and at a full halt", async () => {
    const worker = await world.withKey("worker");
    const body = { action: "cancel", filter: { tag: "x" } };
    expect((await worker.post("/api/jobs/bulk", body)).status).toBe(403);
    for (const wrong of [
      { action: "cancel" },
      { ...body, filter: { tags: "x" } },
      { action: "delete", filter: {} },
      { ...body, filter: { limit: 5 } },
    ]) {
      expect((await bulk(wrong)).status, JSON.stringify(wrong)).toBe(400);
    }
    await world.ok("POST", "/killswitch", { level: 4, reason: "drill" });
    expect((await bulk(body)).body.code).toBe("killswitch_active");
  });
});
