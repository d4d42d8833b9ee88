// Lists of jobs: each filter finds exactly what it names, in the requested order, beyond any offset.

import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { type Body, newWorld, type World } from "../support/workerd/client.ts";
import { dispatch, fail, present, start } from "../support/workerd/job-steps.ts";

const create = (world: World, more: Record<string, unknown> = {}): Promise<Body> =>
  world.ok("POST", "/api/jobs", { prompt: "x", ...more });

const list = (world: World, query: Record<string, string | number> = {}): Promise<Body> =>
  world.ok("GET", `/api/jobs?${new URLSearchParams(Object.entries(query).map(([k, v]) => [k, String(v)]))}`);

const idsOf = async (world: World, query: Record<string, string | number>): Promise<string[]> =>
  (await list(world, query)).jobs.map((job: Body) => job.id);

const complete = async (world: World, job: Body, more: Record<string, unknown> = {}) =>
  world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: job.lease, result: "ok", ...more });

describe("a job's own words on it", () => {
  test("metadata comes back with the job, and finds it", async () => {
    const world = await newWorld();
    const job = await create(world, { metadata: { team: "blue", "order.no": "7" } });
    expect(job.metadata).toEqual({ team: "blue", "order.no": "7" });
    await create(world, { metadata: { team: "red" } });
    expect((await create(world)).metadata).toEqual({});
    expect(await idsOf(world, { "metadata.team": "blue" })).toEqual([job.id]);
    expect(await idsOf(world, { "metadata.order.no": "7", "metadata.team": "blue" })).toEqual([job.id]);
    expect(await idsOf(world, { "metadata.order.no": "7", "metadata.team": "red" })).toEqual([]);
  });

  test("metadata past its bounds is refused", async () => {
    const world = await newWorld();
    const many = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`n${index}`, ""]));
    for (const metadata of [many, { ["n".repeat(65)]: "" }, { n: "v".repeat(257) }, { n: 1 }, { "": "v" }]) {
      expect((await world.post("/api/jobs", { prompt: "x", metadata })).status).toBe(400);
    }
    const most = Object.fromEntries(
      Array.from({ length: 16 }, (_, index) => [`${index}`.padEnd(64, "n"), "v".repeat(256)]),
    );
    expect((await create(world, { metadata: most })).metadata).toEqual(most);
  });

  test("a job says what ran its last attempt", async () => {
    const world = await newWorld();
    await present(world, "w", { provider: "openai" });
    const job = await dispatch(world, { model: "gpt" });
    expect([job.ran_provider, job.ran_model]).toEqual([null, null]);
    const running = await start(world, job);
    expect([running.ran_provider, running.ran_model]).toEqual(["openai", "gpt"]);
    const done = await complete(world, job, { model: "gpt-2026" });
    expect([done.ran_provider, done.ran_model]).toEqual(["openai", "gpt-2026"]);
  });
});

test("a count alone has no jobs, and agrees with the list", async () => {
  const [world, other] = [await newWorld(), await newWorld()];
  for (const prompt of ["minutes", "the minutes", "minutest", "hours"]) await create(world, { prompt });
  await create(other, { prompt: "minutes" });
  for (const [q, total] of [
    ["minutes", 3],
    ["hour", 1],
    ["days", 0],
  ] as const) {
    expect(await list(world, { q, count_only: "true" })).toMatchObject({ jobs: [], total, next_cursor: null });
    expect((await list(world, { q })).total).toBe(total);
  }
  expect((await list(world, { status: "pending", count_only: "true" })).total).toBe(4);
  expect((await world.get("/api/jobs?archived=true&count_only=true")).status).toBe(400);
});

test("a list finds the jobs whose cost is unknown, as the cost counts them", async () => {
  const world = await newWorld();
  await present(world, "w", { provider: "openai" });
  const usage = { input_tokens: 1, output_tokens: 1 };
  const unpriced = await dispatch(world, { model: "unheard-of" });
  await complete(world, unpriced, { usage });
  await complete(world, await dispatch(world, { model: "unheard-of" }), { usage, cost_usd: 1 });
  const waiting = await create(world, { tags: ["nobody"] });
  expect((await world.ok("GET", "/api/cost")).unpriced_jobs).toBe(1);
  expect(await idsOf(world, { unpriced: "true" })).toEqual([unpriced.id]);
  expect((await idsOf(world, { unpriced: "false" }))[0]).toBe(waiting.id);
  expect(await idsOf(world, { unpriced: "true", model: "gpt" })).toEqual([]);
});

test("a job with several attempts of unknown cost is listed once, in each order and page by page", async () => {
  const world = await newWorld();
  await present(world, "w", { provider: "openai", tags: "gpu" });
  const usage = { input_tokens: 1, output_tokens: 1 };
  const error = { code: "broken", message: "broke", retryable: false };
  const made: string[] = [];
  for (let index = 0; index < 3; index += 1) {
    const job = await start(world, await dispatch(world, { model: "unheard-of", tags: index === 1 ? [] : ["gpu"] }));
    made.push(job.id);
    await world.ok("POST", `/api/jobs/${job.id}/fail`, { lease: job.lease, error, usage });
    await world.ok("POST", `/api/jobs/${job.id}/retry`, {});
    const { jobs } = await world.ok("POST", "/api/workers/w/claim", {});
    await complete(world, jobs[0], { usage });
  }
  const unpriced = "true";
  const pages = async (sort: string): Promise<string[]> => {
    const seen: string[] = [];
    for (let more: Record<string, string> = {}; more.cursor !== null; ) {
      const page = await list(world, { unpriced, sort, limit: 1, ...more });
      expect(page.total).toBe(made.length);
      seen.push(...page.jobs.map((job: Body) => job.id));
      more = { cursor: page.next_cursor };
    }
    return seen;
  };
  expect(await pages("created_at")).toEqual(made.toReversed());
  expect(await pages("-created_at")).toEqual(made);
  expect(await pages("-finished_at")).toEqual(made);
  expect(await idsOf(world, { unpriced, tag: "gpu" })).toEqual([made[2], made[0]]);
  expect(await idsOf(world, { unpriced, q: "x", offset: 1, limit: 1 })).toEqual([made[1]]);
});

test("a list finds the jobs of unknown cost by when the cost counts them, not by their creation", async () => {
  const world = await newWorld();
  await present(world, "w", { provider: "openai" });
  const job = await dispatch(world, { model: "unheard-of" });
  await expect.poll(() => Date.now()).toBeGreaterThan(Date.parse(job.created_at) + 1);
  const endedAt = new Date().toISOString();
  await complete(world, job, { usage: { input_tokens: 1, output_tokens: 1 } });
  const later = new Date(Date.now() + 60_000).toISOString();
  expect(await idsOf(world, { unpriced_since: endedAt, unpriced_until: later })).toEqual([job.id]);
  expect(await idsOf(world, { unpriced_until: endedAt })).toEqual([]);
  expect(await idsOf(world, { unpriced_since: later })).toEqual([]);
  expect(await idsOf(world, { since: endedAt })).toEqual([]);
});

describe("a list is narrowed by", () => {
  let world: World;
  let failed: Body;
  let waiting: Body;
  let done: Body;
  let keyId = "";

  beforeAll(async () => {
    world = await newWorld();
    await present(world, "w1", { provider: "openai", tags: "gpu,eu" });
    failed = await dispatch(world, { prompt: "Translate the Bücherregal", tags: ["gpu"] });
    await start(world, failed);
    await fail(world, failed, { code: "overflow", status: 413, message: "context window exceeded" });
    done = await dispatch(world, { prompt: "summarise this", model: "gpt", tags: ["gpu", "eu"] });
    await complete(world, done, { model: "gpt-mini", cost_usd: 0.5 });
    const other = await world.withKey("standard");
    keyId = other.keyId;
    waiting = await other.ok("POST", "/api/jobs", { prompt: "translate that", provider: "mistral", tags: ["eu"] });
  });

  const cases: [string, () => Record<string, string>, () => Body[]][] = [
    ["status", () => ({ status: "failed" }), () => [failed]],
    ["the provider that was asked for", () => ({ provider: "mistral" }), () => [waiting]],
    ["the provider that ran it", () => ({ provider: "openai" }), () => [done, failed]],
    ["what ran it alone", () => ({ ran_provider: "mistral" }), () => []],
    ["what ran it, and a status", () => ({ ran_provider: "openai", status: "failed" }), () => [failed]],
    ["a tag, and since the second job", () => ({ tag: "gpu", since: done.created_at }), () => [done]],
    ["a tag, and until the second job", () => ({ tag: "gpu", until: done.created_at }), () => [failed]],
    ["a tag, and since the far future", () => ({ tag: "gpu", since: "2999-01-01T00:00:00Z" }), () => []],
    ["a tag, dearest first", () => ({ tag: "gpu", sort: "cost_usd" }), () => [done, failed]],
    ["a tag, the first that ended first", () => ({ tag: "gpu", sort: "-finished_at" }), () => [failed, done]],
    ["what only looks like the index's own terms", () => ({ q: "\u00a7 status completed" }), () => []],
    ["the model that was asked for", () => ({ model: "gpt" }), () => [done]],
    ["the model that ran it", () => ({ model: "gpt-mini" }), () => [done]],
    ["tag", () => ({ tag: "eu" }), () => [waiting, done]],
    ["tag and provider", () => ({ tag: "eu", provider: "openai" }), () => [done]],
    ["worker", () => ({ worker: "w1" }), () => [done, failed]],
    ["key", () => ({ key: keyId }), () => [waiting]],
    ["error code", () => ({ error_code: "overflow" }), () => [failed]],
    ["the HTTP status of the error", () => ({ error_code: "413", status: "failed" }), () => [failed]],
    ["an HTTP status that none has", () => ({ error_code: "500" }), () => []],
    ["since", () => ({ since: waiting.created_at }), () => [waiting]],
    ["until", () => ({ until: done.created_at }), () => [failed]],
    ["an id's beginning", () => ({ q: done.id.slice(0, 30) }), () => [done]],
    ["a whole id", () => ({ q: waiting.id }), () => [waiting]],
    ["a word of the prompt, in any case", () => ({ q: "TRANSLATE" }), () => [waiting, failed]],
    ["a word's beginning, without its accents", () => ({ q: "bucher" }), () => [failed]],
    ["words of the error", () => ({ q: "window exceeded" }), () => [failed]],
    ["words of prompt and error together", () => ({ q: "translate exceeded" }), () => [failed]],
    ["the error's code", () => ({ q: " overflow " }), () => [failed]],
    ["the beginning of the error's code alone", () => ({ q: "over" }), () => []],
    ["words and a status", () => ({ q: "translate", status: "pending" }), () => [waiting]],
    ["nothing that is a word", () => ({ q: '"*)(' }), () => []],
  ];

  test.each(cases)("%s", async (_what, query, expected) => {
    const { jobs, total, total_is_capped, next_cursor } = await list(world, query());
    expect(jobs.map((job: Body) => job.id)).toEqual(expected().map((job) => job.id));
    expect({ total, total_is_capped, next_cursor }).toEqual({
      total: expected().length,
      total_is_capped: false,
      next_cursor: null,
    });
  });

  test("nothing of another tenant", async () => {
    const stranger = await newWorld();
    expect(await idsOf(stranger, { q: "translate" })).toEqual([]);
    expect(await idsOf(stranger, { q: done.id })).toEqual([]);
    expect(await idsOf(stranger, { tag: "eu" })).toEqual([]);
  });

  test("what a job is, not what it was", async () => {
    const job = await create(world, { prompt: "to be changed", tags: ["before"] });
    expect(await idsOf(world, { tag: "before" })).toEqual([job.id]);
    await world.ok("PATCH", `/api/jobs/${job.id}`, { tags: ["after"] });
    expect(await idsOf(world, { tag: "before" })).toEqual([]);
    expect(await idsOf(world, { tag: "after" })).toEqual([job.id]);
    await world.ok("POST", `/api/jobs/${failed.id}/retry`);
    expect(await idsOf(world, { q: "exceeded" })).toEqual([]);
    expect(await idsOf(world, { q: "bücherregal" })).toEqual([failed.id]);
  });

  test("the beginnings of few words and of many, also in one search", async () => {
    const numbered = (from: number): string => Array.from({ length: 300 }, (_, index) => `zq${from + index}`).join(" ");
    const [one, other] = [
      await create(world, { prompt: numbered(100) }),
      await create(world, { prompt: numbered(400) }),
    ];
    expect(await idsOf(world, { q: "zq" })).toEqual([other.id, one.id]);
    expect(await idsOf(world, { q: "zq1" })).toEqual([one.id]);
    expect(await idsOf(world, { q: "zq2 zq3 zq1 zq zq399" })).toEqual([one.id]);
    expect(await idsOf(world, { q: "zq2 zq4" })).toEqual([]);
    expect(await idsOf(world, { q: "zq8" })).toEqual([]);
  });

  test("no filter that it does not know", async () => {
    const refused = await world.get("/api/jobs?metdata.team=blue");
    expect(refused.status).toBe(400);
    expect(refused.body.detail).toContain("metdata.team");
    expect((await world.get(`/api/jobs?q=${"x".repeat(201)}`)).status).toBe(400);
    expect((await world.get(`/api/jobs?q=${encodeURIComponent("ᦰa 𞊐b %_' \" NEAR( a* -b OR")}`)).status).toBe(200);
  });
});

describe("a list is sorted by", () => {
  let world: World;
  const jobs: Body[] = [];

  beforeAll(async () => {
    world = await newWorld();
    await present(world, "w");
    for (const cost of [0.2, 0.3, 0.1]) {
      const job = await dispatch(world);
      await complete(world, job, { cost_usd: cost });
      jobs.push(job);
    }
    jobs.push(await create(world, { provider: "nobody" }));
    jobs.push(await create(world, { provider: "nobody" }));
  });

  const cases: [string, number[]][] = [
    ["created_at", [4, 3, 2, 1, 0]],
    ["-created_at", [0, 1, 2, 3, 4]],
    ["finished_at", [2, 1, 0, 4, 3]],
    ["-finished_at", [0, 1, 2, 3, 4]],
    ["cost_usd", [1, 0, 2, 4, 3]],
    ["-cost_usd", [2, 0, 1, 3, 4]],
  ];

  test.each(cases)("%s, at once and page by page", async (sort, order) => {
    const expected = order.map((index) => jobs[index]?.id);
    expect(await idsOf(world, { sort })).toEqual(expected);
    for (const limit of [1, 2, 3]) {
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page: Body = await list(world, { sort, limit, ...(cursor === null ? {} : { cursor }) });
        expect(page.total).toBe(5);
        seen.push(...page.jobs.map((job: Body) => job.id));
        cursor = page.next_cursor;
      } while (cursor !== null);
      expect(seen, `limit ${limit}`).toEqual(expected);
    }
  });

  test("a cursor of another list, or of none, is refused", async () => {
    const { next_cursor } = await list(world, { limit: 1 });
    expect((await world.get(`/api/jobs?sort=cost_usd&cursor=${next_cursor}`)).status).toBe(400);
    for (const cursor of ["", "x", btoa("[1,2]"), btoa('["created_at","1","a"]')]) {
      expect((await world.get(`/api/jobs?cursor=${encodeURIComponent(cursor)}`)).status).toBe(400);
    }
    expect((await world.get(`/api/jobs?offset=1&cursor=${next_cursor}`)).status).toBe(400);
  });
});

test("counting stops at ten thousand, and the cursor goes on", async () => {
  const world = await newWorld();
  const job = await create(world);
  await list(world);
  await env.DB.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10050)
     INSERT INTO jobs (tenant, id, version, status, labels, created_at, record)
     SELECT tenant, 'a' || substr('00000' || i, -5), 1, 'pending', '[["tag","old"]]', i, record FROM jobs, n
     WHERE tenant = ?1 AND id = ?2`,
  )
    .bind(world.tenant, job.id)
    .run();
  await env.DB.prepare(
    "INSERT INTO payloads (tenant, job_id, prompt, input) SELECT tenant, id, 'x', 'null' FROM jobs WHERE tenant = ?1 AND id <> ?2",
  )
    .bind(world.tenant, job.id)
    .run();
  expect(await list(world, { limit: 1 })).toMatchObject({ total: 10_000, total_is_capped: true });
  expect(await list(world, { tag: "old", limit: 1 })).toMatchObject({ total: 10_000, total_is_capped: true });
  let cursor: string | null = (await list(world, { limit: 50, offset: 10_000 })).next_cursor;
  expect(cursor).not.toBeNull();
  const page: Body = await list(world, { limit: 50, cursor: cursor ?? "" });
  expect(page.jobs).toHaveLength(1);
  cursor = page.next_cursor;
  expect(cursor).toBeNull();
});

test("of more than can be counted, a page in another order has the jobs of the filter alone", async () => {
  const world = await newWorld();
  const job = await create(world, { tags: ["many"] });
  const other = await create(world, { tags: ["few"] });
  await list(world);
  await env.DB.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10050)
     INSERT INTO jobs (tenant, id, version, status, labels, created_at, finished_at, record, prompt, input)
     SELECT tenant, 'b' || substr('00000' || i, -5), 1, 'completed', labels, created_at, created_at + i, record, 'x', 'null'
     FROM jobs, n WHERE tenant = ?1 AND id = ?2`,
  )
    .bind(world.tenant, job.id)
    .run();
  const newest = (await list(world, { tag: "many", sort: "finished_at", limit: 2 })) as Body;
  expect(newest.jobs.map((one: Body) => one.id)).toEqual(["b10050", "b10049"]);
  expect(newest.total_is_capped).toBe(true);
  const next = (await list(world, { tag: "many", sort: "finished_at", limit: 1, cursor: newest.next_cursor })) as Body;
  expect(next.jobs.map((one: Body) => one.id)).toEqual(["b10048"]);
  const all = (await list(world, { tag: "few", sort: "finished_at" })) as Body;
  expect(all.jobs.map((one: Body) => one.id)).toEqual([other.id]);
});

test("long texts are read as they were sent, in a list up to its limit and whole alone", async () => {
  const world = await newWorld();
  await present(world, "w", {});
  const prompt = `${"a🙂".repeat(1_400)}z`.repeat(3);
  const input = { messages: [{ role: "user", content: "i".repeat(3_000) }] };
  const result = { text: "r".repeat(5_000) };
  const job = await dispatch(world, { prompt, input });
  await complete(world, job, { result });
  const listed = ((await list(world)) as Body).jobs[0];
  expect([listed.prompt === prompt, listed.input, listed.result]).toEqual([true, input, result]);
  const cut = ((await list(world, { max_chars: "4200" })) as Body).jobs[0];
  expect([cut.prompt, cut.truncated]).toEqual([[...prompt].slice(0, 4_200).join(""), ["prompt", "result"]]);
  const row = (await env.DB.prepare("SELECT * FROM jobs WHERE id = ?").bind(job.id).first()) as Body;
  expect([row.prompt.length <= 4_096, row.input, row.result]).toEqual([true, null, null]);
});
