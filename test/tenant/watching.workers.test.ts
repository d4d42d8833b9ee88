// What an operator sees and signs in with: the live socket, the dashboard's session, metrics, the audit log, health.

import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import {
  type Body,
  type Client,
  connect,
  newWorld,
  ORIGIN,
  request,
  type Socket,
  type World,
} from "../support/workerd/client.ts";

const present = (world: World, instance = "w") =>
  world.ok("POST", "/presence", { instance, status: "idle", provider: "echo", tags: "a", concurrency: 500 });

const watch = async (world: Client): Promise<Socket> => {
  const { socket, status } = await connect("/live", { authorization: `Bearer ${world.key}` });
  if (socket === null) throw new Error(`no socket: ${status}`);
  await socket.next((message) => message.type === "snapshot");
  return socket;
};
const signIn = async (key: string | null) => {
  const answer = await request(null, "POST", "/session", { key });
  const cookie = answer.headers.get("set-cookie") ?? "";
  return { answer, cookie, pair: cookie.split(";")[0] ?? "" };
};

describe("the live socket", () => {
  it("begins with a snapshot of everything open", async () => {
    const world = await newWorld();
    await present(world);
    const job = await world.ok("POST", "/dispatch", { prompt: `${"long ".repeat(100)}`, input: { secret: "input" } });
    await world.ok("POST", "/api/schedules", { name: "s", interval: "1h", prompt: "x" });
    const viewer = await watch(world);
    const [snapshot] = viewer.messages;
    expect(snapshot).toMatchObject({
      type: "snapshot",
      seq: 1,
      killswitch: { level: 0, active: false },
      workers_total: 1,
      counts: { assigned: 1, pending: 0 },
    });
    expect(snapshot.jobs.map((one: Body) => one.id)).toEqual([job.id]);
    expect(snapshot.workers[0]).toMatchObject({ instance: "w", current_load: 1 });
    expect(snapshot.schedules[0]).toMatchObject({ name: "s" });
    expect(JSON.stringify(snapshot)).not.toContain("secret");
  });

  it("tells of jobs, workers, the killswitch, schedules, cost and catalog, numbered without gaps, over an eviction", async () => {
    const world = await newWorld();
    const viewer = await watch(world);
    const told = (type: string, fits: (message: Body) => boolean = () => true) =>
      viewer.next((message) => message.type === type && fits(message));
    await present(world);
    await told("worker.updated", (message) => message.worker.instance === "w");
    const job = await world.ok("POST", "/dispatch", { prompt: "x" });
    await told("job.updated", (message) => message.job.id === job.id && message.job.status === "assigned");
    await evictDurableObject(world.stub);
    await world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: 1, result: 1, cost_usd: 0.25 });
    await told("job.updated", (message) => message.job.id === job.id && message.job.status === "completed");
    expect(await told("cost.updated")).toMatchObject({ today_usd: 0.25, budget_reached: null });
    await world.ok("POST", "/api/schedules", { name: "s", interval: "1h", prompt: "x" });
    expect((await told("schedule.updated")).schedules).toHaveLength(1);
    await world.ok("PUT", "/config", { budget: { day_usd: 0.1 } });
    expect(await told("cost.updated", (message) => message.budget_reached !== null)).toMatchObject({
      budget_reached: { period: "day", limit_usd: 0.1, spent_usd: 0.25 },
    });
    await world.ok("POST", "/killswitch", { level: 2, reason: "drill" });
    expect(await told("killswitch.updated")).toMatchObject({ killswitch: { level: 2, reason: "drill" } });
    await world.stub.learnCatalog({ provider: "openai", models: [{ id: "a" }] });
    expect(await told("catalog.updated")).toMatchObject({ removed_models: [] });
    expect(viewer.messages.map((message) => message.seq)).toEqual(viewer.messages.map((_, index) => index + 1));
  });

  it("counts jobs by status, like the list: a job that failed, was retried and failed again is one", async () => {
    const world = await newWorld();
    await present(world);
    const { id } = await world.ok("POST", "/dispatch", { prompt: "x" });
    const error = { code: "boom", message: "x", status: 400 };
    await world.ok("POST", `/api/jobs/${id}/fail`, { lease: 1, error });
    await world.ok("POST", `/api/jobs/${id}/retry`);
    const counts = async () => (await watch(world)).messages[0].counts;
    expect(await counts()).toMatchObject({ failed: 0, assigned: 1 });
    await world.ok("POST", `/api/jobs/${id}/fail`, { lease: 2, error });
    expect(await counts()).toMatchObject({ failed: 1, assigned: 0 });
    expect((await world.ok("GET", "/api/jobs?status=failed")).total).toBe(1);
    await world.stub.drain();
    await evictDurableObject(world.stub);
    expect(await counts()).toMatchObject({ failed: 1 });
  });

  it("shows the whole fleet in sums by provider, and tells of them when they change", async () => {
    const world = await newWorld();
    const report = (instance: string, facts: object = {}) =>
      world.ok("POST", "/presence", { instance, status: "idle", provider: "pa", tags: "", concurrency: 3, ...facts });
    await report("one");
    await report("two", { unavailable: "its runtime does not answer" });
    await report("three");
    await world.ok("POST", "/api/workers/three/pause", { reason: "drill" });
    await world.ok("POST", "/dispatch", { prompt: "x" });
    const viewer = await watch(world);
    const { fleet } = await viewer.next((message) => message.type === "snapshot");
    const sums = { provider: "pa", workers: 3, offline: 0, paused: 1, unavailable: 1, places: 3, load: 1 };
    expect(fleet).toEqual([sums]);
    await report("four", { provider: "pb", concurrency: 2 });
    const told = await viewer.next((message) => message.type === "fleet.updated" && message.fleet.length === 2);
    expect(told.fleet[1]).toMatchObject({ provider: "pb", workers: 1, places: 2, load: 0 });
  });

  it("cuts the start of a prompt between characters, never within one", async () => {
    const world = await newWorld();
    await world.ok("POST", "/api/jobs", { prompt: `${"a".repeat(199)}🚂 and more` });
    const viewer = await watch(world);
    const { jobs } = await viewer.next((message) => message.type === "snapshot");
    expect(jobs[0].prompt_start).toBe("a".repeat(199));
  });

  it("shows what waits, and what happened minute by minute, and tells of both when they change", async () => {
    const world = await newWorld();
    await world.ok("POST", "/api/jobs", { prompt: "x", provider: "openai", tags: ["gpu"] });
    const viewer = await watch(world);
    const snapshot = await viewer.next((message) => message.type === "snapshot");
    expect(snapshot.queue).toMatchObject({
      total: 1,
      groups: [{ provider: "openai", tags: ["gpu"], count: 1, reason: "no worker is registered" }],
    });
    expect(snapshot.minutes.at(-1)).toMatchObject({ created: 1, completed: 0, failed: 0, cancelled: 0 });
    await present(world);
    await viewer.next(
      (message) => message.type === "queue.updated" && message.queue.groups[0]?.reason !== "no worker is registered",
    );
    const job = await world.ok("POST", "/dispatch", { prompt: "x" });
    await world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: 1, result: 1 });
    const told = await viewer.next(
      (message) =>
        message.type === "activity.updated" &&
        message.minutes.reduce((sum: number, { completed }: Body) => sum + completed, 0) === 1,
    );
    expect(told.minutes.reduce((sum: number, { created }: Body) => sum + created, 0)).toBe(2);
    await world.ok("GET", "/api/jobs");
    await evictDurableObject(world.stub);
    const later = await watch(world);
    const again = await later.next((message) => message.type === "snapshot");
    expect(again.minutes.reduce((sum: number, { created }: Body) => sum + created, 0)).toBe(2);
  });

  it("under load sends the latest state of each job, all of them, in at most ten frames a second", async () => {
    const world = await newWorld();
    await present(world);
    const viewer = await watch(world);
    const jobs: Body[] = (
      await world.ok("POST", "/api/jobs/batch", { jobs: Array.from({ length: 450 }, () => ({ prompt: "x" })) })
    ).jobs;
    for (let at = 0; at < jobs.length; at += 50) {
      await Promise.all(
        jobs.slice(at, at + 50).map((job) => world.ok("POST", `/api/jobs/${job.id}/complete`, { lease: 1, result: 1 })),
      );
    }
    const latest = () => {
      const states = new Map<string, string>();
      for (const message of viewer.messages)
        if (message.type === "job.updated") states.set(message.job.id, message.job.status);
      return states;
    };
    await expect
      .poll(() => [...latest().values()].filter((status) => status === "completed").length, { timeout: 20_000 })
      .toBe(450);
    const updates = viewer.messages.filter((message) => message.type === "job.updated");
    expect(updates.length).toBeLessThan(450 * 3);
    for (const [index, frame] of viewer.frames.entries()) {
      const tenth = viewer.frames[index + 10];
      if (tenth !== undefined) expect(tenth.at - frame.at).toBeGreaterThanOrEqual(900);
    }
    expect(viewer.messages.map((message) => message.seq)).toEqual(viewer.messages.map((_, index) => index + 1));
  });

  it("shows a viewer its own tenant only", async () => {
    const [one, other] = [await newWorld(), await newWorld()];
    const viewer = await watch(one);
    await present(other, "foreign");
    await other.ok("POST", "/api/jobs", { prompt: "foreign" });
    await present(one, "own");
    await viewer.next((message) => message.type === "worker.updated" && message.worker.instance === "own");
    expect(JSON.stringify(viewer.messages)).not.toContain("foreign");
  });

  it("is for admin and standard keys; others, and plain requests, are refused", async () => {
    const world = await newWorld();
    expect((await watch(await world.withKey("standard"))).messages[0].type).toBe("snapshot");
    const worker = await world.withKey("worker");
    expect(await connect("/live", { authorization: `Bearer ${worker.key}` })).toMatchObject({
      status: 403,
      body: { code: "forbidden" },
    });
    expect((await connect("/live", {})).status).toBe(401);
    expect((await connect("/live", { authorization: "Bearer nonsense" })).status).toBe(401);
    expect((await world.get("/live")).status).toBe(426);
  });

  it("with the session's cookie asks for the page's own origin", async () => {
    const world = await newWorld();
    const { pair } = await signIn(world.key);
    expect((await connect("/live", { cookie: pair })).status).toBe(403);
    expect((await connect("/live", { cookie: pair, origin: "https://evil.example" })).status).toBe(403);
    expect((await connect("/live", { cookie: pair, origin: "null" })).status).toBe(403);
    expect((await connect("/live", { cookie: pair, origin: ORIGIN })).socket).not.toBeNull();
  });

  it("closes when its key ends", async () => {
    const world = await newWorld();
    const standard = await world.withKey("standard");
    const viewer = await watch(standard);
    await world.delete(`/api/keys/${standard.keyId}`);
    expect((await viewer.closed).code).toBe(4401);
  });
});

describe("the dashboard's session", () => {
  it("is a cookie that scripts cannot read and other sites cannot send", async () => {
    const world = await newWorld();
    const { answer, cookie, pair } = await signIn(world.key);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ tenant: world.tenant, role: "admin" });
    expect(answer.text).not.toContain(world.key ?? "");
    for (const flag of ["HttpOnly", "SameSite=Strict", "Secure", "Path=/"]) expect(cookie).toContain(flag);
    expect(cookie).not.toContain("Domain");
    expect(cookie).not.toContain(world.key ?? "");
    expect(pair).toMatch(/^__Host-/);
    const me = await request(null, "GET", "/api/jobs", undefined, { headers: { cookie: pair } });
    expect(me.status).toBe(200);
  });

  it("acts with the role of its key, and no other", async () => {
    const world = await newWorld();
    const { pair } = await signIn((await world.withKey("standard")).key);
    const headers = { cookie: pair, origin: ORIGIN };
    expect((await request(null, "GET", "/api/audit", undefined, { headers })).status).toBe(403);
    expect((await request(null, "POST", "/api/jobs", { prompt: "x" }, { headers })).status).toBe(201);
  });

  it("changes nothing for a page of another origin", async () => {
    const world = await newWorld();
    const { pair } = await signIn(world.key);
    const post = (headers: Record<string, string>) =>
      request(null, "POST", "/killswitch", { level: 1, reason: "x" }, { headers: { cookie: pair, ...headers } });
    for (const headers of [
      { origin: "https://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
    ]) {
      expect((await post(headers)).status).toBe(403);
    }
    expect((await world.ok("GET", "/killswitch")).level).toBe(0);
    expect((await post({ origin: ORIGIN })).status).toBe(200);
  });

  it("dies with its key, with its rotation, and when it is ended", async () => {
    const world = await newWorld();
    const see = (pair: string) => request(null, "GET", "/api/jobs", undefined, { headers: { cookie: pair } });
    for (const end of ["revoke", "rotate", "sign out"]) {
      const key = await world.withKey("standard");
      const { pair } = await signIn(key.key);
      expect((await see(pair)).status).toBe(200);
      if (end === "revoke") await world.delete(`/api/keys/${key.keyId}`);
      else if (end === "rotate") await world.ok("POST", `/api/keys/${key.keyId}/rotate`, {});
      else
        expect(
          (await request(null, "DELETE", "/session", undefined, { headers: { cookie: pair, origin: ORIGIN } })).status,
        ).toBe(204);
      expect([end, (await see(pair)).status]).toEqual([end, 401]);
    }
  });

  it("is not given for a wrong key or another session, and a forged cookie is refused", async () => {
    const world = await newWorld();
    const { pair } = await signIn(world.key);
    const token = pair.split("=")[1] ?? "";
    for (const key of ["nonsense", `${world.key}x`, token]) expect((await signIn(key)).answer.status).toBe(401);
    const forged = `${pair.slice(0, -2)}zz`;
    expect((await request(null, "GET", "/api/jobs", undefined, { headers: { cookie: forged } })).status).toBe(401);
    expect((await request(token, "GET", "/api/jobs")).status).toBe(401);
  });
});

describe("metrics", () => {
  interface Sample {
    readonly name: string;
    readonly labels: Record<string, string>;
    readonly value: number;
  }

  /** The exposition format, strictly: every sample belongs to a family that was described before it. */
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
    return { families, samples };
  };

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
    expect(value("signalbox_workers_paused")).toBe(1);
    expect(value("signalbox_workers", { status: "idle" })).toBe(1);
    expect(value("signalbox_assignment_latency_seconds_count")).toBe(1);
    expect(value("signalbox_assignment_latency_seconds_bucket", { le: "+Inf" })).toBe(1);
    expect(families.get("signalbox_assignment_latency_seconds")).toBe("histogram");
    const labels = new Set(samples.flatMap((one) => Object.keys(one.labels)));
    expect([...labels].sort()).toEqual(["excluded_providers", "le", "model", "outcome", "provider", "status", "tags"]);
    expect(answer.text).not.toContain("drill");
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
