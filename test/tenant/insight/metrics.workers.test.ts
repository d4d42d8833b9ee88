// What a monitor reads: metrics, the audit log, health.

import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { Tenant } from "../../../durable-objects/tenant.ts";
import { signingSecret } from "../../../src/http/auth.ts";
import { read as readToken } from "../../../src/http/key-format.ts";
import { credentialOf } from "../../../src/tenant/tenant.ts";
import { alarm, type Body, inStorage, newWorld, request, type World } from "../../support/workerd/client.ts";
import { age, start } from "../../support/workerd/job-steps.ts";

const present = (world: World, instance = "w") =>
  world.ok("POST", "/presence", { instance, status: "idle", provider: "echo", tags: "a", concurrency: 500 });

describe("metrics", () => {
  interface Sample {
    readonly name: string;
    readonly labels: Record<string, string>;
    readonly value: number;
  }

  /** The exposition format, strictly: every sample belongs to a family that was described before it, and stands once. */
  const parse = (text: string) => {
    const families = new Map<string, string>();
    const samples: Sample[] = [];
    expect(text.endsWith("\n")).toBe(true);
    for (const line of text.trimEnd().split("\n")) {
      const described = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line);
      if (described !== null) {
        if (described[1] === "TYPE") families.set(described[2] ?? "", described[3] ?? "");
        continue;
      }
      const sample = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?[0-9.e+-]+|\+Inf|NaN)$/.exec(line);
      expect([line, sample !== null]).toEqual([line, true]);
      const labels: Record<string, string> = {};
      for (const pair of (sample?.[2] ?? "").matchAll(/([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(?:,|$)/g))
        labels[pair[1] ?? ""] = pair[2] ?? "";
      const name = sample?.[1] ?? "";
      const family = families.has(name) ? name : name.replace(/_(bucket|sum|count)$/, "");
      expect([line, families.has(family)]).toEqual([line, true]);
      samples.push({ name, labels, value: Number(sample?.[3]) });
    }
    expect(new Set(samples.map((one) => JSON.stringify([one.name, one.labels]))).size).toBe(samples.length);
    return { families, samples };
  };

  it("have each series once, whatever else tells the groups of the queue apart", async () => {
    const world = await newWorld();
    await world.ok("POST", "/api/jobs", { prompt: "x", tags: ["nobody"] });
    await world.ok("POST", "/api/jobs", { prompt: "x", tags: ["nobody"], edge: false });
    const { samples } = parse((await world.get("/metrics")).text);
    expect((await world.ok("GET", "/api/queue")).groups_total).toBe(2);
    expect(samples.find(({ name }) => name === "signalbox_queue_depth")?.value).toBe(2);
  });

  it("are Prometheus text that says what the tenant's state is", async () => {
    const world = await newWorld();
    await present(world);
    await world.ok("POST", "/dispatch", { prompt: "x" });
    await world.ok("POST", "/api/jobs", { prompt: "x", tags: ["nobody"], model: 'od"d\\\\model' });
    await world.ok("POST", "/api/jobs", { prompt: "x", tags: ["nobody"], model: 'od"d\\\\model' });
    await world.ok("POST", "/killswitch", { level: 2, reason: "drill" });
    const answer = await world.get("/metrics");
    expect(answer.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
    const { families, samples } = parse(answer.text);
    const value = (name: string, labels: Record<string, string> = {}) =>
      samples.find(
        (one) => one.name === name && Object.entries(labels).every(([label, text]) => one.labels[label] === text),
      )?.value;
    expect(value("signalbox_killswitch_level")).toBe(2);
    expect(value("signalbox_queue_jobs")).toBe(3);
    expect(value("signalbox_queue_depth", { tags: "nobody" })).toBe(2);
    const waiting = samples.filter(({ name }) => name === "signalbox_queue_waiting");
    expect(waiting.map((one) => [Object.keys(one.labels), one.value])).toEqual([
      [["provider", "model"], 2],
      [["provider", "model"], 1],
    ]);
    expect(samples.filter(({ name }) => name === "signalbox_queue_oldest_seconds")).toHaveLength(2);
    expect(value("signalbox_workers_paused")).toBe(1);
    expect(value("signalbox_workers", { status: "idle" })).toBe(1);
    expect(value("signalbox_assignment_latency_seconds_count")).toBe(1);
    expect(value("signalbox_assignment_latency_seconds_bucket", { le: "+Inf" })).toBe(1);
    expect(families.get("signalbox_assignment_latency_seconds")).toBe("histogram");
    const labels = new Set(samples.flatMap((one) => Object.keys(one.labels)));
    expect([...labels].sort()).toEqual([
      "excluded_providers",
      "le",
      "model",
      "outcome",
      "place",
      "provider",
      "status",
      "tags",
    ]);
    expect(answer.text).not.toContain("drill");
  });

  it("count each time that a periodic task fails, while the others are done", async () => {
    const world = await newWorld();
    await present(world);
    await world.ok("POST", "/api/schedules", { name: "torn", interval: "1h", prompt: "x" });
    const { id } = await start(world, await world.ok("POST", "/dispatch", { prompt: "x", timeout_seconds: 60 }));
    await inStorage(world, ({ sql }) => sql.exec("UPDATE schedules SET record = 'torn', next_run_at = 1").toArray());
    await age(world, { id }, 61);
    let counted = 0;
    for (let times = 0; times < 2; times += 1) {
      await alarm(world);
      const { samples } = parse((await world.get("/metrics")).text);
      const failures = samples.filter(({ name }) => name === "signalbox_sweep_failures_total");
      expect(failures.map(({ labels }) => labels)).toEqual([{ row: "schedules create the jobs that are due" }]);
      expect(failures[0]?.value).toBeGreaterThan(counted);
      counted = failures[0]?.value ?? 0;
    }
    expect(await world.ok("GET", `/api/jobs/${id}`)).toMatchObject({ error: { code: "timeout" } });
  });

  it("count on where they were when the object slept", async () => {
    const world = await newWorld();
    await present(world);
    const job = await world.ok("POST", "/dispatch", { prompt: "x" });
    await world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: job.lease, result: 1 });
    const counted = async () => {
      const { samples } = parse((await world.get("/metrics")).text);
      const total = samples.find(
        ({ name, labels }) => name === "signalbox_jobs_total" && labels.status === "completed",
      );
      const latency = samples.find(({ name }) => name === "signalbox_assignment_latency_seconds_count");
      return [total?.value, latency?.value];
    };
    await world.stub.drain();
    await evictDurableObject(world.stub);
    expect(await counted()).toEqual([1, 1]);
    const next = await world.ok("POST", "/dispatch", { prompt: "y" });
    await world.ok("POST", `/api/jobs/${next.id}/complete`, { lease: next.lease, result: 1 });
    expect(await counted()).toEqual([2, 2]);
  });

  it("count no job twice whose commit was rolled back, and run again, because another turn of it broke", async () => {
    const world = await newWorld();
    const token = await readToken(signingSecret(env), world.key ?? "");
    if (token === null) throw new Error("the key is no token");
    const admin = credentialOf(token);
    const [first, second] = (await world.ok("POST", "/api/jobs/batch", { jobs: [{ prompt: "x" }, { prompt: "y" }] }))
      .jobs;
    await world.ok("POST", "/api/schedules", { name: "torn", interval: "1h", prompt: "x" });
    await world.stub.drain();
    await inStorage(world, ({ sql }) => sql.exec("UPDATE schedules SET record = 'torn'").toArray());
    const turns = await runInDurableObject(world.stub, (tenant: Tenant) =>
      Promise.allSettled([
        tenant.call(admin, "cancelJob", { id: first.id }),
        tenant.call(admin, "runSchedule", { name: "torn", idempotency: null }),
        tenant.call(admin, "cancelJob", { id: second.id }),
      ]),
    );
    expect(turns.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    const { samples } = parse((await world.get("/metrics")).text);
    const total = (status: string) =>
      samples.find(({ name, labels }) => name === "signalbox_jobs_total" && labels.status === status)?.value;
    expect(total("pending")).toBe(2);
    // As after a crash, the counts of a moment may be lost.
    expect([1, 2]).toContain(total("cancelled"));
    expect((await world.ok("GET", "/api/jobs?status=cancelled")).total).toBe(2);
  });

  it("stay bounded, however many requirement groups wait", async () => {
    const world = await newWorld();
    const jobs = Array.from({ length: 300 }, (_, index) => ({ prompt: "x", tags: [`t${index}`] }));
    await world.ok("POST", "/api/jobs/batch", { jobs });
    const { samples } = parse((await world.get("/metrics")).text);
    expect(samples.length).toBeLessThan(300);
    expect(samples.find((one) => one.name === "signalbox_queue_jobs")?.value).toBe(300);
  });

  it("are for admin and standard keys", async () => {
    const world = await newWorld();
    expect((await (await world.withKey("standard")).get("/metrics")).status).toBe(200);
    expect((await (await world.withKey("worker")).get("/metrics")).status).toBe(403);
    expect((await request(null, "GET", "/metrics")).status).toBe(401);
  });
});

describe("the audit log", () => {
  it("has every administrative change with who did it, newest first, in pages, and no secret", async () => {
    const world = await newWorld();
    const ops = await world.withKey("standard", "ops");
    await present(world);
    await ops.ok("POST", "/api/workers/w/pause", { reason: "new disk" });
    await ops.ok("POST", "/api/workers/w/resume");
    const rotated = await world.ok("POST", `/api/keys/${ops.keyId}/rotate`, { grace_seconds: 60 });
    await world.ok("PUT", "/config", { routing: { strategy: "round_robin" } });
    await world.delete(`/api/keys/${ops.keyId}`);
    const log = await world.ok("GET", "/api/audit");
    expect(log).toMatchObject({ total: 7, limit: 50, offset: 0 });
    expect(log.entries.map((entry: Body) => [entry.action, entry.actor.name])).toEqual([
      ["key.revoked", "first admin key"],
      ["config.replaced", "first admin key"],
      ["key.rotated", "first admin key"],
      ["worker.resumed", "ops"],
      ["worker.paused", "ops"],
      ["key.created", "first admin key"],
      ["tenant.created", "signalbox"],
    ]);
    expect(log.entries[4]).toMatchObject({ target: "w", detail: { reason: "new disk" }, actor: { key_id: ops.keyId } });
    expect(log.entries[5]).toMatchObject({ target: ops.keyId, detail: { name: "ops", role: "standard" } });
    for (const secret of [world.key, ops.key, rotated.key]) expect(JSON.stringify(log)).not.toContain(secret);
    const page = await world.ok("GET", "/api/audit?limit=2&offset=1");
    expect(page.entries).toEqual(log.entries.slice(1, 3));
    expect((await world.get("/api/audit?limit=201")).status).toBe(400);
  });

  it("is for admins, and of this tenant alone", async () => {
    const [one, other] = [await newWorld(), await newWorld()];
    await present(one, "only-here");
    await one.ok("POST", "/api/workers/only-here/pause");
    expect(JSON.stringify(await other.ok("GET", "/api/audit"))).not.toContain("only-here");
    for (const role of ["standard", "worker"] as const)
      expect((await (await one.withKey(role)).get("/api/audit")).status).toBe(403);
  });
});

describe("health", () => {
  it("needs no key and says the version", async () => {
    const answer = await request(null, "GET", "/health");
    expect(answer).toMatchObject({
      status: 200,
      body: { status: "ok", version: expect.stringMatching(/^\d+\.\d+\.\d+/) },
    });
    expect((await request(null, "POST", "/health")).status).toBe(405);
  });
});
