// A folder left by a release, served by this checkout: everything reads as that release answered and as this one
// promises, and continues from there. The tests of one fixture run in order on one server, those that change something
// last.

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { VERSION } from "../../contract/words/version.ts";
import { SCHEMA_VERSION } from "../../durable-objects/store/schema/schema.ts";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import { type AnswerCheck, answerCheckOf, readsOf } from "./answers.ts";
import { type Client, clientOf } from "./client.ts";
import { historyFile, keepWorkers, postponeEnds, tenantFiles, use } from "./databases.ts";
import { finishLater } from "./finish-later.ts";
import {
  type Expectations,
  FIXTURE_ENVIRONMENT,
  isStored,
  readExpectations,
  storedVersions,
  unpack,
} from "./fixture.ts";
import { DISTANT } from "./steady-tenant.ts";

const MIGRATIONS = path.resolve(import.meta.dirname, "../../migrations");
const START_WITHIN_MS = 90_000;
/** Longer than any lease or interval in a newly recorded fixture. */
const SOON_MS = 25_000;
/** Less than the 90 days for which a schedule's runs are kept. */
const RUNS_KEPT_MS = 89 * 86_400_000;

/** Read under a lease alone, or by ids that no list has. */
const UNLISTED: readonly string[] = ["/api/jobs/{id}/input", "/v1/responses/{id}", "/v1/responses/{id}/input_items"];
/** What 0.1.0 did not have: files, batches, stored responses, webhooks, workers that name models. */
const LATER: readonly string[] = [
  "/api/batches/{id}",
  "/api/files/{id}",
  "/api/webhooks/{id}",
  "/api/webhooks/{id}/deliveries",
  "/v1/batches/{id}",
  "/v1/files/{id}",
  "/v1/messages/batches/{id}",
  "/v1/models/{model}",
  "/v1/models/{owner}/{model}",
];

/** 0.1.0 told a time for the next catalog sync even where syncs are off, as they are here: now there is none. */
const withoutNextSync = (body: unknown): object =>
  JSON.parse(JSON.stringify(body), (name, value) => (name === "next_sync_at" ? null : value));

test(`the release of this checkout has its fixture (npm run fixture -- ${VERSION})`, () => {
  expect(isStored(VERSION)).toBe(true);
});

interface Job {
  readonly id: string;
  readonly status: string;
  readonly lease: number;
}

describe.each(storedVersions())("what release %s wrote", (version) => {
  let expected: Expectations;
  let dataDir = "";
  let server: SelfHosted;
  let check: AnswerCheck;

  const start = async (): Promise<void> => {
    server = await startSelfHosted(dataDir, { env: FIXTURE_ENVIRONMENT });
    check = answerCheckOf((await as(server.adminKey).call("GET", "/openapi.json")).body);
  };
  const as = (key: string): Client => clientOf(server.url, key);
  const report = (client: Client, instance: string, provider: string, tags = ""): Promise<unknown> =>
    client.post("/presence", { instance, provider, status: "online", tags, concurrency: 10 });
  const claim = async (client: Client, instance: string, waitSeconds = 0): Promise<Job[]> =>
    (await client.post(`/api/workers/${instance}/claim?wait=${waitSeconds}`, { max: 10 })).jobs;
  const idsOf = (jobs: readonly Job[]): string[] => jobs.map(({ id }) => id).sort();

  const readAll = async (): Promise<void> => {
    for (const { key, path: route, expect: body } of expected.reads) {
      const answer = await as(key).call("GET", route);
      expect(answer.status, route).toBe(200);
      expect(answer.body, route).toMatchObject(withoutNextSync(body));
      expect(check.mismatches(route, answer)).toEqual([]);
    }
  };

  beforeAll(async () => {
    dataDir = mkdtempSync(path.join(tmpdir(), "signalbox-upgrade-"));
    expected = readExpectations(version);
    unpack(version, dataDir);
    keepWorkers(dataDir);
    postponeEnds(dataDir, Date.parse(DISTANT));
    await start();
  }, START_WITHIN_MS);

  afterAll(async () => {
    await server?.kill();
    rmSync(dataDir, { recursive: true, force: true });
  });

  test("every resource answers as it did", readAll);

  test("every endpoint that reads answers by its own schema, for all that there is", async () => {
    const { steady, halted, scheduled, later } = expected;
    const asked = new Set<string>();
    const strays: string[] = [];
    for (const key of [steady.admin_key, halted.key, scheduled.key, ...(later === undefined ? [] : [later.key])]) {
      for await (const { operation, route, answer } of readsOf(check, (target) => as(key).call("GET", target))) {
        if (answer.status < 300) asked.add(operation);
        strays.push(...check.mismatches(route, answer));
      }
    }
    expect(strays).toEqual([]);
    const unread = check.reads.filter((operation) => !asked.has(operation)).sort();
    expect(unread).toEqual([...UNLISTED, ...(later === undefined ? LATER : [])].sort());
  }, 60_000);

  test(
    "starting once more changes nothing",
    async () => {
      expect(await server.stop()).toBe(0);
      await start();
      await readAll();
    },
    START_WITHIN_MS,
  );

  test("keys that had ended stay ended, and the folder's own admin key opens its tenant", async () => {
    for (const key of expected.ended_keys) expect((await as(key).call("GET", "/config")).status).toBe(401);
    expect((await as(server.adminKey).call("GET", "/api/keys")).status).toBe(200);
  });

  test("what history had not heard of before the kill, it hears now", async () => {
    const { key, job } = expected.undrained;
    const { id } = job as Job;
    expect(await as(key).get(`/api/jobs/${id}`)).toMatchObject(job as object);
    const { events } = await as(key).get(`/api/jobs/${id}/events`);
    const types = events.map(({ type }: { type: string }) => type);
    expect(types).toEqual(["job.created", "job.assigned", "job.completed"]);
    expect((await as(key).get("/api/jobs?status=completed")).jobs).toHaveLength(1);
  });

  test("a lease from before the upgrade still completes its job", async () => {
    const { worker_key, held } = expected.steady;
    const worker = as(worker_key);
    await worker.post(`/api/jobs/${held.job}/heartbeat`, { lease: held.lease, progress: "nearly" });
    const done = await worker.post(`/api/jobs/${held.job}/complete`, { lease: held.lease, result: "at last" });
    expect(done).toMatchObject({ status: "completed", assigned_worker: held.worker, result: "at last" });
    const again = await worker.call("POST", `/api/jobs/${held.job}/heartbeat`, { lease: held.lease - 1 });
    expect(again).toMatchObject({ status: 409, body: { code: "lease_lost" } });
  });

  test("pending jobs go to the workers they waited for, and the distant one to nobody", async () => {
    const { admin_key, unmatched, backed_off, distant } = expected.steady;
    const admin = as(admin_key);
    const wanted = [
      { job: unmatched.job, instance: "after-upgrade", provider: unmatched.provider, tags: unmatched.tag },
      { job: backed_off.job, instance: "limited-1", provider: backed_off.provider, tags: "" },
    ];
    for (const { job, instance, provider, tags } of wanted) {
      await report(admin, instance, provider, tags);
      // One of the two was paused, so that no worker took its job before this.
      await admin.post(`/api/workers/${instance}/resume`);
      const [taken] = await claim(admin, instance, 20);
      expect(taken?.id).toBe(job);
      await admin.post(`/api/jobs/${job}/complete`, { lease: taken?.lease, result: "after", model: "after-upgrade" });
      expect(await admin.get(`/api/jobs/${job}`)).toMatchObject({ status: "completed", result: "after" });
    }
    await report(admin, "distant-1", distant.provider);
    expect(await claim(admin, "distant-1")).toEqual([]);
    expect(await admin.get(`/api/jobs/${distant.job}`)).toMatchObject({ status: "pending" });
  });

  test("a paused worker gets nothing until it is resumed", async () => {
    const { admin_key, paused_worker } = expected.steady;
    const admin = as(admin_key);
    await report(admin, paused_worker, "main");
    const refused = await admin.call("POST", "/dispatch", { prompt: "now", provider: "main" });
    expect(refused).toMatchObject({ status: 503, body: { title: "No eligible workers" } });
    await admin.post(`/api/workers/${paused_worker}/resume`);
    const taken = await admin.post("/dispatch", { prompt: "now", provider: "main" });
    expect(taken).toMatchObject({ status: "assigned", assigned_worker: paused_worker });
  });

  test("leases that ran out meanwhile are over, and their jobs go to the next who asks", async () => {
    const { key, provider, leases } = expected.lapsing;
    const client = as(key);
    for (const { job, lease } of leases) {
      const isOver = async () => {
        const now: Job = await client.get(`/api/jobs/${job}`);
        return now.status === "pending" || now.lease > lease;
      };
      await expect.poll(isOver, { timeout: SOON_MS }).toBe(true);
      const late = await client.call("POST", `/api/jobs/${job}/complete`, { lease, result: "late" });
      expect(late).toMatchObject({ status: 409, body: { code: "lease_lost" } });
    }
    await report(client, "w", provider);
    const taken = await claim(client, "w", 20);
    expect(idsOf(taken)).toEqual(leases.map(({ job }) => job).sort());
    expect(taken.every(({ lease }) => lease > 1)).toBe(true);
  }, 60_000);

  test("the killswitch holds until it is cleared", async () => {
    const { key, provider, lost, waiting, worker, paused_by_hand, schedule } = expected.halted;
    const client = as(key);
    await report(client, worker, provider);
    const refused = await client.call("POST", "/dispatch", { prompt: "now", provider });
    expect(refused).toMatchObject({ status: 503, body: { code: "killswitch_active" } });
    expect(await claim(client, worker)).toEqual([]);
    const late = await client.call("POST", `/api/jobs/${lost.job}/complete`, { lease: lost.lease, result: "late" });
    expect(late).toMatchObject({ status: 409, body: { code: "lease_lost" } });
    const runs = async () => (await client.get(`/api/schedules/${schedule}/history?limit=200`)).history as Run[];
    await expect.poll(async () => (await newRuns(runs)).length, { timeout: SOON_MS }).toBeGreaterThan(0);
    expect((await runs()).every(({ outcome }) => outcome === "skipped")).toBe(true);

    expect((await client.call("DELETE", "/killswitch?resume_all=true")).status).toBe(200);
    expect(idsOf(await claim(client, worker))).toEqual([...waiting].sort());
    expect(await client.get(`/api/workers/${paused_by_hand}`)).toMatchObject({ paused: true, pause_reason: "by hand" });
  }, 60_000);

  interface Run {
    readonly scheduled_for: string;
    readonly ran_at: string;
    readonly outcome: string;
    readonly missed: number;
    readonly job_id: string | null;
  }

  const newRuns = async (runs: () => Promise<Run[]>): Promise<Run[]> =>
    (await runs()).filter(({ ran_at }) => ran_at > expected.recorded_at);

  test("files are whole, and batches, stored responses and tasks of models go on", async () => {
    if (expected.later !== undefined) await finishLater(expected.later, as);
  }, 60_000);

  test("a schedule runs once for all it missed, and keeps its rhythm", async () => {
    const { key, name, interval_ms, next_run_at, history } = expected.scheduled;
    const client = as(key);
    const runs = async () => (await client.get(`/api/schedules/${name}/history?limit=200`)).history as Run[];
    await expect.poll(async () => (await newRuns(runs)).length, { timeout: SOON_MS }).toBeGreaterThan(0);
    const first = (await newRuns(runs)).at(-1);
    const sinceDue = Date.parse(first?.scheduled_for ?? "") - Date.parse(next_run_at);
    expect(first).toMatchObject({ outcome: "created", missed: sinceDue / interval_ms });
    expect(await client.get(`/api/jobs/${first?.job_id}`)).toMatchObject({ schedule: name, prompt: name });
    const all = await runs();
    const kept = (history as Run[]).filter(({ ran_at }) => Date.parse(ran_at) > Date.now() - RUNS_KEPT_MS);
    for (const run of kept) expect(all).toContainEqual(expect.objectContaining(run));
    expect(new Set(all.map(({ scheduled_for }) => scheduled_for)).size).toBe(all.length);
    const { schedules } = await client.get("/api/schedules");
    const due = Object.fromEntries(schedules.map((one: { name: string; next_run_at: string }) => [one.name, one]));
    expect(due).toMatchObject({ paused: { status: "paused", next_run_at: null }, yearly: { status: "active" } });
    expect(due.yearly.next_run_at).toMatch(/-01-01T01:30:00/);
  }, 60_000);

  test("what was spent stands in the sums, each attempt once, and new cost is added", async () => {
    const { admin_key, spent } = expected.steady;
    const admin = as(admin_key);
    await report(admin, "costly", "costly");
    const { id } = await admin.post("/api/jobs", { prompt: "costs", provider: "costly" });
    const [taken] = await claim(admin, "costly", 20);
    await admin.post(`/api/jobs/${id}/complete`, { lease: taken?.lease, result: 1, cost_usd: 0.25, model: "costly" });
    const { providers } = await admin.get("/api/cost/providers?period=day");
    const found = providers.find((one: { provider: string }) => one.provider === "costly");
    expect(found).toMatchObject({ usd: 0.25, jobs: 1 });

    expect(await server.stop()).toBe(0);
    const sums = `SELECT provider, model, SUM(nano_usd) AS nano_usd, SUM(jobs) AS jobs FROM cost_hours
      WHERE tenant = ? GROUP BY provider, model`;
    const rows = (tenant: string) => use(historyFile(dataDir), (db) => db.prepare(sums).all(tenant));
    const steady = rows(expected.steady.tenant);
    for (const one of spent) expect(steady).toContainEqual(one);
    expect(spent.length).toBeGreaterThan(1);
    const { tenant, job } = expected.undrained;
    const usd = (job as { cost_usd: number }).cost_usd;
    expect(rows(tenant)).toMatchObject([{ nano_usd: usd * 1e9, jobs: 1 }]);
  });

  test("afterwards every schema is this release's", async () => {
    expect(await server.stop()).not.toBeNull();
    const names = readdirSync(MIGRATIONS).filter((name) => name.endsWith(".sql"));
    const applied = use(historyFile(dataDir), (db) => db.prepare("SELECT name FROM d1_migrations ORDER BY name").all());
    expect(applied.map(({ name }) => name)).toEqual(names.sort());
    const files = tenantFiles(dataDir);
    for (const tenant of ["steady", "lapsing", "halted", "scheduled", "undrained"]) {
      const found = use(files.get(tenant) ?? "", (db) =>
        db.prepare("SELECT MAX(step) AS step FROM schema_steps").get(),
      );
      expect(found?.step, tenant).toBe(SCHEMA_VERSION - 1);
    }
  });
});
