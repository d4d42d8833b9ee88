// What the service deletes, and when.

import { env, exports } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { ageJob, alarm, connect, newWorld, type World } from "../support/workerd/client.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

const runCron = (): Promise<unknown> =>
  (exports.default as unknown as { scheduled(event: { cron: string }): Promise<unknown> }).scheduled({
    cron: "* * * * *",
  });

const worker = (world: World) =>
  world.ok("POST", "/presence", { instance: "w", status: "online", provider: "openai", tags: "", concurrency: 50 });

const finished = async (world: World): Promise<string> => {
  const job = await world.ok("POST", "/dispatch", { prompt: "x" });
  const report = { lease: job.lease, result: "kept", usage: { input_tokens: 1, output_tokens: 1 }, cost_usd: 0.5 };
  await world.ok("POST", `/api/jobs/${job.id}/complete`, report);
  await world.ok("GET", "/api/jobs");
  return job.id;
};

const age = (tenant: string, id: string, days: number): Promise<unknown> =>
  env.DB.prepare("UPDATE jobs SET finished_at = ?3 WHERE tenant = ?1 AND id = ?2")
    .bind(tenant, id, Date.now() - days * DAY_MS)
    .run();

/** Whether history has something of a job, by what. */
const rowsOf = async (tenant: string, id: string): Promise<Record<string, number>> => {
  const ofJob = (what: string, table: string) =>
    `EXISTS (SELECT 1 FROM jobs WHERE tenant = ?1 AND id = ?2 AND COALESCE(${what}, '') NOT IN ('', '[]'))
     OR EXISTS (SELECT 1 FROM ${table} WHERE tenant = ?1 AND job_id = ?2) AS ${table}`;
  const sql = `SELECT EXISTS (SELECT 1 FROM jobs WHERE tenant = ?1 AND id = ?2) AS jobs,
    ${ofJob("prompt", "payloads")}, ${ofJob("result", "results")}, ${ofJob("events", "events")},
    EXISTS (SELECT 1 FROM attempts WHERE tenant = ?1 AND job_id = ?2) AS attempts`;
  return (await env.DB.prepare(sql).bind(tenant, id).first<Record<string, number>>()) ?? {};
};

const KEPT = { jobs: 1, payloads: 1, results: 1, events: 1, attempts: 1 };
const GONE = { jobs: 0, payloads: 0, results: 0, events: 0, attempts: 0 };

describe("history.keep_texts_days", () => {
  const TEXTLESS = { ...KEPT, payloads: 0, results: 0 };

  it("deletes prompt, input and result of finished jobs that are older, and nothing else", async () => {
    const world = await newWorld();
    await worker(world);
    await world.ok("PUT", "/config", { history: { keep_texts_days: 30 } });
    const [old, older, young] = [await finished(world), await finished(world), await finished(world)];
    await age(world.tenant, older, 40);
    await age(world.tenant, old, 31);
    await age(world.tenant, young, 29);
    await runCron();
    for (const id of [old, older]) {
      expect(await rowsOf(world.tenant, id)).toEqual(TEXTLESS);
    }
    expect(await rowsOf(world.tenant, young)).toEqual(KEPT);
    const { jobs } = await world.ok("GET", "/api/jobs");
    const gone = { prompt: "", input: null, result: null, status: "completed", cost_usd: 0.5 };
    expect(jobs).toMatchObject([{ prompt: "x", result: "kept" }, gone, gone]);
  });

  it("goes on with the jobs that become old later", async () => {
    const world = await newWorld();
    await worker(world);
    await world.ok("PUT", "/config", { history: { keep_texts_days: 1 } });
    const [first, second] = [await finished(world), await finished(world)];
    await age(world.tenant, first, 3);
    await runCron();
    await age(world.tenant, second, 2);
    await runCron();
    expect(await rowsOf(world.tenant, first)).toEqual(TEXTLESS);
    expect(await rowsOf(world.tenant, second)).toEqual(TEXTLESS);
  });

  it("leaves nothing to find by the words of a prompt, and the words of an error", async () => {
    const world = await newWorld();
    await worker(world);
    await world.ok("PUT", "/config", { history: { keep_texts_days: 30 }, jobs: { max_attempts: 1 } });
    const job = await world.ok("POST", "/dispatch", { prompt: "a zebra crossing" });
    const error = { code: "broken", message: "no giraffe", retryable: false };
    await world.ok("POST", `/api/jobs/${job.id}/fail`, { lease: job.lease, error });
    const found = async (q: string): Promise<number> => (await world.ok("GET", `/api/jobs?q=${q}`)).total;
    expect([await found("zebra"), await found("giraffe")]).toEqual([1, 1]);
    await age(world.tenant, job.id, 31);
    await runCron();
    expect([await found("zebra"), await found("giraffe")]).toEqual([0, 1]);
    await ageJob(world, job.id, 60_000, ["finishedAt", "updatedAt"]);
    await alarm(world);
    const retried = await world.post(`/api/jobs/${job.id}/retry`, {});
    expect([retried.status, retried.body.code]).toEqual([409, "texts_gone"]);
    const many = { action: "retry", filter: { status: "failed" } };
    expect(await world.ok("POST", "/api/jobs/bulk", many)).toMatchObject({ changed: 0, refused: { texts_gone: 1 } });

    const again = async () => (await world.post(`/api/jobs/${job.id}/retry`, {})).body.code;
    await world.ok("PATCH", `/api/jobs/${job.id}`, { priority: "high" });
    expect(await again(), "changed, and still in the object").toBe("texts_gone");
    expect(await world.ok("POST", "/api/jobs/bulk", many)).toMatchObject({ changed: 0, refused: { texts_gone: 1 } });
    await ageJob(world, job.id, 60_000, ["finishedAt", "updatedAt"]);
    await alarm(world);
    expect(await again(), "changed, and back in history").toBe("texts_gone");
  });
});

describe("history.keep_days", () => {
  it("deletes finished jobs that are older, with all that belongs to them, and leaves cost and younger ones", async () => {
    const world = await newWorld();
    await worker(world);
    await world.ok("PUT", "/config", { history: { keep_days: 30 } });
    const old = await finished(world);
    const young = await finished(world);
    await age(world.tenant, old, 31);
    await age(world.tenant, young, 29);
    await runCron();
    expect(await rowsOf(world.tenant, old)).toEqual(GONE);
    expect(await rowsOf(world.tenant, young)).toEqual(KEPT);
    expect((await world.ok("GET", "/api/cost")).total_usd).toBe(1);
  });

  it("leaves nothing of a job to read where no other has ended since", async () => {
    const world = await newWorld();
    await worker(world);
    await world.ok("PUT", "/config", { history: { keep_days: 30 } });
    const old = await finished(world);
    await age(world.tenant, old, 31);
    await runCron();
    expect(await rowsOf(world.tenant, old)).toEqual(GONE);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * MINUTE_MS });
    try {
      for (const path of [`/api/jobs/${old}`, `/api/jobs/${old}?wait=1`, `/api/jobs/${old}/events`])
        expect([path, (await world.get(path)).status]).toEqual([path, 404]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("leaves the dashboard's counts of all time, and tells what the list no longer has", async () => {
    const world = await newWorld();
    await worker(world);
    await world.ok("PUT", "/config", { history: { keep_days: 30 } });
    const [old, ended] = [
      await finished(world),
      await world.ok("POST", "/api/jobs", { prompt: "x", provider: "none" }),
    ];
    await world.ok("POST", `/api/jobs/${ended.id}/cancel`);
    await finished(world);
    await age(world.tenant, old, 31);
    await age(world.tenant, ended.id, 31);
    await runCron();
    await runCron();
    const { socket } = await connect("/live", { authorization: `Bearer ${world.key}` });
    const snapshot = await socket?.next(({ type }) => type === "snapshot");
    expect(snapshot?.counts).toEqual({ pending: 0, assigned: 0, running: 0, completed: 2, failed: 0, cancelled: 1 });
    expect(snapshot?.pruned).toEqual({ completed: 1, cancelled: 1 });
    expect((await world.ok("GET", "/api/jobs")).total).toBe(1);
    // A Prometheus counter never decreases.
    expect((await world.get("/metrics")).text).toMatch(/signalbox_jobs_total\{status="completed"\} 2/);
  });

  it("keeps everything for ever where it is not set", async () => {
    const world = await newWorld();
    await worker(world);
    const old = await finished(world);
    await age(world.tenant, old, 3_000);
    await runCron();
    expect(await rowsOf(world.tenant, old)).toEqual(KEPT);
  });

  it("is each tenant's own", async () => {
    const [other, world] = [await newWorld(), await newWorld()];
    const olds: [World, string][] = [];
    for (const one of [other, world]) {
      await worker(one);
      olds.push([one, await finished(one)]);
    }
    await world.ok("PUT", "/config", { history: { keep_days: 30, keep_texts_days: 10 } });
    await finished(world);
    for (const [{ tenant }, id] of olds) await age(tenant, id, 40);
    await runCron();
    const left = await Promise.all(olds.map(([{ tenant }, id]) => rowsOf(tenant, id)));
    expect(left).toEqual([KEPT, GONE]);
  });

  it.each([0, -1, 1.5, "30"])("refuses %s", async (days) => {
    const world = await newWorld();
    expect((await world.put("/config", { history: { keep_days: days } })).status).toBe(400);
  });
});

it("runs of schedules are kept for 90 days", async () => {
  const world = await newWorld();
  await world.ok("POST", "/api/schedules", { name: "s", interval: "1d", prompt: "x" });
  await world.ok("POST", "/api/schedules/s/run");
  await world.ok("POST", "/api/schedules/s/run");
  expect((await world.ok("GET", "/api/schedules/s/history")).total).toBe(2);
  const oldest = `SELECT id FROM schedule_runs WHERE tenant = ?1 ORDER BY id LIMIT 1`;
  await env.DB.prepare(`UPDATE schedule_runs SET ran_at = ?2 WHERE tenant = ?1 AND id = (${oldest})`)
    .bind(world.tenant, Date.now() - 91 * DAY_MS)
    .run();
  await runCron();
  expect((await world.ok("GET", "/api/schedules/s/history")).total).toBe(1);
});
