// The limits of a key on tokens and on waiting jobs, and the limits of each person that it is used for.

import { expect, it } from "vitest";
import { MAX_USERS_A_KEY } from "../../../durable-objects/steps/key-limits.ts";
import { type Client, restart } from "../../support/workerd/client.ts";
import { CHAT, chat, fakeWorker, post as postDoor } from "../../support/workerd/fake-worker.ts";
import { present, useOwnTenant, world } from "../../support/workerd/own-tenant.ts";
import { copyRow } from "../../support/workerd/rows.ts";

useOwnTenant();

const limitedKey = async (limits: object): Promise<Client & { readonly keyId: string }> => {
  const key = await world.withKey("standard");
  const changed = await world.ok("PATCH", `/api/keys/${key.keyId}`, { limits });
  expect(changed.limits).toEqual(limits);
  return key;
};

const post = async (key: Client, more: object = {}) => {
  const { status, body, headers } = await key.post("/api/jobs", { prompt: "hello", ...more });
  return { status, code: body.code, detail: body.detail, after: Number(headers.get("retry-after")) };
};

const finishOne = async (outputTokens: number): Promise<void> => {
  const { jobs } = await world.ok("POST", "/api/workers/w/claim", {});
  const { id, lease } = jobs[0];
  const usage = { input_tokens: 0, output_tokens: outputTokens };
  await world.ok("POST", `/api/jobs/${id}/complete`, { lease, result: "x", usage });
};

it("tokens a minute: what was reserved is corrected when the job has ended", async () => {
  const key = await limitedKey({ tokens_per_minute: 100 });
  await present("w");
  expect((await post(key, { input: { max_tokens: 80 } })).status).toBe(201);
  const refused = await post(key, { input: { max_tokens: 80 } });
  expect(refused).toMatchObject({ status: 429, code: "rate_limit_exceeded" });
  expect(refused.detail).toMatch(/^this key may use 100 tokens a minute: 8\d are used, and this needs about 8\d$/);
  expect(refused.after).toBeGreaterThan(50);
  await finishOne(10);
  expect((await post(key, { input: { max_tokens: 80 } })).status).toBe(201);
  await finishOne(90);
  expect((await post(key)).status).toBe(429);
});

it("tokens a minute: each attempt counts, and what is reserved is given back once for each end", async () => {
  await world.ok("PUT", "/config", { jobs: { retry: { backoff_seconds: 0.1 } } });
  const key = await limitedKey({ tokens_per_minute: 400 });
  await present("w");
  const leased = async () => {
    const { jobs } = await world.ok("POST", "/api/workers/w/claim?wait=5", {});
    return jobs[0];
  };
  const usage = { input_tokens: 0, output_tokens: 100 };
  const failed = async (retryable: boolean) => {
    const { id, lease } = await leased();
    const error = { code: "x", message: "broke", retryable };
    await world.ok("POST", `/api/jobs/${id}/fail`, { lease, error, usage });
    return id;
  };
  expect((await post(key, { input: { max_tokens: 200 } })).status).toBe(201);
  await failed(true);
  const id = await failed(false);
  expect((await post(key, { input: { max_tokens: 250 } })).detail).toMatch(/: 200 are used/);
  await world.ok("POST", `/api/jobs/${id}/retry`);
  expect((await post(key)).detail).toMatch(/: 40\d are used/);
  const { lease } = await leased();
  await world.ok("POST", `/api/jobs/${id}/complete`, { lease, result: "x", usage });
  expect((await post(key, { input: { max_tokens: 150 } })).detail).toMatch(/: 300 are used/);
});

it("one request of any size passes while nothing is used", async () => {
  const key = await limitedKey({ tokens_per_minute: 10 });
  expect((await post(key, { input: { max_tokens: 5_000 } })).status).toBe(201);
  expect((await post(key)).status).toBe(429);
});

it("of several bounds of an answer the largest counts", async () => {
  const key = await limitedKey({ tokens_per_minute: 100 });
  expect((await post(key, { input: { max_tokens: 1 } })).status).toBe(201);
  const wide = await post(key, { input: { max_tokens: 1, max_output_tokens: 200, max_completion_tokens: 90 } });
  expect(wide.detail).toMatch(/and this needs about 20\d$/);
});

it("a request of an enormous answer erases nothing of what is used", async () => {
  const key = await limitedKey({ tokens_per_minute: 10 });
  await present("w");
  expect((await post(key, { input: { max_tokens: 1e300 } })).status).toBe(201);
  await finishOne(5_000);
  expect((await post(key)).detail).toMatch(/: 5000 are used/);
});

it("no more jobs wait than its key may have waiting, before and after a restart", async () => {
  const key = await limitedKey({ max_waiting: 1 });
  for (const expected of [201, 429]) expect((await post(key)).status).toBe(expected);
  await restart(world);
  const refused = await post(key);
  expect(refused).toMatchObject({ status: 429, detail: "this key may have 1 job waiting, and has 1" });
  expect(refused.after).toBe(1);
  await present("w");
  expect((await post(key)).status).toBe(201);
  expect((await world.post("/api/jobs", { prompt: "another key's" })).status).toBe(201);
});

it("a dispatch, which does not wait, is no waiting job; one that is queued is", async () => {
  const key = await limitedKey({ max_waiting: 1 });
  expect((await post(key, { tags: ["none-has"] })).status).toBe(201);
  await present("w", { tags: "gpu" });
  const dispatch = async (path: string, tag: string): Promise<number> =>
    (await key.post(path, { prompt: "x", tags: [tag] })).status;
  expect(await dispatch("/dispatch", "gpu")).toBe(200);
  expect(await dispatch("/dispatch", "other")).toBe(503);
  expect(await dispatch("/dispatch?queue=true", "other")).toBe(429);
});

it("a request at the front door that a worker has room for is no waiting job; one that waits is", async () => {
  const key = await limitedKey({ max_waiting: 1 });
  const worker = await fakeWorker(world, { concurrency: 1 });
  expect((await post(key, { tags: ["none-has"] })).status).toBe(201);
  const [small, large] = ["hi", "x".repeat(1_100_000)].map((content) =>
    chat({ messages: [{ role: "user", content }] }),
  );
  for (const body of [small, large]) {
    const asking = postDoor(key.key ?? "", CHAT, body);
    const job = await worker.nextJob();
    const waits = await postDoor(key.key ?? "", CHAT, body);
    expect([waits.status, JSON.parse(await waits.whole).error.code]).toEqual([429, "rate_limit_exceeded"]);
    worker.complete(job, {});
    expect((await asking).status).toBe(200);
  }
});

it("a limit of money counts what the key has cost before it was given", async () => {
  const key = await world.withKey("standard");
  await present("w", { provider: "openai" });
  expect((await post(key)).status).toBe(201);
  const { jobs } = await world.ok("POST", "/api/workers/w/claim", {});
  await world.ok("POST", `/api/jobs/${jobs[0].id}/complete`, { lease: jobs[0].lease, result: "x", cost_usd: 2 });
  for (const limits of [{ day_usd: 1.5 }, { month_usd: 2 }]) {
    await world.ok("PATCH", `/api/keys/${key.keyId}`, { limits });
    expect(await post(key)).toMatchObject({ status: 429, code: "insufficient_quota" });
  }
  await world.ok("PATCH", `/api/keys/${key.keyId}`, { limits: { day_usd: 2.5, month_usd: 2.5 } });
  expect((await post(key)).status).toBe(201);
});

it("each person of a key has limits of their own", async () => {
  const key = await limitedKey({ per_user: { requests_per_minute: 2, concurrent: 1 } });
  const ann = { fairness_key: "ann" };
  expect((await post(key, ann)).status).toBe(201);
  expect(await post(key, ann)).toMatchObject({
    status: 429,
    detail: 'user "ann" of this key may make 1 request at a time',
  });
  await restart(world);
  expect((await post(key, ann)).status).toBe(429);
  expect((await post(key, { fairness_key: "bob" })).status).toBe(201);
  for (let times = 0; times < 4; times += 1) expect((await post(key)).status).toBe(201);
  await present("w");
  await finishOne(1);
  expect((await post(key, ann)).status).toBe(201);
  await finishOne(1);
  await finishOne(1);
  const often = await post(key, ann);
  expect(often).toMatchObject({ status: 429, detail: 'user "ann" of this key may make 2 requests a minute' });
});

it("a limit that is given later counts what is open already", async () => {
  const key = await world.withKey("standard");
  for (const user of ["ann", "ann", "bob"]) await post(key, { fairness_key: user });
  await world.ok("PATCH", `/api/keys/${key.keyId}`, { limits: { max_waiting: 4, per_user: { concurrent: 2 } } });
  expect((await post(key, { fairness_key: "ann" })).status).toBe(429);
  expect((await post(key, { fairness_key: "bob" })).status).toBe(201);
  expect((await post(key)).status).toBe(429);
  await world.ok("PATCH", `/api/keys/${key.keyId}`, { limits: null });
  expect((await post(key, { fairness_key: "ann" })).status).toBe(201);
});

it("a person's money of a day ends", async () => {
  const key = await limitedKey({ per_user: { day_usd: 1 } });
  await present("w");
  await post(key, { fairness_key: "ann" });
  const { jobs } = await world.ok("POST", "/api/workers/w/claim", {});
  const { id, lease } = jobs[0];
  await world.ok("POST", `/api/jobs/${id}/complete`, { lease, result: "x", cost_usd: 1.5 });
  expect(await post(key, { fairness_key: "ann" })).toMatchObject({
    status: 429,
    code: "insufficient_quota",
    detail: expect.stringMatching(
      /has spent 1\.5 of the 1 USD that it may spend a day; it resets at .+T00:00:00\.000Z$/,
    ),
  });
  expect((await post(key, { fairness_key: "bob" })).status).toBe(201);
});

it("hold for a job that is tried again, too: money, models, a person's money, what is open", async () => {
  await present("w");
  const failed = async (key: Client, more: object = {}): Promise<string> => {
    await post(key, more);
    const { jobs } = await world.ok("POST", "/api/workers/w/claim", {});
    const { id, lease } = jobs[0];
    await world.ok("POST", `/api/jobs/${id}/fail`, { lease, error: { code: "x", message: "broke" }, cost_usd: 1.5 });
    return id;
  };
  const retry = async (key: Client, id: string) => {
    const { status, body } = await key.post(`/api/jobs/${id}/retry`);
    return [status, body.code ?? body.status];
  };
  const poor = await limitedKey({ day_usd: 1 });
  const id = await failed(poor);
  expect(await retry(poor, id)).toEqual([429, "insufficient_quota"]);
  const bulk = { action: "retry", filter: { key: poor.keyId } };
  expect((await poor.post("/api/jobs/bulk", bulk)).body).toMatchObject({
    changed: 0,
    refused: { insufficient_quota: 1 },
  });
  const narrow = await limitedKey({ models: ["m*"] });
  expect(await retry(narrow, id)).toEqual([403, "forbidden"]);
  const shared = await limitedKey({ per_user: { day_usd: 1 } });
  const anns = await failed(shared, { fairness_key: "ann" });
  expect(await retry(shared, anns)).toEqual([429, "insufficient_quota"]);
  const busy = await limitedKey({ concurrent: 1 });
  const first = await failed(busy);
  await post(busy, { run_at: "2999-01-01T00:00:00Z" });
  expect(await retry(busy, first)).toEqual([429, "rate_limit_exceeded"]);
  const rare = await limitedKey({ requests_per_minute: 2 });
  const again = await failed(rare);
  expect(await retry(rare, again)).toEqual([200, expect.any(String)]);
  expect(await retry(rare, first)).toEqual([429, "rate_limit_exceeded"]);
  expect((await world.post(`/api/jobs/${again}/cancel`)).status).toBe(200);
  const free = await world.withKey("standard");
  expect(await retry(free, id)).toEqual([200, expect.stringMatching(/pending|assigned/)]);
  const local = await limitedKey({ edge: false });
  expect((await local.post(`/api/jobs/${first}/retry`)).body).toMatchObject({ edge: false });
  expect((await world.ok("GET", `/api/jobs/${id}`)).edge).toBe(true);
});

it("the front door tells the tokens that are left, and counts for the person that the request names", async () => {
  const made = await world.ok("POST", "/api/keys", {
    name: "client",
    role: "client",
    limits: { tokens_per_minute: 1_000, per_user: { tokens_per_minute: 300 } },
  });
  const worker = await fakeWorker(world);
  const asking = postDoor(made.key, CHAT, chat({ user: "ann", max_tokens: 200 }));
  const job = await worker.nextJob();
  worker.complete(job, {}, { usage: { input_tokens: 10, output_tokens: 240 } });
  const { headers } = await asking;
  expect(headers.get("x-ratelimit-limit-tokens")).toBe("300");
  expect(Number(headers.get("x-ratelimit-remaining-tokens"))).toBeLessThan(100);
  expect(headers.get("x-ratelimit-reset-tokens")).toMatch(/^\d+s$/);
  expect((await world.ok("GET", `/api/jobs/${job.id}`)).fairness_key).toBe("ann");
  const over = await postDoor(made.key, CHAT, chat({ safety_identifier: "ann", max_tokens: 60 }));
  expect([over.status, over.headers.get("x-ratelimit-remaining-tokens")]).toEqual([429, "0"]);
  expect(JSON.parse(await over.whole).error.message).toContain('user "ann" of this key may use 300 tokens a minute');
  const other = postDoor(made.key, CHAT, chat({ user: "ann", max_tokens: 60 }), { "x-signalbox-user": "bob" });
  worker.complete(await worker.nextJob(), {});
  expect((await other).status).toBe(200);
});

it("reserves something for a body that is stored outside, and gives it back", async () => {
  const limits = { tokens_per_minute: 1_500 };
  const made = await world.ok("POST", "/api/keys", { name: "client", role: "client", limits });
  const worker = await fakeWorker(world);
  const large = chat({ pad: "x".repeat(1_100_000) });
  const asking = postDoor(made.key, CHAT, large);
  const job = await worker.nextJob();
  const refused = await postDoor(made.key, CHAT, large);
  expect(JSON.parse(await refused.whole).error.message).toMatch(/: 10\d\d are used, and this needs about 10\d\d$/);
  worker.complete(job, {}, { usage: { input_tokens: 10, output_tokens: 240 } });
  expect((await asking).status).toBe(200);
  const next = postDoor(made.key, CHAT, large);
  worker.complete(await worker.nextJob(), {});
  expect((await next).status).toBe(200);
});

it("has a count for 10,000 people a minute and no more", async () => {
  const key = await limitedKey({ per_user: { requests_per_minute: 1 } });
  await post(key, { fairness_key: "first" });
  await copyRow(world, "key_windows", MAX_USERS_A_KEY - 2, { key_id: `'${key.keyId}/u' || i` });
  expect((await post(key, { fairness_key: "last" })).status).toBe(201);
  expect(await post(key, { fairness_key: "one more" })).toMatchObject({
    status: 429,
    detail: "this key may be used for 10000 users a minute",
  });
  expect((await post(key)).status).toBe(201);
});
