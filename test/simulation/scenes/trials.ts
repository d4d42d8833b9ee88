// What a failing runtime leads to: a worker's own trial before it rests, and the jobs of models that it does not have.

import assert from "node:assert/strict";
import { keyOf } from "../world.ts";
import type { Scene, Shown } from "./scene.ts";
import { ALIVE, ANSWERS, asking, complete, configure, create, fail, present, read, started } from "./scene-steps.ts";

const BROKEN = { code: "internal", message: "broken", status: 500, retryable: false };
const MISSING = { code: "not_found_error", message: "model 'm' not found", status: 404, retryable: false };
const WHY = 'failed 10 jobs in a row within 60 s, the last with "internal"';
const FIVE_MINUTES_MS = 300_000;

const failTen = async (scene: Scene): Promise<void> => {
  for (let made = 0; made < 10; made += 1) await fail(scene, await started(scene, { model: "m" }), BROKEN);
};

const pauseOf = async (scene: Scene, instance: string): Promise<string | null> =>
  (await scene.done(scene.admin, "getWorker", { instance })).pause_reason;

const triedModels = (inbox: readonly string[]): string[] =>
  inbox
    .flatMap((frame) => JSON.parse(frame))
    .filter(({ type }) => type === "runtime.try")
    .map(({ model }) => model);

/** `worker-0` on its socket, ten jobs of which have failed. */
const failing = async (scene: Scene): Promise<readonly string[]> => {
  await configure(scene, ALIVE);
  const inbox = await scene.connect();
  await present(scene, { instance: "worker-0" }, keyOf("worker-key-0"), true);
  await failTen(scene);
  assert.deepEqual([triedModels(inbox), await pauseOf(scene, "worker-0")], [["m"], null]);
  return inbox;
};

export const SCENES_OF_TRIALS: readonly Shown[] = [
  {
    what: "a worker whose jobs fail goes on once it has shown that its runtime works",
    shown: async (scene) => {
      const inbox = await failing(scene);
      await fail(scene, await started(scene), BROKEN);
      assert.equal(triedModels(inbox).length, 1);
      await scene.say({ type: "runtime.tried", ok: true });
      await scene.pass(120_000);
      assert.equal(await pauseOf(scene, "worker-0"), null);
      await failTen(scene);
      assert.deepEqual(triedModels(inbox), ["m", "m"]);
    },
  },
  {
    what: "a worker whose own trial of its runtime fails rests, and says why",
    shown: async (scene) => {
      await failing(scene);
      await scene.say({ type: "runtime.tried", ok: false, error: { code: "internal", message: "out of memory" } });
      const because = `${WHY}, and its own trial of its runtime failed: out of memory; it rests until `;
      assert.ok((await pauseOf(scene, "worker-0"))?.startsWith(because));
      await scene.pass(60_000);
      assert.equal(await pauseOf(scene, "worker-0"), null);
    },
  },
  {
    what: "a worker that does not answer is judged without: it rests where nothing has gone well for five minutes",
    shown: async (scene) => {
      await failing(scene);
      await scene.pass(119_999);
      assert.equal(await pauseOf(scene, "worker-0"), null);
      await scene.pass(1);
      assert.equal(await pauseOf(scene, "worker-0"), null);
      await scene.pass(FIVE_MINUTES_MS);
      await failTen(scene);
      scene.sleep();
      await scene.pass(120_000);
      assert.ok((await pauseOf(scene, "worker-0"))?.startsWith(`${WHY}; it rests until `));
    },
  },
  {
    what: "an answer to a trial that nobody asked for changes nothing",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await scene.connect();
      await present(scene, { instance: "worker-0" }, keyOf("worker-key-0"), true);
      await scene.say({ type: "runtime.tried", ok: false, error: "broken" });
      assert.equal(await pauseOf(scene, "worker-0"), null);
    },
  },
  {
    what: "a worker without a socket does not rest for the failures of one key, as long as something went well",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene);
      await scene.pass(FIVE_MINUTES_MS);
      await complete(scene, await started(scene));
      await scene.pass(FIVE_MINUTES_MS - 1);
      await failTen(scene);
      assert.equal(await pauseOf(scene, "w"), null);
      await scene.pass(1);
      await fail(scene, await started(scene), BROKEN);
      assert.ok((await pauseOf(scene, "w"))?.startsWith(WHY));
    },
  },
  {
    what: "a worker does not rest for requests that its runtime refuses as its clients' mistakes",
    shown: async (scene) => {
      const mistake = { code: "invalid_request_error", message: "bad seed", status: 400, retryable: false };
      await configure(scene, ALIVE);
      await present(scene, ANSWERS);
      await scene.pass(FIVE_MINUTES_MS);
      for (let sent = 0; sent < 11; sent += 1) {
        const { job } = await scene.done(scene.admin, "ask", asking(`request ${sent}`));
        await scene.done(scene.admin, "startJob", { id: job.id, lease: job.lease });
        await fail(scene, job, mistake);
      }
      assert.equal(await pauseOf(scene, "w"), null);
    },
  },
  {
    what: "a runtime that lacks a model is left out for it for five minutes, and its worker for nothing else",
    shown: async (scene) => {
      await configure(scene, { ...ALIVE, jobs: { accept_within_seconds: 3600 } });
      await present(scene, { instance: "lacks", concurrency: 2 });
      const held = await started(scene, { model: "m" });
      await present(scene, { instance: "has", models: ["m"] });
      await fail(scene, held, MISSING);
      const passed = await read(scene, held.id);
      assert.deepEqual([passed.assigned_worker, passed.attempts], ["has", 0]);
      const waiting = await create(scene, { model: "m:latest" });
      assert.equal((await read(scene, waiting.id)).waiting_reason, 'worker "has" is at capacity');
      assert.equal((await read(scene, (await create(scene, { model: "n" })).id)).assigned_worker, "lacks");
      await scene.pass(FIVE_MINUTES_MS - 1);
      assert.equal((await read(scene, waiting.id)).status, "pending");
      scene.sleep();
      await scene.pass(1);
      assert.equal((await read(scene, waiting.id)).assigned_worker, "lacks");
    },
  },
  {
    what: "a runtime that lacks a model is asked again as soon as its list changes",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene, { instance: "lacks" });
      await fail(scene, await started(scene, { model: "m" }), MISSING);
      const waiting = await create(scene, { model: "m" });
      const { waiting_reason: reason } = await read(scene, waiting.id);
      assert.match(
        String(reason),
        /^worker "lacks": its runtime answered that it does not have model "m"; it is asked /,
      );
      await present(scene, { instance: "lacks" });
      assert.equal((await read(scene, waiting.id)).status, "pending");
      await present(scene, { instance: "lacks", runtime_models: ["m"] });
      assert.equal((await read(scene, waiting.id)).assigned_worker, "lacks");
    },
  },
  {
    what: "a worker whose runtime lacks the model never becomes a conversation's own",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene, { ...ANSWERS, instance: "lacks" });
      const { job } = await scene.done(scene.admin, "ask", asking("a", { session: "s" }));
      await scene.done(scene.admin, "startJob", { id: job.id, lease: job.lease });
      await fail(scene, job, MISSING);
      await present(scene, { ...ANSWERS, instance: "lacks", runtime_models: ["m"] });
      const next = await scene.done(scene.admin, "ask", asking("b", { session: "s" }));
      assert.deepEqual([next.job.worker, next.job.isSessionHit], ["lacks", false]);
    },
  },
];
