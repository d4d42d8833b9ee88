// What stops everything: the killswitch at its lowest level, and a budget that engages it.

import assert from "node:assert/strict";
import { keyOf } from "../world.ts";
import type { Scene, Shown } from "./scene.ts";
import { ALIVE, complete, configure, create, JOB, present, read, started } from "./scene-steps.ts";

const halt = (scene: Scene, level = 1) => scene.done(scene.admin, "activateKillswitch", { level, reason: "drill" });

export const SCENES_OF_HALTS: readonly Shown[] = [
  {
    what: "at the lowest level nothing is given out, even to a worker that is resumed by hand",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene);
      await halt(scene);
      await scene.done(scene.admin, "resumeWorker", { instance: "w" });
      const { id } = await create(scene);
      await present(scene);
      const waiting = await read(scene, id);
      assert.deepEqual([waiting.status, waiting.waiting_reason], ["pending", "killswitch level 1"]);
      await scene.done(scene.admin, "clearKillswitch", { resumeAll: true });
      assert.equal((await read(scene, id)).status, "assigned");
    },
  },
  {
    what: "a worker that lists none of what was halted confirms the lowest level, too",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene);
      const { id } = await started(scene);
      await halt(scene);
      const confirmed = async () => {
        const state = await scene.done(scene.admin, "readKillswitch", null);
        return [state.confirmed_workers, state.workers_to_confirm];
      };
      await present(scene, { jobs: [id] });
      assert.deepEqual(await confirmed(), [0, 1]);
      await present(scene, { jobs: [] });
      assert.deepEqual(await confirmed(), [1, 1]);
      await scene.done(scene.admin, "clearKillswitch", { resumeAll: true });
      assert.deepEqual(await confirmed(), [0, 0]);
    },
  },
  {
    what: "a reached budget engages the killswitch once, however often it is looked at",
    shown: async (scene) => {
      await configure(scene, { ...ALIVE, budget: { day_usd: 1, on_reached: "killswitch" } });
      await present(scene, { concurrency: 2 });
      const [one, other] = [await started(scene), await started(scene)];
      await complete(scene, one, 1);
      assert.equal((await scene.done(scene.admin, "readKillswitch", null)).level, 1);
      await scene.ask(scene.admin, "completeJob", { ...other, result: 1, usage: null, costUsd: 1, model: null });
      await configure(scene, { ...ALIVE, budget: { day_usd: 1, on_reached: "killswitch" }, history: { keep_days: 3 } });
      await scene.reachHistory();
      assert.equal(scene.audited("killswitch.activated").length, 1);
      assert.deepEqual(
        scene.audited("budget.reached").map((detail) => detail.on_reached),
        ["killswitch"],
      );
    },
  },
  {
    what: "each budget is recorded when it is reached, when its limit changes under it, and when it is lifted",
    shown: async (scene) => {
      const limits = (p: number, q: number) =>
        configure(scene, { ...ALIVE, providers: { p: { budget: { day_usd: p } }, q: { budget: { day_usd: q } } } });
      await limits(1, 1);
      for (const provider of ["p", "q"]) {
        await present(scene, { instance: `worker-of-${provider}`, provider });
        await complete(scene, await started(scene, { provider }), 1);
      }
      await limits(5, 1);
      await limits(5, 0.5);
      await scene.reachHistory();
      assert.deepEqual(
        scene.audited("budget.reached").map((detail) => [detail.limit_usd, detail.spent_usd, detail.on_reached]),
        [
          [1, 1, "reject"],
          [1, 1, "reject"],
          [0.5, 1, "reject"],
        ],
      );
      assert.equal(scene.audited("budget.lifted").length, 1);
    },
  },
  {
    what: "with a reached budget a provider that nobody offers is refused for its cost, and no provider for want of workers",
    shown: async (scene) => {
      await configure(scene, { ...ALIVE, budget: { day_usd: 1 } });
      await present(scene);
      await complete(scene, await started(scene), 1);
      await scene.done(scene.admin, "pauseWorker", { instance: "w", reason: null, untilAt: null });
      const refusalOf = async (provider: string | null, model: string | null) => {
        const job = { ...JOB, provider, model };
        const answer = await scene.ask(scene.admin, "dispatch", { job, mayQueue: false, idempotency: null });
        return answer.ok ? null : answer.error.code;
      };
      assert.equal(await refusalOf("openai", null), "budget_reached");
      assert.equal(await refusalOf("ollama", null), "no_eligible_workers");
      await present(scene, { models: ["m"] });
      assert.equal(await refusalOf(null, "unknown"), "no_eligible_workers");
    },
  },
  {
    what: "a lone worker is told that the killswitch pauses it and that it goes on",
    shown: async (scene) => {
      const heard = await scene.connect();
      const told = (type: string) => heard.join().split(`"type":"${type}"`).length - 1;
      await present(scene, { instance: "worker-0" }, keyOf("worker-key-0"));
      await halt(scene);
      await halt(scene, 2);
      assert.equal(told("worker.paused"), 1);
      await scene.done(scene.admin, "clearKillswitch", { resumeAll: true });
      assert.equal(told("worker.resumed"), 1);
    },
  },
  {
    what: "a halt that grows to level 4 cancels what a lower level put back, and leaves alone what has ended since",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene, { concurrency: 2 });
      const [one, other] = [await started(scene), await started(scene)];
      await halt(scene);
      await scene.done(scene.admin, "cancelJob", { id: one.id });
      await halt(scene, 4);
      await scene.reachHistory();
      assert.equal((await read(scene, other.id)).status, "cancelled");
      assert.equal((await read(scene, one.id)).status, "cancelled");
      assert.equal(scene.audited("killswitch.activated").length, 2);
    },
  },
  {
    what: "the audit says why a worker was paused by itself",
    shown: async (scene) => {
      await configure(scene, { ...ALIVE, jobs: { accept_within_seconds: 5, retry: { backoff_seconds: 1 } } });
      await present(scene);
      await create(scene);
      for (let waited = 0; waited < 60 && scene.audited("worker.paused").length === 0; waited += 1)
        await scene.pass(1_000);
      assert.match(String(scene.audited("worker.paused")[0]?.reason), /let leases expire \d+ times in a row/);
    },
  },
  {
    what: "a move that is cancelled gives out what waited; a halt of before stays, and the audit says which",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene);
      const { id } = await create(scene, { runAt: scene.nowAt + 5_000 });
      const move = async () => {
        await scene.tell((tenant) => tenant.leave("https://elsewhere.example"));
        await scene.pass(6_000);
        await scene.tell((tenant) => tenant.stay());
        await scene.reachHistory();
        const { level, reason } = await scene.done(scene.admin, "readKillswitch", null);
        return [level, reason];
      };
      assert.deepEqual(await move(), [0, null]);
      assert.equal((await read(scene, id)).status, "assigned");
      const { length } = scene.audited("killswitch.activated");
      assert.deepEqual([length, scene.audited("killswitch.cleared").length], [1, 1]);
      await halt(scene);
      assert.deepEqual(await move(), [1, "drill"]);
      assert.deepEqual(
        scene
          .audited("killswitch.activated")
          .map(({ reason }) => reason)
          .slice(length),
        ["drill", "the tenant moves to https://elsewhere.example", "drill"],
      );
    },
  },
];
