// What a worker's report changes besides its job: its sign of life, the money, its record, the next provider.

import assert from "node:assert/strict";
import type { JobError } from "../../../domain/job/job.ts";
import { HOUR_MS } from "../../../domain/words/duration.ts";
import { keyOf } from "../world.ts";
import type { Scene, Shown } from "./scene.ts";
import { ALIVE, configure, create, fail, type Held, NOTHING_SPENT, present, read, started } from "./scene-steps.ts";

const BROKE: JobError = { code: "provider_error", message: "broke", retryable: false };
const REFUSED: JobError = { code: "rate_limited", message: "too many", retryable: true, status: 429 };

const spentUsd = async (scene: Scene) => (await scene.done(scene.admin, "readBudgets", null)).budget.day_spent_usd;

/** Of a job that has left the object. */
const gone = (scene: Scene, id: string) => ({ archived: { ...scene.archived(id), absentAt: scene.nowAt } });

export const SCENES_OF_REPORTS: readonly Shown[] = [
  {
    what: "a report on a job is a sign of its worker's life",
    shown: async (scene) => {
      await configure(scene, { presence: { offline_after_seconds: 30 } });
      await present(scene);
      const held = await started(scene);
      await scene.pass(25_000);
      await scene.done(scene.admin, "heartbeatJob", held);
      await scene.pass(25_000);
      assert.equal((await scene.done(scene.admin, "getWorker", { instance: "w" })).status, "busy");
    },
  },
  {
    what: "a failed attempt costs what it reports, with or without tokens, and nothing if it reports nothing",
    shown: async (scene) => {
      const pricing = { "*": { input_per_mtok: 1_000_000, output_per_mtok: 1_000_000 } };
      await configure(scene, { ...ALIVE, providers: { p: { pricing } } });
      await present(scene, { concurrency: 3 });
      const costly = await started(scene);
      await fail(scene, costly, BROKE, { costUsd: 1 });
      assert.equal(await spentUsd(scene), 1);
      assert.equal((await read(scene, costly.id)).cost_usd, 1);
      await fail(scene, await started(scene), BROKE, { usage: { inputTokens: 1, outputTokens: 1 } });
      assert.equal(await spentUsd(scene), 3);
      const silent = await started(scene);
      await fail(scene, silent, BROKE);
      assert.equal(await spentUsd(scene), 3);
      assert.equal((await read(scene, silent.id)).cost_usd, null);
    },
  },
  {
    what: "a worker may say when its stream began with its last report, and a repeated report adds nothing",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene, { concurrency: 2 });
      const [told, untold] = [await started(scene, { stream: true }), await started(scene, { stream: true })];
      const startedAt = scene.nowAt;
      await scene.pass(5_000);
      const report = { ...NOTHING_SPENT, result: "done", costUsd: 1 };
      await scene.done(scene.admin, "completeJob", { ...told, ...report, firstTokenMs: 2_000 });
      assert.equal((await read(scene, told.id)).first_token_at, new Date(startedAt + 2_000).toISOString());
      await scene.done(scene.admin, "completeJob", { ...untold, ...report });
      const before = await read(scene, untold.id);
      await scene.done(scene.admin, "completeJob", { ...untold, ...report, firstTokenMs: 2_000 });
      assert.deepEqual(await read(scene, untold.id), before);
      assert.equal(await spentUsd(scene), 2);
    },
  },
  {
    what: "what a worker spent on an attempt that was taken back counts, once, even while the next one runs; of its own it reports at the end",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await scene.connect();
      await present(scene, { instance: "worker-0" }, keyOf("worker-key-0"), true);
      const { id, lease } = await started(scene);
      const spent = { type: "job.spent", job_id: id, cost_usd: 1 };
      await scene.say({ ...spent, lease });
      assert.equal(await spentUsd(scene), 0);
      await scene.done(scene.admin, "activateKillswitch", { level: 1, reason: "drill" });
      await scene.done(scene.admin, "clearKillswitch", { resumeAll: true });
      const again = await read(scene, id);
      assert.deepEqual([again.status, again.lease], ["assigned", lease + 1]);
      for (let times = 0; times < 2; times += 1) await scene.say({ ...spent, lease });
      assert.equal(await spentUsd(scene), 1);
    },
  },
  {
    what: "what an attempt reported counts once, also where it is reported again after the job has gone on",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene);
      const held = await started(scene, { maxAttempts: 1 });
      await fail(scene, held, BROKE, { costUsd: 1 });
      await scene.done(scene.admin, "retryJob", { id: held.id });
      assert.equal((await read(scene, held.id)).lease, held.lease + 1);
      const late = await scene.ask(scene.admin, "failJob", {
        ...held,
        ...NOTHING_SPENT,
        error: BROKE,
        retryAfterMs: null,
        costUsd: 1,
      });
      assert.ok(!late.ok && late.error.code === "lease_lost");
      assert.equal(await spentUsd(scene), 1);
    },
  },
  {
    what: "a stream that is cut is never free: it costs what its worker reports within 15 s, else an estimate until it reports, once",
    shown: async (scene) => {
      const pricing = { "*": { input_per_mtok: 1_000_000, output_per_mtok: 1_000_000 } };
      await configure(scene, { ...ALIVE, providers: { p: { pricing } } });
      await present(scene, { concurrency: 4 });
      const prompt = "x".repeat(400);
      const cut = async () => {
        const held = await started(scene, { stream: true, prompt });
        await scene.done(scene.admin, "cancelJob", { id: held.id });
        return held;
      };
      const lateReport = (held: Held) =>
        scene.ask(scene.admin, "failJob", {
          ...held,
          ...NOTHING_SPENT,
          usage: { inputTokens: 1, outputTokens: 2 },
          error: BROKE,
          retryAfterMs: null,
        });
      await lateReport(await cut());
      assert.equal(await spentUsd(scene), 3);
      await scene.pass(16_000);
      assert.equal(await spentUsd(scene), 3);
      const untold = await cut();
      await scene.pass(14_000);
      assert.equal(await spentUsd(scene), 3);
      await scene.pass(2_000);
      assert.equal(await spentUsd(scene), 113);
      const sums = async () => {
        await scene.reachHistory();
        const sumOf = (table: string) =>
          scene.archivedRows(`SELECT SUM(nano_usd) / 1e9 AS usd, SUM(output_tokens) AS told FROM ${table}`)[0];
        const by = sumOf("cost_by_hours WHERE name = 'worker'");
        return [await spentUsd(scene), sumOf("attempts"), sumOf("cost_hours"), by];
      };
      assert.deepEqual(await sums(), [113, { usd: 113, told: 12 }, { usd: 113, told: 12 }, { usd: 113, told: 12 }]);
      for (let times = 0; times < 2; times += 1) {
        await lateReport({ ...untold, ...gone(scene, untold.id) });
        assert.deepEqual(await sums(), [6, { usd: 6, told: 4 }, { usd: 6, told: 4 }, { usd: 6, told: 4 }]);
      }
    },
  },
  {
    what: "a job is unpriced until the last of its cut attempts is told a price",
    shown: async (scene) => {
      await configure(scene, { ...ALIVE, jobs: { timeout_seconds: null, reap_stale_after_seconds: null } });
      await present(scene);
      const first = await started(scene, { stream: true });
      await scene.done(scene.admin, "activateKillswitch", { level: 1, reason: "drill" });
      await scene.done(scene.admin, "clearKillswitch", { resumeAll: true });
      await scene.done(scene.admin, "startJob", { ...first, lease: 2 });
      await scene.pass(HOUR_MS);
      await scene.done(scene.admin, "cancelJob", { id: first.id });
      await scene.pass(16_000);
      const unpriced = async () => {
        await scene.reachHistory();
        return ["cost_hours", "cost_by_hours WHERE name = 'key'"].map((table) =>
          scene.archivedRows(`SELECT unpriced_jobs AS jobs FROM ${table} ORDER BY hour_at`).map(({ jobs }) => jobs),
        );
      };
      const hours = [1, 0];
      assert.deepEqual(await unpriced(), [hours, hours]);
      for (const [lease, left] of [
        [1, [0, 1]],
        [2, [0, 0]],
      ] as const) {
        const report = { ...first, lease, ...NOTHING_SPENT, costUsd: 1, error: BROKE, retryAfterMs: null };
        await scene.ask(scene.admin, "failJob", { ...report, ...gone(scene, first.id) });
        assert.deepEqual(await unpriced(), [left, left]);
      }
      assert.equal(scene.archivedRows("SELECT SUM(nano_usd) AS sum FROM cost_hours")[0]?.sum, 2e9);
    },
  },
  {
    what: "a stream that fails after its first word without a count is estimated; one that said nothing, and a job without a stream, are not",
    shown: async (scene) => {
      const pricing = { "*": { input_per_mtok: 1_000_000, output_per_mtok: 1_000_000 } };
      await configure(scene, { ...ALIVE, providers: { p: { pricing } } });
      await present(scene, { concurrency: 4 });
      const prompt = "x".repeat(400);
      const spoken = await started(scene, { stream: true, prompt });
      await fail(scene, spoken, BROKE, { firstTokenMs: 0 });
      await fail(scene, await started(scene, { stream: true, prompt }), BROKE);
      const plain = await started(scene, { prompt });
      await scene.done(scene.admin, "cancelJob", { id: plain.id });
      await scene.pass(16_000);
      assert.equal(await spentUsd(scene), 110);
    },
  },
  {
    what: "what another worker's key reports of an attempt that was taken back costs nothing",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      const [own, other] = [keyOf("worker-key-0"), keyOf("worker-key-1")];
      await present(scene, {}, own);
      const { id } = await create(scene);
      const { lease } = await read(scene, id);
      await scene.done(own, "startJob", { id, lease });
      await scene.done(scene.admin, "activateKillswitch", { level: 1, reason: "drill" });
      await scene.done(scene.admin, "clearKillswitch", { resumeAll: true });
      const report = { id, lease, ...NOTHING_SPENT, costUsd: 1, error: BROKE, retryAfterMs: null };
      await scene.ask(other, "failJob", report);
      assert.equal(await spentUsd(scene), 0);
      await scene.ask(own, "failJob", report);
      assert.equal(await spentUsd(scene), 1);
    },
  },
  {
    what: "a heartbeat for a lease that has ended is no sign of its worker's life",
    shown: async (scene) => {
      await configure(scene, { presence: { offline_after_seconds: 30 } });
      await present(scene, { concurrency: 2 });
      const held = await started(scene);
      await scene.done(scene.admin, "cancelJob", { id: held.id });
      await scene.pass(25_000);
      const late = await scene.ask(scene.admin, "heartbeatJob", held);
      assert.ok(!late.ok && late.error.code === "lease_lost");
      await scene.pass(25_000);
      assert.equal((await scene.done(scene.admin, "getWorker", { instance: "w" })).status, "offline");
    },
  },
  {
    what: "a first word is never later than the report of it",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene);
      const held = await started(scene, { stream: true });
      await scene.pass(1_000);
      await scene.done(scene.admin, "completeJob", { ...held, ...NOTHING_SPENT, result: "done", firstTokenMs: 60_000 });
      const { first_token_at, finished_at } = await read(scene, held.id);
      assert.equal(first_token_at, finished_at);
    },
  },
  {
    what: "a job that a provider refuses goes to the next of the chain that somebody offers",
    shown: async (scene) => {
      const rate_limit = { max_retries: 0 };
      await configure(scene, {
        ...ALIVE,
        routing: { strategy: "fallback", chain: ["p", "nobody", "q", "r"] },
        providers: { p: { rate_limit }, q: { rate_limit }, r: { rate_limit } },
      });
      for (const provider of ["r", "q", "p"]) await present(scene, { instance: `of-${provider}`, provider });
      const { id } = await started(scene);
      for (const next of ["of-q", "of-r"]) {
        const { lease } = await read(scene, id);
        await fail(scene, { id, lease }, REFUSED);
        await scene.pass(60_000);
        const moved = await read(scene, id);
        assert.equal(moved.assigned_worker, next);
        await scene.done(scene.admin, "startJob", { id, lease: moved.lease });
      }
    },
  },
  {
    what: "a worker that fails job after job is paused, once, and the audit says why",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene, { concurrency: 20 });
      await scene.pass(300_000);
      const held: Held[] = [];
      for (let count = 0; count < 20; count += 1) held.push(await started(scene));
      for (const one of held) await fail(scene, one, BROKE);
      await scene.reachHistory();
      const paused = scene.audited("worker.paused");
      assert.equal(paused.length, 1);
      assert.match(String(paused[0]?.reason), /\w/);
    },
  },
];
