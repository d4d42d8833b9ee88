// A tenant's one alarm: never later than what is due, and set again if it was lost.

import { evictDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { ageJob, alarm, type Body, inStorage, JOURNAL_DUE, newWorld, type World } from "../support/workerd/client.ts";
import { dispatch, fail, get, present, runningJob, start } from "../support/workerd/job-steps.ts";

/** The Cron Trigger's minute. */
const minute = () =>
  (exports.default as unknown as { scheduled(event: { cron: string }): Promise<unknown> }).scheduled({
    cron: "* * * * *",
  });

describe("the alarm", () => {
  /** The earliest instant at which anything stored is due. */
  const earliestDue = (storage: DurableObjectStorage): number | null => {
    const queries = [
      "SELECT MIN(due_at) AS at FROM jobs",
      JOURNAL_DUE,
      "SELECT MIN(next_run_at) AS at FROM schedules",
      "SELECT MIN(until_at) AS at FROM backoffs",
      "SELECT MIN(expires_at) AS at FROM sessions",
      "SELECT MIN(expires_at) AS at FROM idempotency",
      "SELECT MIN(record ->> '$.previousUntilAt') AS at FROM keys",
      "SELECT MIN(record ->> '$.pause.untilAt') AS at FROM workers",
      "SELECT MIN(record ->> '$.opening.changesAt') AS at FROM workers",
    ];
    const instants = queries.map((query) => storage.sql.exec(query).one().at).filter((at) => typeof at === "number");
    return instants.length === 0 ? null : Math.min(...instants);
  };
  /** While the handler runs the platform shows no alarm; then it is read again. */
  const expectArmed = async (world: World, what: string) => {
    const look = () =>
      inStorage(world, async (storage) => {
        const dueAt = earliestDue(storage);
        return { armedAt: await storage.getAlarm(), dueAt, nowAt: Date.now() };
      });
    let seen = await look();
    await expect
      .poll(async () => {
        if (seen.dueAt !== null && seen.armedAt === null) seen = await look();
        return seen.dueAt === null || seen.armedAt !== null;
      })
      .toBe(true);
    const { armedAt, dueAt, nowAt } = seen;
    if (dueAt !== null) expect([what, (armedAt ?? 0) <= Math.max(dueAt, nowAt)]).toEqual([what, true]);
  };

  it.each([false, true])(
    "is never later than what is due, after any write (evicted in between: %s)",
    async (isEvicting) => {
      const world = await newWorld();
      let job: Body;
      const soon = () => new Date(Date.now() + 60_000).toISOString();
      const writes: [string, () => Promise<unknown>][] = [
        ["presence", () => present(world)],
        ["a schedule far off", () => world.ok("POST", "/api/schedules", { name: "far", interval: "1d", prompt: "x" })],
        ["a session", () => world.post("/session", { key: world.key })],
        ["a schedule nearer", () => world.ok("POST", "/api/schedules", { name: "near", interval: "1h", prompt: "x" })],
        ["run_at", () => world.ok("POST", "/api/jobs", { prompt: "x", run_at: soon() })],
        ["idempotency", () => world.post("/api/jobs", { prompt: "x" }, { headers: { "idempotency-key": "k" } })],
        [
          "dispatch",
          async () => {
            job = await dispatch(world);
          },
        ],
        ["start", () => start(world, job)],
        ["heartbeat", () => world.ok("POST", `/api/jobs/${job.id}/heartbeat`, { lease: job.lease })],
        ["presence again", () => present(world)],
        ["hours", () => world.ok("PUT", "/api/workers/w/hours", { hours: "00:00-12:00" })],
        ["a pause with an end", () => world.ok("POST", "/api/workers/w/pause", { until: soon() })],
        [
          "config",
          () =>
            world.ok("PUT", "/config", { jobs: { timeout_seconds: 20 }, providers: { openai: { rate_limit: {} } } }),
        ],
        ["a rate limit", () => fail(world, job, { code: "rate_limited" })],
        [
          "a rotation with grace",
          async () => {
            const key = await world.withKey("worker");
            await world.ok("POST", `/api/keys/${key.keyId}/rotate`, { grace_seconds: 30 });
          },
        ],
        ["killswitch", () => world.ok("POST", "/killswitch", { level: 1, reason: "x" })],
        ["clear", () => world.ok("DELETE", "/killswitch?resume_all=true")],
        ["an alarm", () => alarm(world)],
        ["an alarm again", () => alarm(world)],
        ["an edit", () => world.ok("PUT", "/api/schedules/near", { interval: "2s" })],
      ];
      for (const [what, write] of writes) {
        await write();
        await expectArmed(world, what);
        if (!isEvicting) continue;
        await evictDurableObject(world.stub);
        await world.get("/killswitch");
        await expectArmed(world, `${what}, after an eviction`);
      }
    },
  );

  it("set before an eviction is not put off by what the first turn after it arms", async () => {
    const world = await newWorld();
    const job = await runningJob(world);
    const { next_run_at } = await world.ok("POST", "/api/schedules", { name: "s", interval: "45s", prompt: "x" });
    await alarm(world);
    await world.stub.drain();
    await world.stub.poke();
    await evictDurableObject(world.stub);
    await world.ok("POST", `/api/jobs/${job.id}/heartbeat`, { lease: 1, progress: "half" });
    const armedAt = await inStorage(world, (storage) => storage.getAlarm());
    expect(armedAt).toBeLessThanOrEqual(Date.parse(next_run_at));
  });

  it("that was lost comes back with the next request", async () => {
    const world = await newWorld();
    await world.ok("POST", "/api/schedules", { name: "s", interval: "1h", prompt: "x" });
    await world.stub.drain();
    await inStorage(world, (storage) => storage.deleteAlarm());
    await evictDurableObject(world.stub);
    await world.get("/killswitch");
    await expectArmed(world, "a read");
  });

  it("that was lost comes back for what history has not got yet, too", async () => {
    const world = await newWorld();
    await world.ok("POST", "/api/jobs", { prompt: "x", tags: ["nobody"] });
    const outbox = () => inStorage(world, (storage) => storage.sql.exec("SELECT COUNT(*) AS n FROM outbox").one().n);
    await inStorage(world, (storage) => storage.deleteAlarm());
    await evictDurableObject(world.stub);
    await world.get("/killswitch");
    await expect.poll(outbox).toBe(0);
  });

  it("of which one part fails does the rest, and tries that again", async () => {
    const world = await newWorld();
    await present(world);
    const job = await dispatch(world, {});
    await ageJob(world, job.id, 31_000, ["assignedAt"]);
    await inStorage(world, (storage) =>
      storage.sql.exec("INSERT INTO schedules (name, next_run_at, record) VALUES ('broken', 1, '{')"),
    );
    await alarm(world);
    expect(await get(world, job)).toMatchObject({ status: "assigned", lease: job.lease + 1 });
    const armedAt = await inStorage(world, (storage) => storage.getAlarm());
    expect(armedAt).toBeGreaterThan(Date.now());
  });

  it("of a tenant whose rows cannot be read comes again, and does not fail", async () => {
    const world = await newWorld();
    await inStorage(world, async (storage) => {
      storage.sql.exec("INSERT INTO workers (instance, record) VALUES ('broken', '{')");
      await storage.setAlarm(Date.now() + 60_000);
    });
    await evictDurableObject(world.stub);
    expect(await alarm(world)).toBe(true);
    const armedAt = await inStorage(world, (storage) => storage.getAlarm());
    expect(armedAt).toBeGreaterThan(Date.now());
    expect(armedAt).toBeLessThan(Date.now() + 10_000);
  });

  it("for a time that the platform cannot set comes earlier, and the job waits on", async () => {
    const world = await newWorld();
    const made = await world.ok("POST", "/api/jobs", { prompt: "x", run_at: "9000-01-01T00:00:00Z" });
    await world.stub.drain();
    await alarm(world);
    expect(await get(world, made)).toMatchObject({ status: "pending", run_at: "9000-01-01T00:00:00.000Z" });
    expect(await inStorage(world, (storage) => storage.getAlarm())).toBeGreaterThan(Date.now() + 86_400_000);
  });

  it("with nothing due changes nothing", async () => {
    const world = await newWorld();
    const job = await runningJob(world);
    await world.stub.drain();
    const before = await get(world, job);
    await world.stub.poke();
    await world.stub.poke();
    expect(await get(world, job)).toEqual(before);
  });

  it("that the platform gave up is made good by the minute's cron", async () => {
    const world = await newWorld();
    await present(world);
    const job = await start(world, await dispatch(world, { timeout_seconds: 300 }));
    await alarm(world);
    await world.stub.drain();
    const { wake_at: told } =
      (await env.DB.prepare("SELECT wake_at FROM tenants WHERE tenant = ?1")
        .bind(world.tenant)
        .first<{ wake_at: number | null }>()) ?? {};
    expect(told).toBeGreaterThan(Date.now() + 60_000);
    await ageJob(world, job.id, 400_000, ["startedAt"]);
    await inStorage(world, (storage) => storage.deleteAlarm());
    await evictDurableObject(world.stub);
    await env.DB.prepare("UPDATE tenants SET wake_at = ?2 WHERE tenant = ?1")
      .bind(world.tenant, Date.now() - 200_000)
      .run();
    await minute();
    expect(await get(world, job)).toMatchObject({ status: "failed", error: { code: "timeout" } });
    const row = await env.DB.prepare("SELECT wake_at FROM tenants WHERE tenant = ?1")
      .bind(world.tenant)
      .first<{ wake_at: number | null }>();
    expect(row?.wake_at ?? Number.POSITIVE_INFINITY).toBeGreaterThan(Date.now() - 60_000);
  });
});
