// Schedules over the API: created, edited, audited.

import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { alarm, type Body, newWorld, request } from "../../support/workerd/client.ts";
import { create, HOUR_MS, history, jobsOf, read, turnBack } from "../../support/workerd/schedules.ts";

describe("creating", () => {
  it("answers 201 with every field, its defaults and the next run", async () => {
    const world = await newWorld();
    const before = Date.now();
    const { status, body } = await create(world, { interval: "15m" });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      name: "s",
      cron: null,
      interval: "15m",
      timezone: "UTC",
      prompt: "hello",
      input: null,
      provider: null,
      model: null,
      priority: "normal",
      tier: null,
      tags: [],
      overlap: "allow",
      status: "active",
      last_run_at: null,
    });
    expect(Date.parse(body.next_run_at) - Date.parse(body.created_at)).toBe(15 * 60_000);
    expect(Date.parse(body.created_at)).toBeGreaterThanOrEqual(before);
    expect(await read(world)).toEqual(body);
  });

  it("names files that are there, also when it is changed or previewed", async () => {
    const world = await newWorld();
    const gone = { files: ["file-none"] };
    const refusals = [
      await create(world, gone),
      await world.post("/api/schedules/preview?preview=1", { name: "s", interval: "1h", prompt: "x", ...gone }),
    ];
    const raw = { raw: "x", headers: { "content-type": "text/plain" } };
    const { id } = (await world.post("/api/files?name=x", undefined, raw)).body;
    expect((await create(world, { files: [id] })).body).toMatchObject({ files: [id] });
    refusals.push(await world.put("/api/schedules/s", gone));
    for (const { status, body } of refusals)
      expect([status, body.errors]).toEqual([
        400,
        [{ path: "files.0", message: expect.stringContaining("file-none") }],
      ]);
    await world.ok("DELETE", `/api/files/${id}`);
    expect(await world.ok("PUT", "/api/schedules/s", { prompt: "other" })).toMatchObject({ files: [id] });
  });

  it("takes a cron in a time zone and says the next runs over the change of the clocks", async () => {
    const world = await newWorld();
    const cron = { name: "daily", cron: "30 9 * * *", interval: undefined, timezone: "Europe/Berlin" };
    expect((await create(world, cron)).status).toBe(201);
    const { next_runs } = await world.ok("GET", "/api/schedules/daily?preview=50");
    expect(next_runs).toHaveLength(50);
    for (const at of next_runs) {
      const local = new Intl.DateTimeFormat("en-GB", { timeZone: "Europe/Berlin", timeStyle: "short" });
      expect(local.format(new Date(at))).toBe("09:30");
    }
    expect(next_runs[0]).toBe((await read(world, "daily")).next_run_at);
  });

  it("takes a cron with any white space around and between its fields, and shows it with none too many", async () => {
    const world = await newWorld();
    const copied = { name: "copied", cron: "\t0  9 *\t* 1-5 \n", interval: undefined };
    expect(await create(world, copied)).toMatchObject({ status: 201, body: { cron: "0 9 * * 1-5" } });
    expect(await world.ok("PUT", "/api/schedules/copied", { cron: " 30 9 * * 1-5" })).toMatchObject({
      cron: "30 9 * * 1-5",
    });
    expect((await create(world, { ...copied, name: "empty", cron: " \n" })).status).toBe(400);
  });

  it("previews without storing, and refuses what creation refuses", async () => {
    const world = await newWorld();
    const preview = await world.post("/api/schedules/preview?preview=3", {
      name: "p",
      cron: "0 12 * * 1",
      prompt: "x",
    });
    expect(preview.status).toBe(200);
    expect(preview.body.next_runs).toHaveLength(3);
    for (const at of preview.body.next_runs) expect(new Date(at).getUTCDay()).toBe(1);
    expect((await world.get("/api/schedules/p")).status).toBe(404);
    expect((await world.post("/api/schedules/preview", { name: "p", cron: "0 0 31 2 *", prompt: "x" })).status).toBe(
      400,
    );
    expect(
      (await world.post("/api/schedules/preview?preview=0", { name: "p", interval: "1h", prompt: "x" })).status,
    ).toBe(400);
  });

  it.each([
    ["both cron and interval", { cron: "* * * * *", interval: "1h" }],
    ["neither", { interval: undefined }],
    ["a cron that never fires", { interval: undefined, cron: "0 0 30 2 *" }],
    ["an interval of zero", { interval: "0s" }],
    ["no such time zone", { timezone: "Mars/Olympus" }],
    ["a bad name", { name: "a b" }],
    ["a name that is a step in a path", { name: "." }],
    ["a name that is a step back", { name: ".." }],
    ["a long name", { name: "x".repeat(65) }],
    ["no prompt", { prompt: undefined }],
    ["an empty prompt", { prompt: "" }],
    ["a bad overlap", { overlap: "maybe" }],
    ["an unknown field", { intervall: "1h" }],
  ])("refuses %s with 400", async (_what, body) => {
    const world = await newWorld();
    const answer = await create(world, body);
    expect([answer.status, answer.body.code]).toEqual([400, "invalid_request"]);
    expect((await world.ok("GET", "/api/schedules")).total).toBe(0);
  });

  it("refuses a name that is taken with 409, and lists newest first in pages", async () => {
    const world = await newWorld();
    for (const name of ["a", "b", "c"]) await create(world, { name });
    expect(await create(world, { name: "b" })).toMatchObject({ status: 409, body: { code: "schedule_exists" } });
    const page = await world.ok("GET", "/api/schedules?limit=2&offset=1");
    expect(page).toMatchObject({ total: 3, limit: 2, offset: 1 });
    expect(page.schedules).toHaveLength(2);
    expect((await world.get("/api/schedules?limit=0")).status).toBe(400);
    expect((await world.get("/api/schedules/none")).status).toBe(404);
    expect((await world.put("/api/schedules/none", { status: "paused" })).status).toBe(404);
    expect((await world.delete("/api/schedules/none")).status).toBe(404);
    expect((await world.post("/api/schedules/none/run")).status).toBe(404);
    expect((await world.get("/api/schedules/none/history")).status).toBe(404);
  });

  it("is for admin and standard keys", async () => {
    const world = await newWorld();
    const standard = await world.withKey("standard");
    const worker = await world.withKey("worker");
    const body = { name: "s", interval: "1h", prompt: "x" };
    expect((await worker.post("/api/schedules", body)).status).toBe(403);
    expect((await standard.post("/api/schedules", body)).status).toBe(201);
    expect((await worker.get("/api/schedules")).status).toBe(403);
  });
});

describe("editing", () => {
  it("takes any of the fields and takes effect at once", async () => {
    const world = await newWorld();
    await create(world, {});
    const edited = await world.ok("PUT", "/api/schedules/s", {
      cron: "0 6 * * *",
      prompt: "new",
      tags: ["a", "a"],
      priority: "high",
    });
    expect(edited).toMatchObject({ cron: "0 6 * * *", interval: null, prompt: "new", tags: ["a"], priority: "high" });
    expect(new Date(edited.next_run_at).getUTCHours()).toBe(6);
    const back = await world.ok("PUT", "/api/schedules/s", { interval: "2h" });
    expect(back).toMatchObject({ cron: null, interval: "2h", prompt: "new" });
    expect(Date.parse(back.next_run_at) - Date.now()).toBeLessThanOrEqual(2 * HOUR_MS);
  });

  it("pauses, keeps that over an eviction, and resumes from now on", async () => {
    const world = await newWorld();
    await create(world, {});
    expect(await world.ok("PUT", "/api/schedules/s", { status: "paused" })).toMatchObject({
      status: "paused",
      next_run_at: null,
    });
    await evictDurableObject(world.stub);
    await alarm(world);
    expect(await jobsOf(world)).toEqual([]);
    const resumed = await world.ok("PUT", "/api/schedules/s", { status: "active" });
    expect(Date.parse(resumed.next_run_at)).toBeGreaterThan(Date.now() + HOUR_MS - 60_000);
  });

  it("refuses nonsense and leaves the schedule as it is", async () => {
    const world = await newWorld();
    const { body: before } = await create(world, {});
    const wrong = [
      {},
      { status: "off" },
      { interval: "1h", cron: "* * * * *" },
      { interval: null },
      { cron: "0 0 30 2 *" },
      { timezone: "Nowhere" },
      { prompt: "" },
      { name: "other" },
      { nam: "s" },
    ];
    for (const patch of wrong) {
      expect([JSON.stringify(patch), (await world.put("/api/schedules/s", patch)).status]).toEqual([
        JSON.stringify(patch),
        400,
      ]);
    }
    expect(await read(world)).toEqual(before);
    expect((await world.put("/api/schedules/s", { name: "s", prompt: "same name" })).status).toBe(200);
  });

  it("runs what was due already before it changes the timing", async () => {
    const world = await newWorld();
    await create(world, {});
    await turnBack(world, HOUR_MS + 1000);
    await world.ok("PUT", "/api/schedules/s", { interval: "1d" });
    expect(await jobsOf(world)).toHaveLength(1);
    expect((await history(world))[0]).toMatchObject({ outcome: "created" });
  });

  it("is deleted with 204 and then makes no jobs", async () => {
    const world = await newWorld();
    await create(world, {});
    await turnBack(world, 2 * HOUR_MS);
    const gone = await world.delete("/api/schedules/s");
    expect([gone.status, gone.text]).toEqual([204, ""]);
    await alarm(world);
    expect(await jobsOf(world)).toEqual([]);
  });

  it("begins a history of its own where its name was used before", async () => {
    const world = await newWorld();
    await create(world, {});
    await world.ok("POST", "/api/schedules/s/run");
    await world.delete("/api/schedules/s");
    await world.stub.drain();
    // As if the older one had run an hour ago.
    await env.DB.prepare("UPDATE schedule_runs SET ran_at = ran_at - ?2 WHERE tenant = ?1")
      .bind(world.tenant, HOUR_MS)
      .run();
    expect((await create(world, {})).status).toBe(201);
    expect(await history(world)).toEqual([]);
  });
});

describe("the audit log", () => {
  it("has every change with who, before and after, and no prompt", async () => {
    const world = await newWorld();
    await create(world, { prompt: "a private prompt" });
    await world.ok("PUT", "/api/schedules/s", { interval: "2h", prompt: "another private prompt" });
    await world.ok("POST", "/api/schedules/s/run");
    await world.delete("/api/schedules/s");
    const { entries } = await world.ok("GET", "/api/audit");
    expect(entries.slice(0, 4).map((entry: Body) => [entry.action, entry.target, entry.actor.name])).toEqual([
      ["schedule.deleted", "s", "first admin key"],
      ["schedule.run", "s", "first admin key"],
      ["schedule.changed", "s", "first admin key"],
      ["schedule.created", "s", "first admin key"],
    ]);
    expect(entries[2].detail).toMatchObject({
      before: { interval: "1h" },
      after: { interval: "2h" },
      fields: ["interval", "prompt"],
    });
    expect(JSON.stringify(entries)).not.toContain("private prompt");
  });
});

describe("a key with limits", () => {
  const NEW = { name: "mine", interval: "1d", prompt: "hi" };

  it("makes schedules only of models that it allows, and runs no others", async () => {
    const world = await newWorld();
    const limits = { models: ["a*"], requests_per_minute: 1 };
    const { key } = await world.ok("POST", "/api/keys", { name: "limited", role: "standard", limits });
    await create(world, { name: "others", model: "zz" });
    const refused = { status: 403, body: { code: "forbidden", detail: expect.stringContaining('model "zz"') } };
    expect(await request(key, "POST", "/api/schedules", { ...NEW, model: "zz" })).toMatchObject(refused);
    expect(await request(key, "POST", "/api/schedules/others/run")).toMatchObject(refused);
    expect((await request(key, "POST", "/api/schedules", { ...NEW, model: "a1" })).status).toBe(201);
    expect(await request(key, "PUT", "/api/schedules/mine", { model: "zz" })).toMatchObject(refused);
    expect((await request(key, "PUT", "/api/schedules/mine", { prompt: "ho" })).status).toBe(200);
    expect((await request(key, "POST", "/api/schedules/mine/run")).status).toBe(200);
    const { status, body } = await request(key, "POST", "/api/schedules/mine/run");
    expect([status, body.code]).toEqual([429, "rate_limit_exceeded"]);
    expect((await world.ok("GET", "/api/jobs")).total).toBe(1);
  });

  it("is charged for the runs that it orders, and not for those that fall due", async () => {
    const world = await newWorld();
    const limits = { concurrent: 1, day_usd: 2 };
    const key = await world.ok("POST", "/api/keys", { name: "limited", role: "standard", limits });
    await create(world, { name: "others", fairness_key: "theirs" });
    const order = async () => {
      const { status, body } = await request(key.key, "POST", "/api/schedules/others/run");
      return { status, code: body.code, id: body.job_id };
    };
    await world.ok("POST", "/presence", { instance: "w", provider: "openai", status: "idle" });
    const finish = async (id: string) => {
      await world.ok("POST", `/api/jobs/${id}/complete`, { lease: 1, result: "x", cost_usd: 1 });
    };
    const first = await order();
    expect(await world.ok("GET", `/api/jobs/${first.id}`)).toMatchObject({ created_by: null, schedule: "others" });
    expect(await order()).toMatchObject({ status: 429, code: "rate_limit_exceeded" });
    await finish(first.id);
    await finish((await order()).id);
    expect(await order()).toMatchObject({ status: 429, code: "insufficient_quota" });
    const { rows } = await world.ok("GET", "/api/cost/by/key?period=day");
    expect(rows).toMatchObject([{ value: key.id, usd: 2, jobs: 2 }]);
  });

  it("keeps the jobs that it orders from hosted providers, and leaves the schedule as it is", async () => {
    const world = await newWorld();
    const { key } = await world.ok("POST", "/api/keys", { name: "limited", role: "standard", limits: { edge: false } });
    await create(world, { name: "others" });
    const { body } = await request(key, "POST", "/api/schedules/others/run");
    expect((await world.ok("GET", `/api/jobs/${body.job_id}`)).edge).toBe(false);
    expect((await world.ok("GET", "/api/schedules/others")).edge).toBe(true);
    const { job_id } = await world.ok("POST", "/api/schedules/others/run");
    expect((await world.ok("GET", `/api/jobs/${job_id}`)).edge).toBe(true);
  });

  it("keeps the job of one run from hosted providers if its request says so", async () => {
    const world = await newWorld();
    await create(world, { name: "mine" });
    const run = (edge: string) =>
      world.post("/api/schedules/mine/run", undefined, { headers: { "x-signalbox-edge": edge } });
    const { body } = await run("off");
    expect((await world.ok("GET", `/api/jobs/${body.job_id}`)).edge).toBe(false);
    expect((await world.ok("GET", "/api/schedules/mine")).edge).toBe(true);
    expect((await run("nowhere")).status).toBe(400);
  });

  it("keeps a schedule from hosted providers if the request that makes it says so", async () => {
    const world = await newWorld();
    const made = (name: string, edge: string) =>
      world.post("/api/schedules", { ...NEW, name }, { headers: { "x-signalbox-edge": edge } });
    expect((await made("off", "off")).body.edge).toBe(false);
    expect((await made("on", "on")).body.edge).toBe(true);
    expect((await made("odd", "nowhere")).status).toBe(400);
  });

  it("keeps the jobs of its schedules from hosted providers as it keeps its own", async () => {
    const world = await newWorld();
    const limits = { edge: false };
    const { key } = await world.ok("POST", "/api/keys", { name: "limited", role: "standard", limits });
    const put = (change: object) => request(key, "PUT", "/api/schedules/mine", change);
    expect((await request(key, "POST", "/api/schedules", NEW)).body.edge).toBe(false);
    expect((await put({ edge: true })).body.edge).toBe(false);
    expect((await world.ok("PUT", "/api/schedules/mine", { edge: true })).edge).toBe(true);
    expect((await put({ status: "paused" })).body.edge).toBe(true);
    expect((await put({ prompt: "ho" })).body.edge).toBe(false);
  });

  it("pauses a schedule whose model it may not use, and changes nothing else of it", async () => {
    const world = await newWorld();
    const limits = { models: ["m1"] };
    const { key } = await world.ok("POST", "/api/keys", { name: "limited", role: "standard", limits });
    await create(world, { name: "others", model: "m2" });
    const put = (change: object) => request(key, "PUT", "/api/schedules/others", change);
    expect((await put({ status: "paused" })).status).toBe(200);
    expect((await put({ status: "paused", prompt: "ho" })).status).toBe(403);
  });
});
