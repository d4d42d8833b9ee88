// Section 3 of the contract: jobs from creation to end, as their owner sees them.

import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { Job } from "../../domain/job/job.ts";
import { ARCHIVED_COLUMNS, type ArchivedRow, readArchived } from "../../domain/job/job-record.ts";
import { signingSecret } from "../../src/http/auth.ts";
import { read as readToken, type TokenFacts } from "../../src/http/key-format.ts";
import { callTenant } from "../../src/tenant/tenant.ts";
import { type Body, newWorld, type World } from "../support/workerd/client.ts";
import { sendAway } from "../support/workerd/job-steps.ts";
import { create, present, read, useOwnTenant, world } from "../support/workerd/own-tenant.ts";

useOwnTenant();

const tokenOf = async ({ key }: World): Promise<TokenFacts> => {
  const token = await readToken(signingSecret(env), key ?? "");
  if (token === null) throw new Error("the key is no token");
  return token;
};

/** The record in history. */
const recordOf = async (id: string): Promise<Job> => {
  const row = await env.DB.prepare(`SELECT ${ARCHIVED_COLUMNS} FROM jobs WHERE id = ?`).bind(id).first<ArchivedRow>();
  return readArchived(row as ArchivedRow);
};

describe("a job", () => {
  it("is answered as created: pending, with every field and why it waits", async () => {
    const { status, body } = await world.post("/api/jobs", {
      prompt: "hello",
      input: { a: [1, null] },
      provider: "openai",
      model: "gpt",
      priority: "high",
      tier: "premium",
      tags: ["gpu", "eu", "gpu"],
      timeout_seconds: 1.5,
      max_attempts: 2,
    });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      status: "pending",
      prompt: "hello",
      input: { a: [1, null] },
      provider: "openai",
      model: "gpt",
      priority: "high",
      tier: "premium",
      tags: ["gpu", "eu"],
      assigned_worker: null,
      lease: 0,
      attempts: 0,
      result: null,
      result_file: null,
      result_bytes: null,
      files: [],
      result_files: [],
      error: null,
      progress: null,
      usage: null,
      cost_usd: null,
      ran_provider: null,
      ran_model: null,
      metadata: {},
      api: null,
      batch: null,
      custom_id: null,
      created_by: { key_id: expect.any(String), name: "first admin key", person_id: null },
      stream: false,
      first_token_at: null,
      edge: true,
      fairness_key: null,
      requested_model: null,
      tried: [],
      schedule: null,
      traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/),
      timeout_seconds: 1.5,
      max_attempts: 2,
      waiting_reason: "no worker is registered",
      run_at: null,
      created_at: expect.any(String),
      assigned_at: null,
      started_at: null,
      finished_at: null,
      updated_at: body.created_at,
    });
    expect(await read(body.id)).toEqual(body);
    expect((await create({ urgency: "critical" })).priority).toBe("critical");
    expect((await create()).priority).toBe("normal");
  });

  it("is answered as pending even where a worker takes it at once", async () => {
    await present("w1");
    const job = await create();
    expect(job).toMatchObject({ status: "pending", assigned_worker: null, lease: 0 });
    expect(await read(job.id)).toMatchObject({
      status: "assigned",
      assigned_worker: "w1",
      lease: 1,
      waiting_reason: null,
    });
  });

  it("stays pending while no worker matches, says why, and is taken as soon as one comes", async () => {
    await present("w1", { provider: "other", tags: "gpu" });
    const reasons: [Record<string, unknown>, RegExp][] = [
      [{ tags: ["gpu", "tpu"] }, /no worker offers tag "tpu"/],
      [{ provider: "openai" }, /no worker offers provider "openai"/],
      [{ run_at: "2999-01-01T00:00:00Z" }, /not to run before 2999-01-01T00:00:00.000Z/],
    ];
    for (const [asked, reason] of reasons) {
      const job = await create(asked);
      expect(job.waiting_reason).toMatch(reason);
      expect((await read(job.id)).waiting_reason).toMatch(reason);
    }
    const { jobs } = await world.ok("GET", "/api/jobs?status=pending");
    expect(jobs.map((job: Body) => job.status)).toEqual(["pending", "pending", "pending"]);
    await present("w2", { provider: "other", tags: "tpu, gpu" });
    expect(await read(jobs[2].id)).toMatchObject({ status: "assigned", assigned_worker: "w2" });
    expect(await read(jobs[0].id)).toMatchObject({ status: "pending" });
  });

  it("may be changed until it is completed, and takes its new place in the queue", async () => {
    const [first, second] = [await create({ tags: ["x"] }), await create({ tags: ["x"] })];
    const changed = await world.ok("PATCH", `/api/jobs/${second.id}`, {
      priority: "critical",
      tier: "economy",
      tags: ["y"],
    });
    expect(changed).toMatchObject({ priority: "critical", tier: "economy", tags: ["y"], status: "pending" });
    expect((await world.ok("PATCH", `/api/jobs/${second.id}`, { tier: null })).tier).toBeNull();
    for (const body of [{}, { prompt: "other" }, { status: "completed" }, { priority: null }]) {
      expect((await world.patch(`/api/jobs/${first.id}`, body)).status).toBe(400);
    }
    await world.ok("PATCH", `/api/jobs/${second.id}`, { tags: [] });
    await world.ok("PATCH", `/api/jobs/${first.id}`, { tags: [] });
    await present("w1");
    expect((await read(second.id)).assigned_worker).toBe("w1");
    expect((await read(first.id)).status).toBe("pending");
    const { body } = await world.patch(`/api/jobs/${first.id}`, { provder: "p" });
    expect(body.errors[0].path).toBe("provder");
    await world.ok("POST", `/api/jobs/${second.id}/complete`, { lease: 1, result: "done" });
    for (const where of ["in the object", "in history"]) {
      const late = await world.patch(`/api/jobs/${second.id}`, { priority: "low" });
      expect([where, late.status, late.body.code]).toEqual([where, 409, "job_completed"]);
      if (where === "in the object") await sendAway(world, second.id);
    }
  });

  it("is cancelled wherever it stands, once", async () => {
    await present("w1", { concurrency: 2 });
    const [running, assigned] = [await create(), await create()];
    const pending = await create();
    await world.ok("POST", `/api/jobs/${running.id}/start`, { lease: 1 });
    for (const { id } of [pending, assigned, running]) {
      const cancelled = await world.ok("POST", `/api/jobs/${id}/cancel`);
      expect(cancelled).toMatchObject({ status: "cancelled", finished_at: expect.any(String) });
      const again = await world.post(`/api/jobs/${id}/cancel`);
      expect([again.status, again.body.code]).toEqual([409, "job_state"]);
      expect((await world.post(`/api/jobs/${id}/retry`)).status).toBe(409);
    }
    const late = await world.post(`/api/jobs/${running.id}/complete`, { lease: 1, result: "late" });
    expect([late.status, late.body.code]).toEqual([409, "lease_lost"]);
    expect((await world.ok("GET", "/api/workers/w1")).current_load).toBe(0);
    expect((await present("w1", { jobs: [running.id] })).halted).toEqual([running.id]);
  });

  it("that failed is retried with a clean slate, also from history", async () => {
    await present("w1");
    const { id } = await create();
    await world.ok("POST", `/api/jobs/${id}/start`, { lease: 1 });
    const error = { code: "boom", message: "it broke", status: 400 };
    const failed = await world.ok("POST", `/api/jobs/${id}/fail`, { lease: 1, error });
    expect(failed).toMatchObject({ status: "failed", attempts: 1, error: { ...error, retryable: false } });
    expect(failed.ran_provider).toEqual(expect.any(String));
    await sendAway(world, id);
    expect(await read(id)).toMatchObject({ status: "failed", prompt: "hello" });
    await world.ok("POST", "/api/workers/w1/pause");
    const retried = await world.ok("POST", `/api/jobs/${id}/retry`);
    expect(retried).toMatchObject({
      status: "pending",
      assigned_worker: null,
      attempts: 0,
      ran_provider: null,
      ran_model: null,
      error: null,
      finished_at: null,
    });
    expect(retried.waiting_reason).toContain("paused");
    expect((await world.post(`/api/jobs/${id}/retry`)).body.code).toBe("job_state");
    await world.ok("POST", "/api/workers/w1/resume");
    expect(await read(id)).toMatchObject({ status: "assigned", lease: 2, prompt: "hello" });
    await world.ok("POST", `/api/jobs/${id}/complete`, { lease: 2, result: null });
    expect((await world.post(`/api/jobs/${id}/retry`)).status).toBe(409);
  });

  it("that came back and ended again is not revived by a record of history that was read before", async () => {
    await present("w1");
    const { id } = await create();
    const fail = (lease: number) =>
      world.ok("POST", `/api/jobs/${id}/fail`, { lease, error: { code: "boom", message: "x", status: 400 } });
    await fail(1);
    await sendAway(world, id);
    const token = await tokenOf(world);
    const stalled = await callTenant(env, token, "retryJob", { id });
    if (stalled.ok || stalled.error.code !== "not_found") throw new Error("the job has not left");
    const job = await recordOf(id);
    // Meanwhile another caller retries it, it is completed, and it leaves again.
    await world.ok("POST", `/api/jobs/${id}/retry`);
    await world.ok("POST", `/api/jobs/${id}/complete`, { lease: 2, result: "done" });
    await sendAway(world, id);
    const bring = (agoMs: number) =>
      callTenant(env, token, "retryJob", {
        id,
        archived: { job, prompt: "hello", input: null, result: null, absentAt: Date.now() - agoMs },
      });
    expect(await bring(5_000)).toMatchObject({ ok: false, error: { code: "not_found", absentAt: expect.any(Number) } });
    expect(await bring(-60_000)).toMatchObject({ ok: false, error: { code: "not_found" } });
    expect(await read(id)).toMatchObject({ status: "completed", lease: 2, result: "done" });
    expect((await world.post(`/api/jobs/${id}/retry`)).body.code).toBe("job_state");
  });

  it("that is stuck with a silent worker is retried, and a healthy one is left alone", async () => {
    await world.ok("PUT", "/config", { jobs: { reap_stale_after_seconds: null } });
    await present("w1");
    const { id } = await create();
    await world.ok("POST", `/api/jobs/${id}/start`, { lease: 1 });
    expect((await world.post(`/api/jobs/${id}/retry`)).body.code).toBe("job_state");
    await world.ok("PUT", "/config", {
      jobs: { reap_stale_after_seconds: null },
      presence: { offline_after_seconds: 0.3, heartbeat_interval_seconds: 0.1 },
    });
    await expect.poll(async () => (await world.ok("GET", "/presence")).workers).toEqual([]);
    expect(await world.ok("POST", `/api/jobs/${id}/retry`)).toMatchObject({ status: "pending", assigned_worker: null });
    expect((await world.post(`/api/jobs/${id}/heartbeat`, { lease: 1 })).body.code).toBe("lease_lost");
  });

  it("takes text or an object as its input, and nothing else; so does a schedule", async () => {
    const world = await newWorld();
    const bodies = [
      ["/api/jobs", {}],
      ["/api/schedules", { interval: "1h", name: "s" }],
    ] as const;
    for (const [path, more] of bodies) {
      for (const input of [5, true, ["x"]]) {
        const refused = await world.post(path, { prompt: "x", input, ...more });
        expect([path, input, refused.status]).toEqual([path, input, 400]);
        expect(refused.body.errors).toMatchObject([{ path: "input" }]);
      }
    }
    for (const input of ["text", { seed: 1, anything: [1] }, null])
      expect((await world.ok("POST", "/api/jobs", { prompt: "x", input })).input).toEqual(input);
  });

  it("may have a result of 1 MiB over HTTP as over a socket, and no larger one", async () => {
    const world = await newWorld();
    await world.ok("POST", "/presence", { instance: "w", status: "idle", provider: "p", tags: "" });
    const { id, lease } = await world.ok("POST", "/dispatch", { prompt: "x" });
    const complete = (characters: number) =>
      world.post(`/api/jobs/${id}/complete`, { lease, result: "y".repeat(characters), model: "m" });
    const refused = await complete(1024 * 1024 - 1);
    expect([refused.status, refused.body.code]).toEqual([413, "payload_too_large"]);
    expect((await complete(1024 * 1024 - 2)).status).toBe(200);
    expect((await world.ok("GET", `/api/jobs/${id}`)).result).toHaveLength(1024 * 1024 - 2);
  });

  it("that nobody made is unknown, whatever it looks like", async () => {
    for (const id of [
      "nope",
      "no.such",
      "a%20b",
      "%00",
      "x".repeat(300),
      "__proto__",
      "..%2f..",
      crypto.randomUUID(),
    ]) {
      expect([id, (await world.get(`/api/jobs/${id}`)).status]).toEqual([id, 404]);
      expect([id, (await world.get(`/api/jobs/${id}?wait=1`)).status]).toEqual([id, 404]);
      expect([id, (await world.get(`/api/jobs/${id}/events`)).status]).toEqual([id, 404]);
      expect([id, (await world.post(`/api/jobs/${id}/cancel`)).status]).toEqual([id, 404]);
    }
  });

  it("tells its whole story, oldest first, with the router's decision", async () => {
    await present("w1");
    await present("w2", { tags: "gpu" });
    const { id } = await create({ tags: ["gpu"] });
    await world.ok("PATCH", `/api/jobs/${id}`, { priority: "high" });
    await world.ok("POST", `/api/jobs/${id}/start`, { lease: 1 });
    await world.ok("POST", `/api/jobs/${id}/release`, { lease: 1, reason: "no room" });
    await world.ok("POST", `/api/jobs/${id}/complete`, { lease: 2, result: 1 });
    const { events } = await world.ok("GET", `/api/jobs/${id}/events`);
    expect(events.map(({ type, worker, lease }: Body) => [type, worker, lease])).toEqual([
      ["job.created", null, 0],
      ["job.assigned", "w2", 1],
      ["job.updated", "w2", 1],
      ["job.started", "w2", 1],
      ["job.released", "w2", 1],
      ["job.assigned", "w2", 2],
      ["job.completed", "w2", 2],
    ]);
    expect(events[1].detail).toMatchObject({
      score: expect.any(Number),
      breakdown: { capacity: 1 },
      refused: { tags: 1 },
    });
    expect(events[4].detail).toEqual({ reason: "no room" });
  });
});

it("the header X-Signalbox-Edge keeps jobs from hosted providers, however they are made", async () => {
  const off = { headers: { "x-signalbox-edge": "off" } };
  expect((await world.post("/api/jobs", { prompt: "x", edge: true }, off)).body.edge).toBe(false);
  expect((await world.post("/api/jobs/batch", { jobs: [{ prompt: "x" }] }, off)).body.jobs[0].edge).toBe(false);
  expect((await world.post("/dispatch?queue=true", { prompt: "x" }, off)).body.edge).toBe(false);
  const on = { headers: { "x-signalbox-edge": "on" } };
  expect((await world.post("/api/jobs", { prompt: "x", edge: false }, on)).body.edge).toBe(false);
  expect((await world.post("/api/jobs", { prompt: "x" }, { headers: { "x-signalbox-edge": "no" } })).status).toBe(400);
});

describe("waiting for a job", () => {
  it("ends with the job", async () => {
    await present("w1");
    const { id } = await create();
    const waiting = world.get(`/api/jobs/${id}?wait=25`);
    await world.ok("POST", `/api/jobs/${id}/start`, { lease: 1 });
    await world.ok("POST", `/api/jobs/${id}/complete`, { lease: 1, result: { ok: true } });
    const { status, body } = await waiting;
    expect([status, body.status, body.result]).toEqual([200, "completed", { ok: true }]);
    expect((await world.get(`/api/jobs/${id}?wait=25`)).body.status).toBe("completed");
  });

  it("is over when the seconds are, with the job as it is", async () => {
    const { id } = await create();
    expect((await world.get(`/api/jobs/${id}?wait=1`)).body.status).toBe("pending");
    for (const wait of ["26", "-1", "1.5", "", "x"]) {
      expect([wait, (await world.get(`/api/jobs/${id}?wait=${wait}`)).status]).toEqual([wait, 400]);
    }
  });
});
