// The killswitch as its table says, over HTTP and over sockets. Halted workers stay halted: across retries, evictions,
// late reports and new workers.

import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { alarm, newWorld } from "../../support/workerd/client.ts";
import { busyWorld, dispatched, engage, offer, typesOf } from "../../support/workerd/halting.ts";

const LEVELS = [1, 2, 3, 4] as const;

describe("the levels", () => {
  it("level 0 does nothing", async () => {
    const { world, running } = await busyWorld();
    const state = await engage(world, 0);
    expect(state).toMatchObject({ level: 0, active: false, halted_jobs: 0, paused_workers: 0 });
    expect(await world.ok("GET", `/api/jobs/${running.id}`)).toMatchObject({ status: "running" });
    expect(await dispatched(world)).toMatchObject({ assigned_worker: "w1" });
  });

  it.each(LEVELS)("level %i halts every job, pauses every worker and refuses dispatch", async (level) => {
    const { world, running, assigned } = await busyWorld();
    const state = await engage(world, level, "the bill explodes");
    expect(state).toMatchObject({
      level,
      reason: "the bill explodes",
      active: true,
      activated_by: "first admin key",
      halted_jobs: 2,
      paused_workers: 1,
      confirmed_workers: 0,
    });
    expect(Date.parse(state.activated_at)).not.toBeNaN();
    expect((await world.ok("GET", "/killswitch")).level).toBe(level);
    for (const { id } of [running, assigned]) {
      const job = await world.ok("GET", `/api/jobs/${id}`);
      if (level < 4) {
        expect(job).toMatchObject({ status: "pending", assigned_worker: null, attempts: 0 });
        expect(job.waiting_reason).toBe(`killswitch level ${level}`);
        expect(await typesOf(world, id)).toContain("job.halted");
      } else expect(job).toMatchObject({ status: "cancelled" });
    }
    expect((await world.ok("GET", "/api/workers/w1")).paused).toBe(true);
    const refused = await world.post("/dispatch", { prompt: "x" });
    expect(refused).toMatchObject({ status: 503, body: { code: "killswitch_active", status: 503 } });
    expect((await world.post("/dispatch?queue=true", { prompt: "x" })).status).toBe(503);
    const explained = await world.ok("GET", "/dispatch/explain");
    expect(explained.selected).toBeNull();
  });

  it.each(LEVELS)("level %i treats creating jobs as its row says", async (level) => {
    const world = await newWorld();
    await world.ok("POST", "/presence", offer("w1"));
    await engage(world, level);
    const created = await world.post("/api/jobs", { prompt: "x" });
    const batch = await world.post("/api/jobs/batch", { jobs: [{ prompt: "x" }] });
    if (level < 3) {
      expect(created).toMatchObject({ status: 201, body: { status: "pending", assigned_worker: null } });
      expect(batch.status).toBe(201);
      expect(await world.ok("GET", `/api/jobs/${created.body.id}`)).toMatchObject({ status: "pending" });
    } else {
      expect(created).toMatchObject({ status: 503, body: { code: "killswitch_active" } });
      expect(batch.status).toBe(503);
    }
  });

  it("level 4 refuses every other write, but not the killswitch, keys, presence, reports and reads", async () => {
    const { world, running } = await busyWorld();
    await world.ok("POST", "/api/schedules", { name: "s", interval: "1h", prompt: "x" });
    const pending = await world.ok("POST", "/api/jobs", { prompt: "x", provider: "nobody" });
    await engage(world, 4);
    const refused: [string, string, unknown?][] = [
      ["PATCH", `/api/jobs/${pending.id}`, { tags: ["a"] }],
      ["POST", `/api/jobs/${pending.id}/cancel`],
      ["POST", `/api/jobs/${running.id}/retry`],
      ["POST", "/api/workers/w1/pause"],
      ["POST", "/api/workers/w1/resume"],
      ["DELETE", "/api/workers/w1"],
      ["POST", "/api/schedules", { name: "t", interval: "1h", prompt: "x" }],
      ["PUT", "/api/schedules/s", { status: "paused" }],
      ["POST", "/api/schedules/s/run"],
      ["DELETE", "/api/schedules/s"],
      ["PUT", "/config", {}],
      ["POST", "/catalog/subscriptions", { provider: "openai" }],
      ["PATCH", "/catalog/subscriptions/sub_x", { models_sync_schedule: "0 0 * * *" }],
      ["POST", "/catalog/subscriptions/sub_x/sync"],
      ["DELETE", "/catalog/subscriptions/sub_x"],
    ];
    for (const [method, path, body] of refused) {
      const send = { PATCH: world.patch, POST: world.post, PUT: world.put } as Record<string, typeof world.post>;
      const answer = method === "DELETE" ? await world.delete(path) : await send[method]?.(path, body);
      expect([method, path, answer?.status, answer?.body.code]).toEqual([method, path, 503, "killswitch_active"]);
    }
    const allowed = await world.post("/api/keys", { name: "k", role: "worker" });
    expect(allowed.status).toBe(201);
    expect((await world.post(`/api/keys/${allowed.body.id}/rotate`, {})).status).toBe(200);
    expect((await world.delete(`/api/keys/${allowed.body.id}`)).status).toBe(204);
    expect((await world.post("/presence", offer("w1"))).status).toBe(200);
    expect((await world.post(`/api/jobs/${running.id}/complete`, { lease: 1, result: 1 })).status).toBe(409);
    for (const path of ["/api/jobs", "/api/schedules", "/config", "/api/audit", "/metrics", "/api/cost"]) {
      expect([path, (await world.get(path)).status]).toEqual([path, 200]);
    }
    expect((await world.delete("/killswitch?resume_all=true")).status).toBe(200);
    expect((await world.patch(`/api/jobs/${pending.id}`, { tags: ["a"] })).status).toBe(200);
  });

  it("level 4 answers what only says what would be done", async () => {
    const { world } = await busyWorld();
    await world.ok("POST", "/api/jobs", { prompt: "x", tags: ["nobody"] });
    await engage(world, 4);
    expect((await world.get("/dispatch/explain?job_tags=")).status).toBe(200);
    expect((await world.put("/config?dry_run=true", { jobs: { timeout_seconds: 5 } })).status).toBe(200);
    const place = { model: "m", copies: 1, dry_run: true };
    expect((await world.post("/api/models/place", place)).status).toBe(200);
    const bulk = { action: "cancel", filter: { status: "pending" } };
    expect(await world.ok("POST", "/api/jobs/bulk", { ...bulk, dry_run: true })).toMatchObject({ remaining: 1 });
    expect((await world.post("/api/jobs/bulk", bulk)).body.code).toBe("killswitch_active");
    const viewer = await world.withKey("viewer");
    expect((await viewer.post("/api/jobs/bulk", { ...bulk, dry_run: true })).status).toBe(403);
  });

  it("keeps a job's attempts and its place in the queue", async () => {
    const { world, running } = await busyWorld();
    const younger = await world.ok("POST", "/api/jobs", { prompt: "younger", tags: ["solo"] });
    await engage(world, 1);
    await world.ok("DELETE", "/killswitch?resume_all=true");
    const again = await world.ok("GET", `/api/jobs/${running.id}`);
    expect(again).toMatchObject({ status: "assigned", attempts: 0, lease: 2 });
    expect(younger.status).toBe("pending");
  });

  it("answers late reports of a halted lease with 409, changes nothing, and counts once what the attempt spent", async () => {
    const { world, running, assigned } = await busyWorld();
    await engage(world, 1);
    const lease = running.lease;
    const reports: [string, string, unknown][] = [
      [running.id, "start", { lease }],
      [running.id, "heartbeat", { lease }],
      [running.id, "complete", { lease, result: "late", cost_usd: 5 }],
      [running.id, "fail", { lease, error: { code: "x", message: "x" } }],
      [running.id, "release", { lease, reason: "late" }],
      [assigned.id, "start", { lease: assigned.lease }],
    ];
    for (const [id, verb, body] of reports) {
      const answer = await world.post(`/api/jobs/${id}/${verb}`, body);
      expect([verb, answer.status, answer.body.code]).toEqual([verb, 409, "lease_lost"]);
    }
    await world.ok("DELETE", "/killswitch?resume_all=true");
    expect((await world.post(`/api/jobs/${running.id}/complete`, { lease, result: "late" })).status).toBe(409);
    expect((await world.ok("GET", "/api/cost")).total_usd).toBe(5);
  });
});

describe("raising and lowering", () => {
  it("counts a paused worker once, though it was resumed between two levels", async () => {
    const { world } = await busyWorld();
    await world.ok("POST", "/presence", offer("w2"));
    expect(await engage(world, 1)).toMatchObject({ paused_workers: 2 });
    await world.ok("POST", "/api/workers/w2/resume");
    expect(await engage(world, 2)).toMatchObject({ paused_workers: 2 });
  });

  it("does what the new level does", async () => {
    const { world, running } = await busyWorld();
    const first = await engage(world, 1, "one");
    const raised = await engage(world, 3, "three");
    expect(raised).toMatchObject({ level: 3, reason: "three", halted_jobs: 2, paused_workers: 1 });
    expect(raised.activated_at).toBe(first.activated_at);
    expect((await world.post("/api/jobs", { prompt: "x" })).status).toBe(503);
    await engage(world, 4, "four");
    expect(await world.ok("GET", `/api/jobs/${running.id}`)).toMatchObject({ status: "cancelled" });
    expect((await world.put("/config", {})).status).toBe(503);
    await engage(world, 2, "two");
    expect((await world.post("/api/jobs", { prompt: "x" })).status).toBe(201);
    expect((await world.put("/config", {})).status).toBe(200);
    expect((await world.post("/dispatch", { prompt: "x" })).status).toBe(503);
  });

  it("refuses an invalid level", async () => {
    const world = await newWorld();
    for (const body of [
      { level: 5, reason: "x" },
      { level: -1, reason: "x" },
      { level: 1.5, reason: "x" },
      { level: 1, reason: 1 },
    ]) {
      expect((await world.post("/killswitch", body)).status).toBe(400);
    }
    expect((await world.delete("/killswitch?resume_all=maybe")).status).toBe(400);
  });

  it("does not refuse to stop because of a long reason, or one of several lines", async () => {
    const world = await newWorld();
    const { reason } = await engage(world, 4, `the bill\n\texplodes ${"!".repeat(600)}`);
    expect(reason).toHaveLength(500);
    expect((await engage(world, 4, `${"x".repeat(499)}😀`)).reason).toBe("x".repeat(499));
    expect(reason).toMatch(/^the bill explodes !/);
  });

  it("does not refuse to stop for want of a reason", async () => {
    const world = await newWorld();
    for (const [level, reason] of [
      [1, undefined],
      [2, null],
      [3, ""],
      [4, " \n"],
    ] as const) {
      expect(await world.ok("POST", "/killswitch", { level, reason })).toMatchObject({ level, reason: null });
    }
  });
});

describe("clearing", () => {
  it("leaves workers paused without resume_all, and each can be resumed", async () => {
    const { world, running } = await busyWorld();
    await engage(world, 2);
    const state = await world.ok("DELETE", "/killswitch");
    expect(state).toMatchObject({ level: 0, active: false, reason: null, activated_at: null });
    expect((await world.ok("GET", "/api/workers/w1")).paused).toBe(true);
    expect((await world.post("/dispatch", { prompt: "x" })).body.title).toBe("No eligible workers");
    expect(await world.ok("GET", `/api/jobs/${running.id}`)).toMatchObject({ status: "pending" });
    await world.ok("POST", "/api/workers/w1/resume");
    expect(await world.ok("GET", `/api/jobs/${running.id}`)).toMatchObject({ status: "assigned" });
  });

  it("with resume_all resumes the workers it paused, and not those that an operator had paused", async () => {
    const world = await newWorld();
    await world.ok("POST", "/presence", offer("hand"));
    await world.ok("POST", "/presence", offer("auto"));
    await world.ok("POST", "/api/workers/hand/pause", { reason: "new disk" });
    await engage(world, 1);
    await world.ok("DELETE", "/killswitch?resume_all=true");
    expect(await world.ok("GET", "/api/workers/hand")).toMatchObject({ paused: true, pause_reason: "new disk" });
    expect(await world.ok("GET", "/api/workers/auto")).toMatchObject({ paused: false, pause_reason: null });
  });

  it("can be done twice, and resume_all can follow a plain clear", async () => {
    const { world } = await busyWorld();
    await engage(world, 1);
    await world.ok("DELETE", "/killswitch");
    await world.ok("DELETE", "/killswitch");
    expect((await world.ok("GET", "/api/workers/w1")).paused).toBe(true);
    await world.ok("DELETE", "/killswitch?resume_all=true");
    expect((await world.ok("GET", "/api/workers/w1")).paused).toBe(false);
  });
});

describe("what it outlives", () => {
  it("the object's eviction", async () => {
    const { world, running } = await busyWorld();
    const before = await engage(world, 3, "stays");
    await evictDurableObject(world.stub);
    const { unconfirmed } = before;
    expect(await world.ok("GET", "/killswitch")).toEqual({
      ...before,
      unconfirmed: unconfirmed.map((one: object) => ({ ...one, last_heartbeat: expect.any(String) })),
    });
    expect((await world.post("/dispatch", { prompt: "x" })).status).toBe(503);
    await alarm(world);
    expect(await world.ok("GET", `/api/jobs/${running.id}`)).toMatchObject({ status: "pending" });
    expect((await world.ok("GET", "/api/workers/w1")).paused).toBe(true);
  });

  it("a worker that registers meanwhile is paused, too, until resume_all", async () => {
    const world = await newWorld();
    await engage(world, 1);
    const { worker } = await world.ok("POST", "/presence", offer("late"));
    expect(worker.paused).toBe(true);
    const job = await world.ok("POST", "/api/jobs", { prompt: "x" });
    await world.ok("POST", "/presence", offer("late"));
    expect((await world.ok("POST", "/api/workers/late/claim", { max: 1 })).jobs).toEqual([]);
    expect(await world.ok("GET", `/api/jobs/${job.id}`)).toMatchObject({ status: "pending" });
    await world.ok("DELETE", "/killswitch?resume_all=true");
    expect(await world.ok("GET", `/api/jobs/${job.id}`)).toMatchObject({ status: "assigned" });
  });

  it("a failed job may be retried and waits", async () => {
    const world = await newWorld();
    await world.ok("POST", "/presence", offer("w1"));
    const job = await dispatched(world);
    await world.ok("POST", `/api/jobs/${job.id}/fail`, { lease: job.lease, error: { code: "x", message: "x" } });
    await engage(world, 3);
    expect(await world.ok("POST", `/api/jobs/${job.id}/retry`)).toMatchObject({ status: "pending" });
  });
});

describe("who may, and what is written down", () => {
  it("is for admin and standard keys, not for workers", async () => {
    const world = await newWorld();
    const standard = await world.withKey("standard", "ops");
    const worker = await world.withKey("worker");
    expect((await engage(standard, 1)).activated_by).toBe("ops");
    expect((await worker.post("/killswitch", { level: 1, reason: "x" })).status).toBe(403);
    expect((await worker.delete("/killswitch")).status).toBe(403);
  });

  it("is in the audit log with who, level, reason and effect", async () => {
    const { world } = await busyWorld();
    await engage(world, 2, "drill");
    await world.ok("POST", "/presence", offer("by-hand"));
    await world.ok("POST", "/api/workers/by-hand/pause");
    await world.ok("DELETE", "/killswitch?resume_all=true");
    const { entries } = await world.ok("GET", "/api/audit");
    expect(entries[0]).toMatchObject({
      action: "killswitch.cleared",
      actor: { name: "first admin key" },
      detail: { before: 2, resume_all: true, resumed_workers: 1 },
    });
    expect(entries[2]).toMatchObject({
      action: "killswitch.activated",
      target: "level 2",
      detail: { reason: "drill", before: 0, halted_jobs: 2, paused_workers: 1 },
    });
  });
});

describe("raised to a full halt", () => {
  it("cancels what a lower level of the same halt had put back, and nothing that was queued before", async () => {
    const { world, running, assigned } = await busyWorld();
    const queued = await world.ok("POST", "/api/jobs", { prompt: "x", tags: ["nobody"] });
    const statuses = () =>
      Promise.all([running, assigned, queued].map(async ({ id }) => (await world.ok("GET", `/api/jobs/${id}`)).status));
    await engage(world, 1);
    expect(await statuses()).toEqual(["pending", "pending", "pending"]);
    await evictDurableObject(world.stub);
    expect(await engage(world, 4)).toMatchObject({ level: 4, halted_jobs: 2 });
    expect(await statuses()).toEqual(["cancelled", "cancelled", "pending"]);
    expect(await typesOf(world, running.id)).toContain("job.cancelled");
  });

  it("leaves alone what an earlier halt had put back", async () => {
    const { world, running } = await busyWorld();
    await engage(world, 2);
    await world.ok("DELETE", "/killswitch");
    await engage(world, 4);
    expect(await world.ok("GET", `/api/jobs/${running.id}`)).toMatchObject({ status: "pending" });
  });
});
