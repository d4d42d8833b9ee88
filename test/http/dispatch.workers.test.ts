// Dispatch and its explanation: who gets a job, who does not, and why.

import { describe, expect, it } from "vitest";
import type { Body } from "../support/workerd/client.ts";
import { present, useOwnTenant, world } from "../support/workerd/own-tenant.ts";

useOwnTenant();

const dispatch = (more: Record<string, unknown> = {}) => world.post("/dispatch", { prompt: "hello", ...more });

describe("a dispatch", () => {
  it("gives the job to a worker in the same answer", async () => {
    await present("w1", { tags: "gpu" });
    const { status, body } = await dispatch({ tags: ["gpu"], urgency: "high" });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      status: "assigned",
      assigned_worker: "w1",
      lease: 1,
      priority: "high",
      attempts: 0,
      waiting_reason: null,
    });
    expect(await world.ok("GET", `/api/jobs/${body.id}`)).toEqual(body);
  });

  it("that nobody may have is refused with the reasons, worker by worker, and leaves nothing", async () => {
    await present("wrong-provider", { provider: "q" });
    await present("no-tag", { tags: "cpu" });
    await present("wrong-model", { tags: "gpu", models: ["llama"] });
    await present("paused", { tags: "gpu" });
    await world.ok("POST", "/api/workers/paused/pause", { reason: "maintenance" });
    await present("full", { tags: "gpu,spare" });
    await world.ok("POST", "/dispatch", { prompt: "fill", tags: ["spare"] });
    await present("none", { tags: "gpu", concurrency: 0 });
    const { status, headers, body } = await dispatch({ provider: "p", tags: ["gpu"], model: "gpt" });
    expect(status).toBe(503);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    expect(body).toMatchObject({ title: "No eligible workers", code: "no_eligible_workers" });
    expect(body.detail).not.toBe("");
    const reasons = Object.fromEntries(body.workers.map((one: Body) => [one.instance, one.reasons.join("; ")]));
    expect(reasons["wrong-provider"]).toContain('"q"');
    expect(reasons["no-tag"]).toContain("missing tag gpu");
    expect(reasons["wrong-model"]).toContain('model "gpt"');
    expect(reasons.paused).toContain("maintenance");
    expect(reasons.full).toContain("at capacity (1 of 1)");
    expect(reasons.none).toContain("takes no jobs: concurrency 0");
    expect(body.workers.every((one: Body) => one.eligible === false && one.score === null)).toBe(true);
    expect((await world.ok("GET", "/api/jobs")).total).toBe(1);
  });

  it("is queued where it may be, and taken later", async () => {
    const queued = await world.post("/dispatch?queue=true", { prompt: "a" });
    expect([queued.status, queued.body.status]).toEqual([202, "pending"]);
    expect(queued.body.waiting_reason).toBe("no worker is registered");
    expect((await world.post("/dispatch?queue=false", { prompt: "a" })).status).toBe(503);
    for (const query of ["queue=1", "queue=", "queue=true&queue=true", "quue=true"]) {
      expect([query, (await world.post(`/dispatch?${query}`, { prompt: "a" })).status]).toEqual([query, 400]);
    }
    await present("w1");
    expect((await world.ok("GET", `/api/jobs/${queued.body.id}`)).assigned_worker).toBe("w1");
    await present("w2");
    expect((await world.post("/dispatch?queue=true", { prompt: "a" })).status).toBe(200);
  });

  it("never goes past a worker's concurrency, however many come at once", async () => {
    await present("w1", { concurrency: 3 });
    await present("w2", { concurrency: 2 });
    const answers = await Promise.all(Array.from({ length: 30 }, () => dispatch()));
    const taken = answers.filter(({ status }) => status === 200).map(({ body }) => body.assigned_worker);
    expect(taken.toSorted()).toEqual(["w1", "w1", "w1", "w2", "w2"]);
    const { workers } = await world.ok("GET", "/api/workers");
    expect(workers.map((one: Body) => [one.instance, one.current_load, one.status])).toEqual([
      ["w2", 2, "busy"],
      ["w1", 3, "busy"],
    ]);
    expect((await world.ok("GET", "/api/jobs")).total).toBe(5);
  });

  it("takes the model that a worker names, or a worker that names none", async () => {
    await present("named", { models: ["gpt"] });
    await present("any");
    await present("listing", { models: [], runtime_models: ["llama"] });
    expect((await dispatch({ model: "gpt" })).body.assigned_worker).toBe("named");
    expect((await dispatch({ model: "other" })).body.assigned_worker).toBe("any");
    await present("any", { models: ["other"] });
    expect((await dispatch({ model: "llama" })).body.assigned_worker).toBe("listing");
  });

  it("keeps specialised workers for the jobs that need them, and rotates among equals", async () => {
    await present("special", { tags: "gpu,fp8", concurrency: 10 });
    for (const name of ["a", "b", "c"]) await present(name, { concurrency: 10 });
    const plain = [];
    for (let index = 0; index < 3; index += 1) plain.push((await dispatch()).body.assigned_worker);
    expect(plain.toSorted()).toEqual(["a", "b", "c"]);
    expect((await dispatch({ tags: ["gpu"] })).body.assigned_worker).toBe("special");
  });

  it("prefers a free worker when it is critical, and packs a busy one when it is low", async () => {
    for (const name of ["a", "b"]) await present(name, { concurrency: 4 });
    const first = (await dispatch()).body.assigned_worker;
    const other = first === "a" ? "b" : "a";
    expect((await dispatch({ urgency: "low" })).body.assigned_worker).toBe(first);
    expect((await dispatch({ urgency: "critical" })).body.assigned_worker).toBe(other);
  });
});

describe("the explanation", () => {
  it("names the winner that a dispatch then takes, for every kind of request", async () => {
    await present("cheap", { tier: "economy", concurrency: 5 });
    await present("fast", { tier: "premium", concurrency: 3, tags: "gpu", models: ["gpt", "llama"] });
    await present("other", { provider: "q", tags: "gpu,eu", concurrency: 8 });
    const urgencies = ["low", "normal", "high", "critical"];
    for (let index = 0; index < 12; index += 1) {
      const urgency = urgencies[index % 4];
      const asked: Record<string, string> = {
        ...(index % 3 === 0 ? { provider: "p" } : {}),
        ...(index % 5 === 0 ? { tier: "premium" } : {}),
        ...(index % 4 === 1 ? { model: "gpt" } : {}),
      };
      const tags = index % 3 === 1 ? "gpu" : "";
      const query = new URLSearchParams({ ...asked, job_tags: tags, urgency: urgency ?? "" });
      const explained = await world.ok("GET", `/dispatch/explain?${query}`);
      expect(explained.request).toMatchObject({ ...asked, tags: tags === "" ? [] : [tags], urgency });
      const { body } = await dispatch({ ...asked, tags: tags === "" ? [] : [tags], urgency });
      expect([index, body.assigned_worker]).toEqual([index, explained.selected]);
      expect(explained.workers[0]).toMatchObject({ instance: explained.selected, eligible: true, reasons: [] });
    }
  });

  it("names as many of either kind as it is asked for, best and closest first, and counts them all", async () => {
    for (const instance of ["a", "b", "c"]) await present(instance, { tags: "x", concurrency: 2 });
    for (const instance of ["d", "e"]) await present(instance);
    const all = await world.ok("GET", "/dispatch/explain?job_tags=x");
    expect([all.eligible, all.total, all.workers.length]).toEqual([3, 5, 5]);
    const few = await world.ok("GET", "/dispatch/explain?job_tags=x&limit=1");
    expect([few.eligible, few.total, few.selected]).toEqual([3, 5, all.selected]);
    expect(few.workers).toEqual([all.workers[0], all.workers[3]]);
    for (const [worker, place] of [
      ["d", 3],
      [all.workers[1].instance, 1],
    ] as const) {
      const one = await world.ok("GET", `/dispatch/explain?job_tags=x&worker=${worker}`);
      expect([one.selected, one.eligible, one.workers]).toEqual([all.selected, 3, [all.workers[place]]]);
    }
    expect((await world.ok("GET", "/dispatch/explain?worker=nobody")).workers).toEqual([]);
    expect((await world.get("/dispatch/explain?limit=0")).status).toBe(400);
  });

  it("gives each score as the sum of its weighted parts, best first, and changes nothing", async () => {
    await present("a", { concurrency: 2, tags: "x,y" });
    await present("b", { concurrency: 2 });
    await dispatch();
    const before = await world.ok("GET", "/api/workers");
    const { workers, weights, strategy } = await world.ok("GET", "/dispatch/explain?urgency=high");
    expect(strategy).toBe("score");
    const scores = workers.map((one: Body) => one.score);
    expect(scores).toEqual(scores.toSorted((one: number, other: number) => other - one));
    for (const { score, breakdown } of workers) {
      expect(Object.keys(breakdown).sort()).toEqual(Object.keys(weights).sort());
      const sum = Object.entries(breakdown).reduce(
        (total, [part, value]) => total + (value as number) * weights[part],
        0,
      );
      expect(score).toBeCloseTo(sum, 2);
      expect(score).toBeGreaterThanOrEqual(0);
      expect(score).toBeLessThanOrEqual(100);
      for (const value of Object.values(breakdown)) {
        expect(value).toBeGreaterThanOrEqual(0);
        expect(value).toBeLessThanOrEqual(1);
      }
    }
    expect(await world.ok("GET", "/api/workers")).toEqual(before);
    expect((await world.ok("GET", "/api/jobs")).total).toBe(1);
  });

  it("explains a pending job by its id, and no other", async () => {
    await present("w1", { tags: "cpu" });
    const waiting = await world.ok("POST", "/api/jobs", { prompt: "a", tags: ["gpu"], priority: "low" });
    const explained = await world.ok("GET", `/dispatch/explain?job_id=${waiting.id}`);
    expect(explained).toMatchObject({ selected: null, request: { tags: ["gpu"], urgency: "low" } });
    expect(explained.workers[0]).toMatchObject({ instance: "w1", eligible: false, reasons: ["missing tag gpu"] });
    const taken = await world.ok("POST", "/dispatch", { prompt: "a" });
    expect((await world.get(`/dispatch/explain?job_id=${taken.id}`)).body.code).toBe("job_state");
    expect((await world.get("/dispatch/explain?job_id=nope")).status).toBe(404);
    for (const asked of ["urgency=critical", "job_tags=x", "provider=p", "model=m", "tier=premium"]) {
      const { status, body } = await world.get(`/dispatch/explain?job_id=${waiting.id}&${asked}`);
      expect([asked, status, body.errors?.[0]?.path]).toEqual([asked, 400, "job_id"]);
    }
    for (const query of ["urgency=now", "job_tags=a%20b", "tier=gold", "tags=gpu", `job_tags=${"a,".repeat(40)}b`]) {
      const expected = query.startsWith("job_tags=a,") ? 200 : 400;
      expect([query, (await world.get(`/dispatch/explain?${query}`)).status]).toEqual([query, expected]);
    }
    expect((await world.ok("GET", "/dispatch/explain")).workers).toHaveLength(1);
  });
});
