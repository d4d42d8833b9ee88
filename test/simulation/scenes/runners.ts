// The coordinator's own workers: until when a fallback waits, what a refused key does, and what becomes of lost calls.

import assert from "node:assert/strict";
import { EDGE_BEAT_MS } from "../../../domain/fleet/worker.ts";
import type { Scene, Shown } from "./scene.ts";
import { ALIVE, configure, create, present, read } from "./scene-steps.ts";

const EDGE = { enabled: true, models: ["m"], max_concurrent: 4 };
const HOSTED = "edge-cloud-0";
const WANTED = { model: "m" };

/** The coordinator calls `cloud`; `more` is what else its config says. */
const hosting = (scene: Scene, edge: object = {}, more: object = {}) =>
  configure(scene, { ...ALIVE, ...more, providers: { cloud: { edge: { ...EDGE, ...edge } } } });

/** What it runs: the ids of its jobs, and their leases. */
const callsOf = ({ runners }: Scene) => [...runners.calls.values()].map(({ id, lease }) => ({ id, lease }));

const startedCall = async (scene: Scene) => {
  const { id } = await create(scene, WANTED);
  const { lease } = await read(scene, id);
  assert.ok(await scene.runnerSays(HOSTED, { type: "job.started", job_id: id, lease }));
  return { id, lease };
};

const completion = ({ id, lease }: { id: string; lease: number }, result: string) => ({
  type: "job.completed",
  job_id: id,
  lease,
  result,
});

const refusal = ({ id, lease }: { id: string; lease: number }) => ({
  type: "job.failed",
  job_id: id,
  lease,
  error: { code: "provider_refused", message: "bad key", retryable: false },
});

export const SCENES_OF_THE_RUNNERS: readonly Shown[] = [
  {
    what: "a fallback waits for a full worker of one's own, says so, and takes the job at the instant its time is over",
    shown: async (scene) => {
      await hosting(scene, { after_seconds: 20 });
      await present(scene, { concurrency: 1 });
      const [first, second] = [await create(scene), await create(scene, WANTED)];
      assert.equal((await read(scene, first.id)).assigned_worker, "w");
      await scene.pass(19_999);
      const waiting = await read(scene, second.id);
      assert.equal(waiting.waiting_reason, `${HOSTED} waits: a worker of your own can take this within 20 s`);
      assert.deepEqual(callsOf(scene), []);
      await scene.pass(1);
      assert.equal((await read(scene, second.id)).assigned_worker, HOSTED);
      await scene.reachHistory();
      assert.deepEqual(scene.audited("overflow.started"), [{ worker: HOSTED, job_id: second.id, model: "m" }]);
    },
  },
  {
    what: "a fallback takes the next job of a group, too, at the instant that job's time is over",
    shown: async (scene) => {
      await hosting(scene, { after_seconds: 20 });
      await present(scene, { concurrency: 1 });
      await create(scene);
      await create(scene, WANTED);
      await scene.pass(5_000);
      const next = await create(scene, WANTED);
      await scene.pass(19_999);
      assert.equal((await read(scene, next.id)).assigned_worker, null);
      await scene.pass(1);
      assert.equal((await read(scene, next.id)).assigned_worker, HOSTED);
    },
  },
  {
    what: "a fallback without a free place is looked at seldom; a place that gets free takes the job at once",
    shown: async (scene) => {
      await hosting(scene, { after_seconds: 20, max_concurrent: 1 });
      await present(scene, { concurrency: 1 });
      await create(scene);
      const running = await create(scene, WANTED);
      const waiting = await create(scene, WANTED);
      await scene.pass(30_000);
      const { lease } = await read(scene, running.id);
      assert.ok(await scene.runnerSays(HOSTED, { type: "job.started", job_id: running.id, lease }));
      const before = scene.alarmCount;
      await scene.pass(100_000);
      assert.ok(scene.alarmCount - before < 40, `${scene.alarmCount - before} alarms`);
      assert.ok(await scene.runnerSays(HOSTED, completion({ id: running.id, lease }, "done")));
      assert.equal((await read(scene, waiting.id)).assigned_worker, HOSTED);
    },
  },
  {
    what: "a fallback takes at once what no worker of one's own takes: none is there, it is paused, or it is silent",
    shown: async (scene) => {
      await hosting(scene, {}, { presence: { offline_after_seconds: 30 } });
      await startedCall(scene);
      await present(scene, { concurrency: 0 });
      await startedCall(scene);
      await present(scene, { concurrency: 1 });
      await scene.done(scene.admin, "pauseWorker", { instance: "w", reason: null, untilAt: null });
      await startedCall(scene);
      await scene.done(scene.admin, "resumeWorker", { instance: "w" });
      await scene.pass(31_000);
      await startedCall(scene);
      assert.deepEqual(scene.audited("overflow.started"), []);
    },
  },
  {
    what: "fewer places end no call: a worker that is too many takes no other, and goes after its last one",
    shown: async (scene) => {
      await hosting(scene, { max_concurrent: 33 });
      const extra = "edge-cloud-1";
      for (let count = 0; count < 33; count += 1) await create(scene, WANTED);
      const call = [...scene.runners.calls.values()].find(({ instance }) => instance === extra);
      assert.ok(call !== undefined);
      assert.ok(await scene.runnerSays(extra, { type: "job.started", job_id: call.id, lease: call.lease }));
      await hosting(scene, { max_concurrent: 32 });
      assert.equal((await scene.done(scene.admin, "getWorker", { instance: extra })).concurrency, 0);
      const waiting = await create(scene, WANTED);
      await scene.pass(60_000);
      assert.equal((await read(scene, waiting.id)).assigned_worker, null);
      assert.ok(await scene.runnerSays(extra, completion(call, "whole")));
      assert.equal((await read(scene, call.id)).result, "whole");
      await scene.pass(1);
      assert.equal((await scene.ask(scene.admin, "getWorker", { instance: extra })).ok, false);
      assert.equal((await read(scene, waiting.id)).assigned_worker, null);
    },
  },
  {
    what: "a call that is lost with its object comes back once it is stale, and its late report changes nothing",
    shown: async (scene) => {
      await hosting(scene, {}, { jobs: { reap_stale_after_seconds: 20 } });
      const lost = await startedCall(scene);
      scene.runners.lose(HOSTED);
      await scene.pass(19_000);
      assert.equal((await read(scene, lost.id)).lease, lost.lease);
      await scene.pass(10_000);
      const again = await read(scene, lost.id);
      assert.ok(again.lease > lost.lease);
      assert.equal(await scene.runnerSays(HOSTED, completion(lost, "late")), false);
      assert.ok(await scene.runnerSays(HOSTED, completion({ id: lost.id, lease: again.lease }, "right")));
      assert.equal((await read(scene, lost.id)).result, "right");
    },
  },
  {
    what: "a call keeps its job where workers tell more often that they live than it does",
    shown: async (scene) => {
      const hasty = { jobs: { reap_stale_after_seconds: 4 }, presence: { heartbeat_interval_seconds: 2 } };
      await hosting(scene, {}, hasty);
      const call = await startedCall(scene);
      // One beat is lost, and the next comes late.
      await scene.pass(2 * EDGE_BEAT_MS + 2_000);
      assert.equal((await read(scene, call.id)).lease, call.lease);
      assert.ok(await scene.runnerSays(HOSTED, { type: "job.heartbeat", job_id: call.id, lease: call.lease }));
      scene.runners.lose(HOSTED);
      await scene.pass(2.5 * EDGE_BEAT_MS);
      assert.ok((await read(scene, call.id)).lease > call.lease);
    },
  },
  {
    what: "what a lost call cost is not known, and stands so; one that was halted and sent nothing cost nothing",
    shown: async (scene) => {
      await hosting(scene, {}, { jobs: { reap_stale_after_seconds: 20 } });
      const lost = await startedCall(scene);
      const halted = await startedCall(scene);
      await scene.done(scene.admin, "cancelJob", { id: halted.id });
      await scene.runnerSays(HOSTED, { type: "job.spent", job_id: halted.id, lease: halted.lease });
      scene.runners.lose(HOSTED);
      await scene.pass(60_000);
      assert.deepEqual(scene.archivedRows("SELECT job_id, lease, nano_usd, source FROM attempts"), [
        { job_id: lost.id, lease: lost.lease, nano_usd: null, source: "unknown" },
      ]);
    },
  },
  {
    what: "a provider that refuses its key gets no job for a while, and the one it refused goes to another",
    shown: async (scene) => {
      await hosting(scene, { as: "peer" });
      const refused = await startedCall(scene);
      await present(scene, { concurrency: 1 });
      assert.ok(await scene.runnerSays(HOSTED, refusal(refused), "cloud refused the key: bad key"));
      assert.equal((await read(scene, refused.id)).assigned_worker, "w");
      const { id } = await create(scene, WANTED);
      assert.equal((await read(scene, id)).status, "pending");
      await scene.pass(5 * 60_000);
      assert.equal((await read(scene, id)).assigned_worker, HOSTED);
    },
  },
  {
    what: "a provider that refuses its key fails the job that nobody else may have",
    shown: async (scene) => {
      await hosting(scene);
      const refused = await startedCall(scene);
      assert.ok(await scene.runnerSays(HOSTED, refusal(refused), "cloud refused the key: bad key"));
      const failed = await read(scene, refused.id);
      assert.deepEqual([failed.status, failed.error?.message], ["failed", "bad key"]);
    },
  },
  {
    what: "a provider that is no longer called is told to drop its calls, and its worker is gone",
    shown: async (scene) => {
      await hosting(scene);
      const held = await startedCall(scene);
      await configure(scene, ALIVE);
      assert.deepEqual(callsOf(scene), []);
      assert.equal((await read(scene, held.id)).status, "pending");
      assert.equal((await scene.ask(scene.admin, "getWorker", { instance: HOSTED })).ok, false);
    },
  },
  {
    what: "the killswitch ends every call, and leaves nobody unconfirmed",
    shown: async (scene) => {
      await hosting(scene);
      for (let made = 0; made < 4; made += 1) await startedCall(scene);
      const { unconfirmed } = await scene.done(scene.admin, "activateKillswitch", { level: 4, reason: "smoke" });
      assert.deepEqual([callsOf(scene), unconfirmed], [[], []]);
    },
  },
];
