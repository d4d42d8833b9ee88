// Section 3 "Attempts" and who may have a job: a retryable failure is tried again elsewhere; an unavailable worker says
// so; the built-in echo stands aside.

import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { ageJob, alarm, type Body, connectWorker, inStorage, newWorld, silence } from "../../support/workerd/client.ts";
import { age, dispatch, events, fail, get, present, start, typesOf } from "../../support/workerd/job-steps.ts";

const BROKEN = { code: "upstream", status: 503 };

describe("a failure that may pass", () => {
  it("waits, then another worker gets the job, though the worker that failed it is free", async () => {
    const world = await newWorld();
    await present(world, "broken", { concurrency: 1 });
    const job = await dispatch(world);
    await present(world, "healthy", { concurrency: 1 });
    const waiting = await fail(world, job, BROKEN);
    expect(waiting).toMatchObject({
      status: "pending",
      attempts: 1,
      error: { code: "upstream", retryable: true },
      waiting_reason: expect.stringMatching(/^attempt 1 of 5 on broken failed with "upstream", it is tried again at /),
    });
    const told = (await events(world, job)).find((event) => event.type === "job.attempt_failed");
    expect(told).toMatchObject({ worker: "broken", detail: { attempt: 1, of: 5, error: { code: "upstream" } } });
    expect(told.detail.delay_ms).toBeGreaterThanOrEqual(1_000);
    expect(told.detail.delay_ms).toBeLessThanOrEqual(1_250);
    // Busy is no reason to go back to the worker that failed it.
    const other = await world.ok("POST", "/api/jobs", { prompt: "other", tags: [] });
    expect((await get(world, other)).assigned_worker).toBe("healthy");
    await age(world, job, 2);
    await alarm(world);
    expect(await get(world, job)).toMatchObject({
      status: "pending",
      waiting_reason: 'worker "healthy" is at capacity',
    });
    await world.ok("POST", `/api/jobs/${other.id}/complete`, { lease: 1, result: 1 });
    expect(await get(world, job)).toMatchObject({ status: "assigned", assigned_worker: "healthy", lease: 2 });
  });

  it("is final at max_attempts, with the worker's own error, and a repeated report changes nothing", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { jobs: { retry: { backoff_seconds: 0 } } });
    await present(world);
    const job = await dispatch(world, { max_attempts: 2 });
    await fail(world, job, BROKEN);
    expect(
      await world.post(`/api/jobs/${job.id}/fail`, { lease: 1, error: { message: "x", ...BROKEN } }),
    ).toMatchObject({
      status: 409,
      body: { code: "lease_lost" },
    });
    const second = await get(world, job);
    expect(second).toMatchObject({ status: "assigned", lease: 2 });
    expect(await fail(world, second, BROKEN)).toMatchObject({
      status: "failed",
      attempts: 2,
      error: { code: "upstream" },
    });
    expect(await typesOf(world, job)).toContain("job.attempt_failed");
  });

  it("is final also with a message that is too long, of which its beginning is kept", async () => {
    const world = await newWorld();
    await present(world);
    const job = await dispatch(world);
    const failed = await fail(world, job, { code: "crashed", message: `Traceback${"x".repeat(10_000)}` });
    expect(failed.status).toBe("failed");
    expect(failed.error.message).toMatch(/^Tracebackx{8183}$/);
  });
});

describe("a worker that can take nothing", () => {
  it("says why, is given nothing, and is back with the report that says so", async () => {
    const world = await newWorld();
    const why = "its runtime at http://127.0.0.1:11434 does not answer";
    expect((await present(world, "w", { unavailable: why })).worker).toMatchObject({ unavailable: why, paused: false });
    const job = await world.ok("POST", "/api/jobs", { prompt: "x" });
    expect((await get(world, job)).waiting_reason).toBe(`worker "w" is unavailable: ${why}`);
    const refused = await world.post("/dispatch", { prompt: "x" });
    expect(refused.body.workers).toMatchObject([{ instance: "w", eligible: false, reasons: [`unavailable: ${why}`] }]);
    expect((await world.ok("POST", "/api/workers/w/claim")).skipped).toEqual({ [`unavailable: ${why}`]: 1 });
    await evictDurableObject(world.stub);
    expect(await world.ok("GET", "/api/workers/w")).toMatchObject({ unavailable: why });
    expect((await present(world, "w", { unavailable: null })).worker.unavailable).toBeNull();
    expect(await get(world, job)).toMatchObject({ status: "assigned" });
  });
});

describe("the built-in echo", () => {
  it("answers any job while no other worker is alive, beside one only jobs that ask for it", async () => {
    const world = await newWorld();
    await present(world, "local", { provider: "echo" });
    expect((await world.ok("GET", "/api/workers/local")).models).toEqual(["echo"]);
    expect((await dispatch(world)).assigned_worker).toBe("local");
    await present(world, "real", { provider: "vllm" });
    await world.ok("POST", "/api/workers/real/pause");
    const refused = await world.post("/dispatch", { prompt: "x" });
    expect(refused.status).toBe(503);
    const verdict = refused.body.workers.find((one: Body) => one.instance === "local");
    expect(verdict.reasons).toEqual(['echo answers only jobs that ask for provider "echo" or model "echo"']);
    expect((await dispatch(world, { provider: "echo" })).assigned_worker).toBe("local");
    expect((await dispatch(world, { model: "echo" })).assigned_worker).toBe("local");
    expect((await world.post("/dispatch", { prompt: "x", provider: "echo", model: "llama" })).status).toBe(503);
    await silence(world, "real");
    await world.delete("/api/workers/real");
    await evictDurableObject(world.stub);
    await present(world, "local", { provider: "echo" });
    expect((await dispatch(world)).assigned_worker).toBe("local");
  });
});

describe("names and times", () => {
  it("llama3.2 and llama3.2:latest are one model, both ways", async () => {
    const world = await newWorld();
    await present(world, "w", { provider: "ollama", models: ["llama3.2:latest"] });
    expect((await dispatch(world, { model: "llama3.2" })).assigned_worker).toBe("w");
    await present(world, "w", { provider: "ollama", models: ["llama3.2"] });
    expect((await dispatch(world, { model: "llama3.2:latest" })).assigned_worker).toBe("w");
    expect((await world.post("/dispatch", { prompt: "x", model: "llama3.2:1b" })).status).toBe(503);
  });

  it("explain and dispatch agree on a job that is not to run yet", async () => {
    const world = await newWorld();
    await present(world);
    const run_at = new Date(Date.now() + 3_600_000).toISOString();
    const refused = await world.post("/dispatch", { prompt: "x", run_at });
    const reason = `not to run before ${run_at}`;
    expect(refused).toMatchObject({ status: 503, body: { detail: reason } });
    expect(refused.body.workers).toMatchObject([{ eligible: false, reasons: [reason] }]);
    const job = await world.ok("POST", "/api/jobs", { prompt: "x", run_at });
    const explained = await world.ok("GET", `/dispatch/explain?job_id=${job.id}`);
    expect(explained).toMatchObject({
      selected: null,
      notes: [reason],
      workers: [{ eligible: false, reasons: [reason] }],
    });
  });

  it("a rate-limited job that was given back before says what it waits for", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { providers: { openai: { rate_limit: { retry_after_seconds: 30 } } } });
    await present(world);
    let job = await dispatch(world);
    for (let lease = 1; lease <= 2; lease += 1) {
      await world.ok("POST", `/api/jobs/${job.id}/release`, { lease, reason: "no room" });
      if (lease === 2) await age(world, job, 60);
      await present(world);
      await alarm(world);
      job = await get(world, job);
    }
    expect(job).toMatchObject({ status: "assigned", lease: 3 });
    expect((await fail(world, job, { code: "rate_limited" })).waiting_reason).toMatch(
      /^provider openai backs off until/,
    );
  });
});

describe("a lease", () => {
  it("keeps the progress that comes before its start", async () => {
    const world = await newWorld();
    await present(world);
    const job = await dispatch(world);
    const beat = await world.ok("POST", `/api/jobs/${job.id}/heartbeat`, { lease: 1, progress: { percent: 5 } });
    expect(beat).toMatchObject({ status: "running", progress: { percent: 5 } });
  });

  it("of many that expire together counts once against their worker", async () => {
    const world = await newWorld();
    await present(world, "w", { concurrency: 8 });
    for (let count = 0; count < 8; count += 1) await dispatch(world);
    await world.stub.drain();
    await inStorage(world, (storage) => {
      storage.sql.exec("UPDATE jobs SET due_at = 1, record = json_set(record, '$.assignedAt', ?)", Date.now() - 31_000);
    });
    await alarm(world);
    expect(await world.ok("GET", "/api/workers/w")).toMatchObject({ paused: false });
  });

  it("that was not started puts its worker last, until that worker starts a job", async () => {
    const world = await newWorld();
    await present(world, "late", { concurrency: 9 });
    const missed = await dispatch(world);
    await ageJob(world, missed.id, 31_000, ["assignedAt"]);
    await evictDurableObject(world.stub);
    await alarm(world);
    await present(world, "prompt", { concurrency: 1 });
    expect((await dispatch(world)).assigned_worker).toBe("prompt");
    const again = await dispatch(world);
    expect(again.assigned_worker).toBe("late");
    await start(world, again);
    await present(world, "other", { concurrency: 1 });
    const { workers } = await world.ok("GET", "/dispatch/explain");
    expect(workers.map((one: Body) => [one.instance, one.eligible, one.note])).toContainEqual([
      "late",
      true,
      undefined,
    ]);
  });

  it("stays with its provider's limit when the worker changes its provider", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { providers: { openai: { rate_limit: { max_concurrent: 2 } } } });
    await present(world, "a", { concurrency: 2 });
    for (let count = 0; count < 2; count += 1) await start(world, await dispatch(world));
    await present(world, "a", { concurrency: 2, provider: "other" });
    await present(world, "b", { concurrency: 2 });
    expect((await world.post("/dispatch", { prompt: "x", provider: "openai" })).body.detail).toContain(
      "max_concurrent",
    );
    await evictDurableObject(world.stub);
    expect((await world.post("/dispatch", { prompt: "x", provider: "openai" })).body.detail).toContain(
      "max_concurrent",
    );
  });
});

describe("the bounds of a fleet", () => {
  it("GET /presence is a page of the workers that are not offline", async () => {
    const world = await newWorld();
    for (const instance of ["a", "b", "c"]) await present(world, instance);
    expect(await world.ok("GET", "/presence")).toMatchObject({ total: 3 });
    const page = await world.ok("GET", "/presence?limit=1&offset=1");
    expect([page.workers.length, page.total]).toEqual([1, 3]);
    expect((await world.get("/presence?limit=1001")).status).toBe(400);
  });

  it("skipped names the hundred most frequent reasons", async () => {
    const world = await newWorld();
    await present(world);
    const asking = (tag: string) => ({ prompt: "x", tags: [tag] });
    const many = Array.from({ length: 120 }, (_, at) => asking(`t${at}`));
    await world.ok("POST", "/api/jobs/batch", { jobs: [...many, asking("often"), asking("often")] });
    const { skipped } = await world.ok("POST", "/api/workers/w/claim");
    expect(Object.keys(skipped)).toHaveLength(100);
    expect(skipped["missing tag often"]).toBe(2);
  });
});

describe("a worker that is silent for a while", () => {
  it("and pings again is found by the alarm while a job waits, though nobody asks", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { presence: { offline_after_seconds: 1.5, heartbeat_interval_seconds: 0.5 } });
    const socket = await connectWorker(world.key ?? "", { instance: "w", provider: "p", status: "idle", tags: "" });
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    const job = await world.ok("POST", "/api/jobs", { prompt: "x" });
    const pings = setInterval(() => socket.send("ping"), 500);
    const given = await socket.next((message) => message.type === "job.assigned");
    clearInterval(pings);
    expect(given.job.id).toBe(job.id);
  });

  it("and waits in two claims is alive until the last of them ends; a refused one counts for nothing", async () => {
    const world = await newWorld();
    const owner = await world.withKey("worker");
    const stranger = await world.withKey("worker", "another");
    await world.ok("PUT", "/config", { presence: { offline_after_seconds: 1, heartbeat_interval_seconds: 0.5 } });
    await owner.ok("POST", "/presence", { instance: "w", provider: "p", status: "idle", tags: "" });
    const long = owner.ok("POST", "/api/workers/w/claim?wait=25");
    await owner.ok("POST", "/api/workers/w/claim?wait=1");
    expect((await stranger.post("/api/workers/w/claim?wait=1")).body.code).toBe("instance_taken");
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const { id } = await world.ok("POST", "/api/jobs", { prompt: "x" });
    expect((await long).jobs.map((job: Body) => job.id)).toEqual([id]);
  });
});

describe("the first token of an ordinary job", () => {
  it("is known of the attempt, once its worker tells it with the result", async () => {
    const world = await newWorld();
    await present(world);
    const job = await dispatch(world);
    await start(world, job);
    await world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: 1, result: 1, first_token_ms: 0 });
    const { attempts } = await world.ok("GET", `/api/jobs/${job.id}/attempts`);
    expect(attempts[0].first_token_at).toBe(attempts[0].started_at);
    expect(await typesOf(world, job)).toEqual([
      "job.created",
      "job.assigned",
      "job.started",
      "job.streaming",
      "job.completed",
    ]);
  });

  it("stands in the metrics, of a job that is not streamed, too", async () => {
    const world = await newWorld();
    await present(world);
    const count = async (): Promise<string | undefined> =>
      /^signalbox_time_to_first_token_seconds_count(?:\{[^}]*\})? (\d+)$/m.exec(
        (await world.get("/metrics")).text,
      )?.[1];
    expect(await count()).toBeUndefined();
    const job = await dispatch(world);
    await start(world, job);
    await world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: 1, result: 1, first_token_ms: 0 });
    expect(await count()).toBe("1");
  });
});
