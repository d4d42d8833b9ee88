// The numbers that an operator's monitoring reads.

import assert from "node:assert/strict";
import type { Scene, Shown } from "./scene.ts";
import { ALIVE, ANSWERS, asking, complete, configure, create, fail, present, read, started } from "./scene-steps.ts";

/** The metrics whose lines begin so, by the rest of the line. */
export const metrics = async (scene: Scene, name: string): Promise<Record<string, number>> => {
  const text = await scene.done(scene.admin, "readMetrics", null);
  const lines = text.split("\n").filter((line) => line.startsWith(name));
  return Object.fromEntries(
    lines.map((line) => {
      const end = line.lastIndexOf(" ");
      return [line.slice(name.length, end), Number(line.slice(end + 1))];
    }),
  );
};

const BROKE = { code: "provider_error", message: "broke", retryable: false };

export const SCENES_OF_NUMBERS: readonly Shown[] = [
  {
    what: "jobs count by each status that they reach, and a job's wait from the moment on which it may run",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      const waiting = await create(scene, { runAt: scene.nowAt + 10_000, maxAttempts: 1 });
      await scene.pass(12_000);
      await present(scene);
      const wait = await metrics(scene, "signalbox_assignment_latency_seconds_");
      assert.deepEqual([wait.sum, wait.count], [2, 1]);
      await scene.done(scene.admin, "startJob", { id: waiting.id, lease: 1 });
      await fail(scene, { id: waiting.id, lease: 1 }, BROKE);
      await scene.done(scene.admin, "retryJob", { id: waiting.id });
      await scene.done(scene.admin, "cancelJob", { id: waiting.id });
      const counts = await metrics(scene, "signalbox_jobs_total");
      assert.deepEqual(counts, {
        '{status="pending"}': 2,
        '{status="assigned"}': 2,
        '{status="running"}': 1,
        '{status="completed"}': 0,
        '{status="failed"}': 1,
        '{status="cancelled"}': 1,
      });
    },
  },
  {
    what: "a stream counts from its attempt's start to its first output, and from there to its end",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene, { ...ANSWERS, concurrency: 2 });
      const open = () => metrics(scene, "signalbox_streams_open");
      for (const id of ["a", "b"]) await scene.done(scene.admin, "ask", asking(id, { stream: true }));
      await scene.pass(1_000);
      for (const id of ["a", "b"]) await scene.done(scene.admin, "startJob", { id, lease: 1 });
      assert.deepEqual(await open(), { "": 0 });
      await scene.pass(2_000);
      await scene.tell((tenant) => tenant.firstToken("a", 1));
      assert.deepEqual(await open(), { "": 1 });
      await scene.pass(5_000);
      for (const id of ["a", "b"]) await complete(scene, { id, lease: 1 });
      assert.deepEqual(await open(), { "": 0 });
      const first = await metrics(scene, "signalbox_time_to_first_token_seconds_sum");
      assert.deepEqual(Object.values(first), [2]);
      const runs = await metrics(scene, "signalbox_run_duration_seconds_count");
      assert.deepEqual(Object.values(runs), [2]);
      const whole = await metrics(scene, "signalbox_stream_duration_seconds_");
      assert.deepEqual([whole.sum, whole.count], [5, 1]);
    },
  },
  {
    what: "attempts count by provider and model, with what went wrong, their tokens, cost and time",
    shown: async (scene) => {
      await configure(scene, { ...ALIVE, budget: { day_usd: 5 }, providers: { p: { budget: { month_usd: 1 } } } });
      await present(scene, { concurrency: 2 });
      const [done, failed] = [await started(scene, { model: "m" }), await started(scene)];
      await scene.pass(3_000);
      const usage = { inputTokens: 10, outputTokens: 20 };
      await scene.done(scene.admin, "completeJob", { ...done, result: 1, usage, costUsd: 2, model: null });
      await fail(scene, failed, BROKE);
      await scene.reachHistory();
      const rows = scene.archivedRows(
        "SELECT job_id, worker, outcome, cached_input_tokens, reasoning_tokens FROM attempts",
      );
      const known = { worker: "w", cached_input_tokens: 0, reasoning_tokens: 0 };
      assert.deepEqual(
        rows.map((row) => ({ ...row })),
        [{ ...known, job_id: done.id, outcome: "completed" }],
      );
      const ofM = 'provider="p",model="m"';
      const unnamed = 'provider="p",model=""';
      assert.deepEqual(await metrics(scene, "signalbox_attempts_total"), {
        [`{${ofM},outcome="completed"}`]: 1,
        [`{${ofM},outcome="failed"}`]: 0,
        [`{${unnamed},outcome="completed"}`]: 0,
        [`{${unnamed},outcome="failed"}`]: 1,
      });
      assert.deepEqual(await metrics(scene, "signalbox_attempt_errors_total"), {
        [`{${unnamed},code="provider_error"}`]: 1,
      });
      const tokens = await metrics(scene, "signalbox_tokens_total");
      assert.deepEqual([tokens[`{${ofM},kind="input"}`], tokens[`{${ofM},kind="output"}`]], [10, 20]);
      assert.deepEqual(await metrics(scene, "signalbox_cost_usd_total"), { [`{${ofM}}`]: 2, [`{${unnamed}}`]: 0 });
      assert.equal((await metrics(scene, "signalbox_attempt_duration_seconds_sum"))[`{${ofM}}`], 3);
      assert.deepEqual(await metrics(scene, "signalbox_budget_left_usd"), {
        '{provider="",period="day"}': 3,
        '{provider="p",period="month"}': 0,
      });
    },
  },
  {
    what: "an attempt whose worker fell silent or took too long counts as failed, and one that was taken back does not",
    shown: async (scene) => {
      await configure(scene, { ...ALIVE, jobs: { reap_stale_after_seconds: 40 } });
      await present(scene, { concurrency: 3 });
      const silent = await started(scene, { model: "silent", maxAttempts: 3 });
      await fail(scene, silent, { ...BROKE, retryable: true });
      await scene.pass(5_000);
      await scene.done(scene.admin, "startJob", { id: silent.id, lease: silent.lease + 1 });
      await started(scene, { model: "slow", timeoutMs: 9_000 });
      const left = await started(scene, { model: "left" });
      await scene.done(scene.admin, "cancelJob", { id: left.id });
      await scene.pass(41_000);
      assert.deepEqual(await metrics(scene, "signalbox_attempt_errors_total"), {
        '{provider="p",model="slow",code="timeout"}': 1,
        '{provider="p",model="silent",code="provider_error"}': 1,
        '{provider="p",model="silent",code="worker_lost"}': 1,
      });
      const lasted = await metrics(scene, "signalbox_attempt_duration_seconds_sum");
      assert.equal(lasted['{provider="p",model="slow"}'], 9);
      await started(scene, { model: "halted" });
      await scene.done(scene.admin, "activateKillswitch", { level: 1, reason: "drill" });
      const outcomes = await metrics(scene, "signalbox_attempts_total");
      assert.equal(outcomes['{provider="p",model="halted",outcome="failed"}'], undefined);
    },
  },
  {
    what: "an attempt that an operator takes from a lost worker counts as failed, and one that had not started does not",
    shown: async (scene) => {
      await configure(scene, { jobs: { reap_stale_after_seconds: null, accept_within_seconds: 900 } });
      await present(scene, { concurrency: 2 });
      const running = await started(scene, { model: "m" });
      const assigned = await create(scene, { model: "m" });
      await scene.pass(120_000);
      for (const id of [running.id, assigned.id]) await scene.done(scene.admin, "retryJob", { id });
      assert.deepEqual(await metrics(scene, "signalbox_attempt_errors_total"), {
        '{provider="p",model="m",code="worker_lost"}': 1,
      });
    },
  },
  {
    what: "an attempt that was cancelled counts with what it spent, which its worker tells too late",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene);
      const job = await started(scene, { model: "m" });
      await scene.done(scene.admin, "cancelJob", { id: job.id });
      const usage = { inputTokens: 10, outputTokens: 20 };
      const late = { ...job, result: 1, usage, costUsd: 2, model: null };
      for (const _ of ["told", "repeated"]) assert.equal((await scene.ask(scene.admin, "completeJob", late)).ok, false);
      const labels = 'provider="p",model="m"';
      assert.deepEqual(await metrics(scene, "signalbox_cost_usd_total"), { [`{${labels}}`]: 2 });
      const tokens = await metrics(scene, "signalbox_tokens_total");
      assert.deepEqual([tokens[`{${labels},kind="input"}`], tokens[`{${labels},kind="output"}`]], [10, 20]);
      const outcomes = Object.values(await metrics(scene, "signalbox_attempts_total"));
      assert.deepEqual(outcomes, [0, 0]);
    },
  },
  {
    what: "the queue counts by what its jobs ask for, with the age of the oldest, and workers by their state",
    shown: async (scene) => {
      await configure(scene, { presence: { offline_after_seconds: 30 } });
      await present(scene);
      await create(scene);
      await present(scene, { instance: "paused", provider: "q" });
      await scene.done(scene.admin, "pauseWorker", { instance: "paused", reason: null, untilAt: null });
      const { id } = await create(scene, { provider: "x", tags: ["gpu", "big"] });
      await scene.pass(4_000);
      await create(scene, { provider: "x", tags: ["gpu", "big"], priority: "critical" });
      const asked = '{provider="x",model="",tags="big,gpu",excluded_providers=""}';
      assert.deepEqual(await metrics(scene, "signalbox_queue_depth"), { [asked]: 2 });
      assert.deepEqual(await metrics(scene, "signalbox_queue_oldest_age_seconds"), { [asked]: 4 });
      assert.deepEqual(await metrics(scene, "signalbox_queue_jobs"), { "": 2 });
      assert.equal((await read(scene, id)).status, "pending");
      await present(scene, { instance: "idle", provider: "q" });
      const workers = await metrics(scene, "signalbox_workers{");
      assert.deepEqual([workers['status="idle"}'], workers['status="busy"}']], [2, 1]);
      assert.deepEqual(await metrics(scene, "signalbox_workers_paused"), { "": 1 });
      assert.deepEqual(await metrics(scene, "signalbox_leases"), { "": 1 });
    },
  },
  {
    what: "changes that history does not have yet count, with the age of the oldest",
    shown: async (scene) => {
      const outbox = () => metrics(scene, "signalbox_outbox_");
      await scene.pass(60_000);
      assert.deepEqual(await outbox(), { rows: 0, oldest_age_seconds: 0 });
      scene.holdAlarm(true);
      await create(scene);
      await scene.pass(2_000);
      await create(scene);
      assert.deepEqual(await outbox(), { rows: 2, oldest_age_seconds: 2 });
    },
  },
];
