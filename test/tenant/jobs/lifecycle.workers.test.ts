// What happens to a job that fails, stalls, times out or waits, and to a worker that misbehaves. Time passes by ageing
// the stored record and firing the alarm; the alarm may come twice, early, late or without reason.

import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { alarm, inStorage, newWorld } from "../../support/workerd/client.ts";
import { age, dispatch, fail, get, present, runningJob, start, typesOf } from "../../support/workerd/job-steps.ts";

describe("a job whose worker falls silent", () => {
  it("goes back to the queue once its last heartbeat is stale, and not before", async () => {
    const world = await newWorld();
    const job = await runningJob(world);
    await age(world, job, 100);
    await alarm(world);
    expect(await get(world, job)).toMatchObject({ status: "running", lease: 1 });
    await world.ok("POST", "/api/workers/w/pause");
    await age(world, job, 21);
    await alarm(world);
    expect(await get(world, job)).toMatchObject({ status: "pending", attempts: 1, assigned_worker: null });
    expect(await typesOf(world, job)).toContain("job.reaped");
    expect((await world.post(`/api/jobs/${job.id}/complete`, { lease: 1, result: "late" })).body.code).toBe(
      "lease_lost",
    );
  });

  it("is kept alive by job heartbeats, and by presence that names it", async () => {
    const world = await newWorld();
    const job = await runningJob(world);
    await age(world, job, 100);
    const beaten = await world.ok("POST", `/api/jobs/${job.id}/heartbeat`, { lease: 1, progress: { percent: 40 } });
    expect(beaten.progress).toEqual({ percent: 40 });
    await age(world, job, 100);
    await present(world, "w", { jobs: [job.id] });
    await age(world, job, 100);
    await alarm(world);
    expect(await get(world, job)).toMatchObject({ status: "running", progress: { percent: 40 } });
  });

  it("fails with attempts_exhausted when it has been tried often enough", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { jobs: { max_attempts: 2 } });
    let job = await runningJob(world);
    await age(world, job, 121);
    await alarm(world);
    job = await start(world, await get(world, job));
    expect(job).toMatchObject({ status: "running", attempts: 2, lease: 2 });
    await age(world, job, 121);
    await alarm(world);
    await alarm(world);
    expect(await get(world, job)).toMatchObject({ status: "failed", error: { code: "attempts_exhausted" } });
    expect(await world.ok("POST", `/api/jobs/${job.id}/retry`)).toMatchObject({
      status: "pending",
      attempts: 0,
      error: null,
    });
  });

  it("follows its own max_attempts, and a config that turns reaping off", async () => {
    const world = await newWorld();
    const once = await runningJob(world, { max_attempts: 1 });
    await age(world, once, 121);
    await alarm(world);
    expect(await get(world, once)).toMatchObject({ status: "failed", error: { code: "attempts_exhausted" } });
    await world.ok("PUT", "/config", { jobs: { reap_stale_after_seconds: null, timeout_seconds: null } });
    const forever = await runningJob(world);
    await age(world, forever, 1_000_000);
    await alarm(world);
    expect(await get(world, forever)).toMatchObject({ status: "running" });
  });

  it("fails when it kills its worker again and again, though each comes back and lists what it has", async () => {
    const world = await newWorld();
    const job = await runningJob(world, { max_attempts: 2 });
    await present(world, "w", { jobs: [] });
    await start(world, await get(world, job));
    await present(world, "w", { jobs: [] });
    expect(await get(world, job)).toMatchObject({
      status: "failed",
      attempts: 2,
      error: { code: "attempts_exhausted", message: "its worker lost it on attempt 2 of 2" },
    });
  });
});

describe("a job that runs too long", () => {
  it("follows its own timeout_seconds", async () => {
    const world = await newWorld();
    const short = await runningJob(world, { timeout_seconds: 5 });
    const long = await runningJob(world, { timeout_seconds: 5_000 });
    for (const job of [short, long]) {
      await age(world, job, 1000);
      await world.ok("POST", `/api/jobs/${job.id}/heartbeat`, { lease: 1 });
    }
    await alarm(world);
    expect(await get(world, short)).toMatchObject({
      status: "failed",
      error: { code: "timeout", message: "ran longer than 5 s" },
    });
    expect(await get(world, long)).toMatchObject({ status: "running" });
  });

  it("follows a new config while it runs", async () => {
    const world = await newWorld();
    const job = await runningJob(world);
    await age(world, job, 60);
    await world.ok("PUT", "/config", { jobs: { timeout_seconds: 30 } });
    await alarm(world);
    expect(await get(world, job)).toMatchObject({ status: "failed", error: { code: "timeout" } });
  });
});

describe("a job with run_at", () => {
  it("waits for its time, then goes by itself", async () => {
    const world = await newWorld();
    await present(world);
    const runAt = new Date(Date.now() + 3_600_000).toISOString();
    const job = await world.ok("POST", "/api/jobs", { prompt: "x", run_at: runAt });
    expect(await get(world, job)).toMatchObject({ status: "pending", waiting_reason: `not to run before ${runAt}` });
    await alarm(world);
    expect(await get(world, job)).toMatchObject({ status: "pending" });
    await age(world, job, 3_600);
    await present(world);
    await alarm(world);
    await alarm(world);
    expect(await get(world, job)).toMatchObject({ status: "assigned", lease: 1 });
  });
});

describe("a lease that nobody starts", () => {
  it("goes to the next worker and costs no attempt; the idle one rests in the end", async () => {
    const world = await newWorld();
    await present(world, "sleepy");
    const job = await dispatch(world);
    for (let lease = 1; lease <= 5; lease += 1) {
      expect(await get(world, job)).toMatchObject({ status: "assigned", lease, attempts: 0 });
      await age(world, job, 31);
      await alarm(world);
    }
    const worker = await world.ok("GET", "/api/workers/sleepy");
    expect(worker).toMatchObject({
      paused: true,
      pause_reason: expect.stringMatching(/rests until \d.*Z, or until it is resumed$/),
    });
    expect(worker.pause_reason).toContain(worker.paused_until);
    expect(await get(world, job)).toMatchObject({
      status: "pending",
      waiting_reason: `worker "sleepy" is paused: ${worker.pause_reason}`,
    });
    expect((await world.ok("GET", "/api/audit")).entries[0]).toMatchObject({
      action: "worker.paused",
      target: "sleepy",
      actor: { name: "signalbox" },
    });
    await world.ok("POST", "/api/workers/sleepy/resume");
    expect(await get(world, job)).toMatchObject({ status: "assigned" });
  });
});

describe("a worker that fails job after job", () => {
  it("rests with a reason that says so, and comes back by itself", async () => {
    const world = await newWorld();
    await present(world);
    // The failures of one key count against it only because nothing has gone well for so long.
    await inStorage(world, (storage) => {
      storage.sql.exec("UPDATE workers SET record = json_set(record, '$.registeredAt', ?)", Date.now() - 300_000);
    });
    await evictDurableObject(world.stub);
    for (let count = 0; count < 10; count += 1) await fail(world, await dispatch(world), { code: "segfault" });
    const worker = await world.ok("GET", "/api/workers/w");
    expect(worker).toMatchObject({
      paused: true,
      pause_reason: expect.stringMatching(/failed 10 jobs.*"segfault".*rests until.*resume/),
    });
    expect((await world.post("/dispatch", { prompt: "x" })).status).toBe(503);
    const waiting = await world.ok("POST", "/api/jobs", { prompt: "y" });
    await inStorage(world, (storage) => {
      storage.sql.exec("UPDATE workers SET record = json_set(record, '$.pause.untilAt', ?)", Date.now() - 1);
    });
    await evictDurableObject(world.stub);
    await alarm(world);
    expect(await get(world, waiting)).toMatchObject({ status: "assigned" });
    await fail(world, await get(world, waiting), { code: "segfault" });
    expect(await world.ok("GET", "/api/workers/w")).toMatchObject({
      pause_reason: expect.stringMatching(/again after/),
    });
    await world.ok("POST", "/api/workers/w/resume");
    expect((await world.post("/dispatch", { prompt: "x" })).status).toBe(200);
  });
});

describe("retry", () => {
  it("takes a job past the stale threshold back to pending, though its worker lives, and no running one before", async () => {
    const world = await newWorld();
    const job = await runningJob(world);
    expect(await world.post(`/api/jobs/${job.id}/retry`)).toMatchObject({
      status: 409,
      body: { code: "job_state", detail: `cannot retry job ${job.id}: it is running, and its worker is not offline` },
    });
    await age(world, job, 121);
    const retried = await world.ok("POST", `/api/jobs/${job.id}/retry`);
    expect(retried).toMatchObject({ assigned_worker: null, status: "pending" });
  });
});
