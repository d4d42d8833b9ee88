// When a waiting, assigned or running job moves on by itself, to the millisecond.

import assert from "node:assert/strict";
import type { Scene, Shown } from "./scene.ts";
import { ALIVE, configure, create, fail, JOB, present, read, started } from "./scene-steps.ts";

const statusOf = async (scene: Scene, id: string) => (await scene.done(scene.admin, "getJob", { id })).status;

/** It has one state until then and another from then on; its worker stays alive meanwhile. */
const changesAfter = async (scene: Scene, id: string, ms: number, [before, after]: readonly [string, string]) => {
  await scene.pass(ms - 1);
  assert.equal(await statusOf(scene, id), before);
  await scene.pass(1);
  assert.equal(await statusOf(scene, id), after);
};

export const SCENES_OF_JOBS: readonly Shown[] = [
  {
    what: "a job runs at its time",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene);
      const { id } = await create(scene, { runAt: scene.nowAt + 5_000 });
      await changesAfter(scene, id, 5_000, ["pending", "assigned"]);
    },
  },
  {
    what: "a lease that is not started in time goes back",
    shown: async (scene) => {
      await configure(scene, { ...ALIVE, jobs: { accept_within_seconds: 7 } });
      await present(scene);
      const { id } = await create(scene);
      await present(scene, { concurrency: 0 });
      await changesAfter(scene, id, 7_000, ["assigned", "pending"]);
    },
  },
  {
    what: "a running job without heartbeats is taken back once the threshold has passed since the last",
    shown: async (scene) => {
      await configure(scene, { ...ALIVE, jobs: { reap_stale_after_seconds: 40 } });
      await present(scene);
      const { id, lease } = await started(scene);
      await scene.pass(30_000);
      await scene.done(scene.admin, "heartbeatJob", { id, lease });
      await present(scene, { concurrency: 0 });
      await changesAfter(scene, id, 40_000, ["running", "pending"]);
    },
  },
  {
    what: "a running job ends with its time, heartbeats or not",
    shown: async (scene) => {
      await configure(scene, { ...ALIVE, jobs: { reap_stale_after_seconds: null } });
      await present(scene);
      const { id } = await started(scene, { timeoutMs: 9_000, maxAttempts: 1 });
      await changesAfter(scene, id, 9_000, ["running", "failed"]);
    },
  },
  {
    what: "a worker's pause ends at its time",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene);
      const untilAt = scene.nowAt + 6_000;
      const pause = (at: number) => scene.ask(scene.admin, "pauseWorker", { instance: "w", reason: null, untilAt: at });
      assert.ok(!(await pause(scene.nowAt)).ok);
      assert.ok((await pause(untilAt)).ok);
      const { id } = await create(scene);
      await changesAfter(scene, id, 6_000, ["pending", "assigned"]);
    },
  },
  {
    what: "a provider that refused rests for as long as it asked",
    shown: async (scene) => {
      await configure(scene, { ...ALIVE, providers: { p: { rate_limit: { max_retries: 3 } } } });
      await present(scene, { concurrency: 2 });
      const held = await started(scene);
      const error = { code: "rate_limited", message: "too many", retryable: true, status: 429 };
      await fail(scene, held, error, { retryAfterMs: 8_000 });
      const { id: other } = await create(scene, { priority: "critical" });
      const [rest] = scene.rows("SELECT until_at FROM backoffs");
      const restMs = (rest?.until_at as number) - scene.nowAt;
      assert.ok(restMs >= 8_000);
      await changesAfter(scene, other, restMs, ["pending", "assigned"]);
    },
  },
  {
    what: "a worker is offline once it was silent for longer than it may be",
    shown: async (scene) => {
      await configure(scene, { presence: { offline_after_seconds: 45 } });
      await present(scene);
      const status = async () => (await scene.done(scene.admin, "getWorker", { instance: "w" })).status;
      await scene.pass(45_000);
      assert.equal(await status(), "idle");
      await scene.pass(1);
      assert.equal(await status(), "offline");
    },
  },
  {
    what: "what was read from history is believed for five seconds after the object said that it has no such job",
    shown: async (scene) => {
      const { id } = await create(scene);
      await scene.done(scene.admin, "cancelJob", { id });
      await scene.pass(20_000);
      scene.sleep();
      const absent = await scene.ask(scene.admin, "getJob", { id });
      assert.ok(!absent.ok && absent.error.code === "not_found");
      const archived = scene.archived(id);
      const codeWith = async (absentAt: number) => {
        const answer = await scene.ask(scene.admin, "cancelJob", { id, archived: { ...archived, absentAt } });
        return answer.ok ? null : answer.error.code;
      };
      const absentAt = scene.nowAt;
      assert.equal(await codeWith(absentAt), "job_state");
      assert.equal(await codeWith(absentAt + 1), "not_found");
      await scene.pass(4_999);
      assert.equal(await codeWith(absentAt), "job_state");
      await scene.pass(1);
      assert.equal(await codeWith(absentAt), "not_found");
    },
  },
  {
    what: "two who read the same ended job from history lose neither's change, also if history has the first by then",
    shown: async (scene) => {
      const { id } = await create(scene);
      await scene.done(scene.admin, "cancelJob", { id });
      await scene.pass(20_000);
      scene.sleep();
      const archived = { ...scene.archived(id), absentAt: scene.nowAt };
      await scene.done(scene.admin, "patchJob", { id, patch: { tags: ["one"] }, archived });
      await scene.pass(4_000);
      await scene.done(scene.admin, "patchJob", { id, patch: { priority: "high" }, archived });
      await scene.reachHistory();
      const { tags, priority, version } = scene.archived(id).job;
      assert.deepEqual([tags, priority, version], [["one"], "high", archived.job.version + 2]);
    },
  },
  {
    what: "a worker's expired lease is forgotten once it starts a job",
    shown: async (scene) => {
      await configure(scene, { ...ALIVE, jobs: { accept_within_seconds: 5, retry: { backoff_seconds: 1 } } });
      await present(scene);
      const expired = async () => {
        const [row] = scene.rows("SELECT record FROM workers WHERE instance = 'w'");
        return JSON.parse(row?.record as string).expiredLeases;
      };
      const { id } = await create(scene);
      await scene.pass(5_000);
      assert.equal(await expired(), 1);
      await scene.pass(2_000);
      const { lease } = await read(scene, id);
      await scene.done(scene.admin, "startJob", { id, lease });
      assert.equal(await expired(), 0);
    },
  },
  {
    what: "a job that failed, and that history has, runs again with its prompt",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene);
      const held = await started(scene, { maxAttempts: 1 });
      const { id } = held;
      await fail(scene, held, { code: "provider_failed", message: "no", retryable: false });
      await scene.reachHistory();
      assert.equal(scene.archived(id).job.status, "failed");
      await scene.done(scene.admin, "retryJob", { id });
      scene.sleep();
      const { status, prompt } = await read(scene, id);
      assert.deepEqual({ status, prompt }, { status: "assigned", prompt: "hello" });
    },
  },
  {
    what: "a job's events are numbered from one, without a gap, however many belong to one change",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene);
      const asked = { job: JOB, mayQueue: false, idempotency: null };
      const job = await scene.done(scene.admin, "dispatch", asked);
      await scene.done(scene.admin, "startJob", { id: job.id, lease: 1 });
      await scene.reachHistory();
      const events = scene.archivedEvents(job.id);
      assert.deepEqual(
        events.map(({ type, version }) => [type, version]),
        [
          ["job.created", 1],
          ["job.assigned", 2],
          ["job.started", 3],
        ],
      );
    },
  },
  {
    what: "a change of many jobs counts what was changed, what was refused and why, and what only history has",
    shown: async (scene) => {
      const waiting = [await create(scene), await create(scene)];
      const over = [await create(scene), await create(scene)];
      for (const { id } of over) await scene.done(scene.admin, "cancelJob", { id });
      const jobs = [...waiting, ...over, { id: "elsewhere" }].map(({ id }) => ({ id }));
      const portion = await scene.done(scene.admin, "changeJobs", { action: "cancel", jobs });
      const { refused, goneIds, changed } = portion;
      assert.deepEqual(
        { refused, goneIds, changed },
        { refused: { job_state: 2 }, goneIds: ["elsewhere"], changed: 2 },
      );
      const finish = (count: number) =>
        scene.done(scene.admin, "finishBulk", {
          action: "cancel",
          filter: { status: "pending" },
          report: { matched: count, changed: count, refused: {}, remaining: 0 },
          idempotency: null,
        });
      await finish(0);
      await finish(1);
      await scene.reachHistory();
      assert.deepEqual(scene.audited("jobs.bulk_cancel"), [{ filter: { status: "pending" }, changed: 1 }]);
    },
  },
];
