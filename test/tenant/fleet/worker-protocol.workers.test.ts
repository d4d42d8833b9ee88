// Section 4 of the contract over plain HTTP: claims, leases and what happens to them.

import { describe, expect, it } from "vitest";
import type { Body } from "../../support/workerd/client.ts";
import { create, present, read, useOwnTenant, world } from "../../support/workerd/own-tenant.ts";

useOwnTenant();

const claim = (instance: string, body?: unknown, query = ""): Promise<Body> =>
  world.ok("POST", `/api/workers/${instance}/claim${query}`, body);

describe("a worker with room for several jobs", () => {
  it("gets them in the queue's order, by presence and by claims of one", async () => {
    const wanted = ["critical", "high", "normal", "low"];
    for (const priority of ["low", "normal", "critical", "high"]) await create({ prompt: priority, priority });
    const { jobs } = await present("w1", { concurrency: 4 });
    expect(jobs.map((job: Body) => job.prompt)).toEqual(wanted);
    const claimed: string[] = [];
    for (let count = 0; count < 4; count += 1) claimed.push((await claim("w1")).jobs[0].prompt);
    expect(claimed).toEqual(wanted);
  });
});

describe("a claim", () => {
  it("gives leases up to its max, and says why there are none", async () => {
    await present("w1", { concurrency: 3, tags: "cpu" });
    for (let index = 0; index < 3; index += 1) await create({ tags: ["cpu"] });
    for (let index = 0; index < 7; index += 1) await create({ tags: ["gpu"] });
    const [first] = (await claim("w1")).jobs;
    const { jobs, skipped } = await claim("w1", { max: 3 });
    expect([jobs.length, skipped]).toEqual([2, {}]);
    for (const { id } of jobs) await world.ok("POST", `/api/jobs/${id}/start`, { lease: 1 });
    const none = await claim("w1", { max: 3 });
    expect(none.jobs).toEqual([]);
    expect(none.skipped["missing tag gpu"]).toBe(7);
    await world.ok("POST", `/api/jobs/${first.id}/start`, { lease: 1 });
    for (const body of [{ max: 0 }, { max: 1001 }, { max: "1" }, { maximum: 1 }, []]) {
      expect((await world.post("/api/workers/w1/claim", body)).status).toBe(400);
    }
    for (const wait of ["26", "-1", "x", ""]) {
      expect((await world.post(`/api/workers/w1/claim?wait=${wait}`)).status).toBe(400);
    }
  });

  it("is never answered with what an earlier one was, unless that is still not started after a while", async () => {
    await present("w1", { concurrency: 2 });
    const ids = [(await create()).id, (await create()).id];
    const claimed = await Promise.all([claim("w1"), claim("w1"), claim("w1")]);
    expect(claimed.flatMap(({ jobs }) => jobs.map(({ id }: Body) => id)).sort()).toEqual(ids.sort());
    expect((await claim("w1", { max: 2 })).jobs).toEqual([]);
    // A report lists them all the same.
    expect((await present("w1", { concurrency: 2 })).jobs).toHaveLength(2);
    await expect
      .poll(async () => (await claim("w1", { max: 2 })).jobs.length, { timeout: 15_000, interval: 500 })
      .toBe(2);
  });

  it("waits for a job and ends with it", async () => {
    await present("w1");
    const waiting = claim("w1", undefined, "?wait=25");
    const { id } = await create();
    expect((await waiting).jobs.map((job: Body) => [job.id, job.status])).toEqual([[id, "assigned"]]);
    await world.ok("POST", `/api/jobs/${id}/complete`, { lease: 1, result: 1 });
    expect((await claim("w1", {}, "?wait=1")).jobs).toEqual([]);
  });
});

describe("a lease", () => {
  it("is started, kept alive, and completed; every report may be repeated", async () => {
    await present("w1");
    const { id } = await create();
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await world.ok("POST", `/api/jobs/${id}/start`, { lease: 1 })).toMatchObject({
        status: "running",
        attempts: 1,
      });
    }
    const beat = await world.ok("POST", `/api/jobs/${id}/heartbeat`, { lease: 1, progress: { percent: 40 } });
    expect(beat.progress).toEqual({ percent: 40 });
    expect((await world.ok("POST", `/api/jobs/${id}/heartbeat`, { lease: 1 })).progress).toEqual({ percent: 40 });
    const report = { lease: 1, result: { text: "hi" }, usage: { input_tokens: 3, output_tokens: 5 }, cost_usd: 0.25 };
    const done = await world.post(`/api/jobs/${id}/complete`, report);
    expect(done.body).toMatchObject({
      status: "completed",
      result: { text: "hi" },
      usage: report.usage,
      cost_usd: 0.25,
    });
    expect((await world.post(`/api/jobs/${id}/complete`, report)).text).toBe(done.text);
    expect((await world.post(`/api/jobs/${id}/complete`, { ...report, result: "other" })).text).toBe(done.text);
    for (const [verb, body] of [
      ["start", { lease: 1 }],
      ["heartbeat", { lease: 1 }],
      ["fail", { lease: 1, error: { code: "x", message: "x" } }],
      ["release", { lease: 1, reason: "x" }],
    ] as const) {
      const { status, body: problem } = await world.post(`/api/jobs/${id}/${verb}`, body);
      expect([verb, status, problem.code]).toEqual([verb, 409, "lease_lost"]);
    }
  });

  it("alone lets its worker read the input, until it ends", async () => {
    await present("w1");
    const { id } = await create({ input: { system: "Be brief" } });
    const read = async (lease: number) => (await world.get(`/api/jobs/${id}/input?lease=${lease}`)).status;
    expect([await read(1), await read(0), await read(2)]).toEqual([200, 409, 409]);
    await world.ok("POST", `/api/jobs/${id}/release`, { lease: 1, reason: "busy" });
    expect((await world.ok("GET", `/api/jobs/${id}`)).lease).toBe(2);
    expect([await read(1), await read(2)]).toEqual([409, 200]);
    await world.ok("POST", `/api/jobs/${id}/complete`, { lease: 2, result: 1 });
    expect(await read(2)).toBe(409);
  });

  it("says with the result when the first output came, but not later than now", async () => {
    await present("w1", { concurrency: 9 });
    const finished = async (firstTokenMs: number | null, isStarted = true) => {
      const { id } = await create();
      if (isStarted) await world.ok("POST", `/api/jobs/${id}/start`, { lease: 1 });
      const report = { lease: 1, result: 1, first_token_ms: firstTokenMs };
      const done = await world.ok("POST", `/api/jobs/${id}/complete`, report);
      return { ...done, firstMs: Date.parse(done.first_token_at) - Date.parse(done.started_at) };
    };
    expect((await finished(0)).firstMs).toBe(0);
    const late = await finished(60_000);
    expect(late.first_token_at).toBe(late.finished_at);
    expect((await finished(null)).first_token_at).toBeNull();
    // A job that was never started starts with the report.
    expect((await finished(5, false)).firstMs).toBe(0);
  });

  it("is reported in the words of the contract, field by field", async () => {
    await present("w1");
    const { id } = await create();
    const error = { code: "x", message: "m" };
    const wrong: [string, Record<string, unknown>, string][] = [
      ["start", {}, "lease"],
      ["start", { lease: -1 }, "lease"],
      ["start", { lease: "1" }, "lease"],
      ["start", { lease: 2 ** 53 }, "lease"],
      ["start", { lease: 1, jobs: [] }, "jobs"],
      ["complete", { lease: 1 }, "result"],
      ["complete", { lease: 1, result: 1, cost_usd: -1 }, "cost_usd"],
      ["complete", { lease: 1, result: 1, cost_usd: "0.1" }, "cost_usd"],
      ["complete", { lease: 1, result: 1, usage: { input_tokens: 1 } }, "usage.output_tokens"],
      ["complete", { lease: 1, result: 1, usage: { input_tokens: 1.5, output_tokens: 1 } }, "usage.input_tokens"],
      ["fail", { lease: 1 }, "error"],
      ["fail", { lease: 1, error: { message: "m" } }, "error.code"],
      ["fail", { lease: 1, error: { ...error, status: 42 } }, "error.status"],
      ["fail", { lease: 1, error: { ...error, retriable: true } }, "error.retriable"],
      ["release", { lease: 1 }, "reason"],
      ["heartbeat", { progress: 1 }, "lease"],
    ];
    for (const [verb, body, field] of wrong) {
      const answer = await world.post(`/api/jobs/${id}/${verb}`, body);
      expect([verb, field, answer.status]).toEqual([verb, field, 400]);
      expect(answer.body.errors.map((one: Body) => one.path)).toContain(field);
    }
    const missing = await world.post(`/api/jobs/${id}/complete`, { lease: 1 });
    expect(missing.body.errors).toEqual([
      { path: "result", message: "give one of result, result_file and result_bytes, and no other" },
    ]);
    expect((await read(id)).status).toBe("assigned");
    expect(await world.ok("POST", `/api/jobs/${id}/complete`, { lease: 1, result: null })).toMatchObject({
      status: "completed",
      attempts: 1,
    });
  });

  it("given back costs no attempt and goes to the next worker", async () => {
    await present("w1");
    const { id } = await create();
    await world.ok("POST", `/api/jobs/${id}/start`, { lease: 1 });
    await present("w2");
    await world.ok("POST", "/api/workers/w1/pause");
    const released = await world.ok("POST", `/api/jobs/${id}/release`, { lease: 1, reason: "no memory" });
    expect(released).toMatchObject({ status: "pending", attempts: 0 });
    expect(await read(id)).toMatchObject({ status: "assigned", assigned_worker: "w2", lease: 2 });
    expect((await world.post(`/api/jobs/${id}/release`, { lease: 1, reason: "no memory" })).body.code).toBe(
      "lease_lost",
    );
  });

  it("moves on by itself, without anybody asking", async () => {
    await world.ok("PUT", "/config", { jobs: { accept_within_seconds: 0.2 } });
    await present("w1");
    const { id } = await create();
    await present("w2");
    await expect.poll(async () => (await read(id)).assigned_worker).toBe("w2");
    expect(await read(id)).toMatchObject({ lease: 2, attempts: 0 });
  });

  it("moves on also from a worker that says all the time that it has the job", async () => {
    await world.ok("PUT", "/config", { jobs: { accept_within_seconds: 1 } });
    await present("w1");
    const { id } = await create();
    await present("w2");
    const workerOfIt = async () => {
      await present("w1", { jobs: [id] });
      return (await read(id)).assigned_worker;
    };
    await expect.poll(workerOfIt).toBe("w2");
    expect(await present("w1", { jobs: [id] })).toMatchObject({ halted: [id], jobs: [] });
    expect(await read(id)).toMatchObject({ lease: 2, attempts: 0 });
  });
});

describe("a result with a claim", () => {
  const finish = (job: Body, query: string, result = "done"): Promise<Body> =>
    world.ok("POST", `/api/jobs/${job.id}/complete${query}`, { lease: job.lease, result });

  it("brings the next leases in the same answer, so that a worker needs one call a job", async () => {
    await present("w1");
    for (const prompt of ["one", "two", "three"]) await create({ prompt });
    const [first] = (await claim("w1")).jobs;
    const answer = await finish(first, "?claim=1");
    expect(answer.job).toMatchObject({ id: first.id, status: "completed", result: "done" });
    expect(answer.jobs).toMatchObject([{ prompt: "two", status: "assigned", assigned_worker: "w1" }]);
    const last = await finish((await finish(answer.jobs[0], "?claim=5")).jobs[0], "?claim=1");
    expect(last).toMatchObject({ job: { status: "completed" }, jobs: [] });
  });

  it("says why there are no leases, and without the query answers with the job alone", async () => {
    await present("w1");
    await create();
    const [job] = (await claim("w1")).jobs;
    await create({ tags: ["gpu"] });
    const answer = await finish(job, "?claim=1");
    expect(answer).toMatchObject({ jobs: [], skipped: { "missing tag gpu": 1 } });
    expect(await finish(job, "")).toMatchObject({ id: job.id, status: "completed" });
  });

  it("repeated, is answered with the same result; with a lease that is over it claims nothing", async () => {
    await present("w1");
    await create();
    const [job] = (await claim("w1")).jobs;
    await finish(job, "?claim=1");
    expect((await finish(job, "?claim=1")).job).toMatchObject({ id: job.id, result: "done" });
    const other = await create();
    const stale = await world.post(`/api/jobs/${job.id}/complete?claim=1`, { lease: job.lease + 1, result: 1 });
    expect(stale.status).toBe(409);
    expect((await world.ok("GET", `/api/jobs/${other.id}`)).status).toBe("assigned");
  });
});
