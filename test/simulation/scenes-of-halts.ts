// What stops everything: the killswitch at its lowest level, and a budget that engages it.

import assert from "node:assert/strict";
import type { Scene, Shown } from "./scene.ts";
import { ALIVE, complete, configure, create, present, read, started } from "./scene-steps.ts";

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
      await scene.pass(1_000);
      assert.equal(scene.audited("killswitch.activated").length, 1);
      assert.equal(scene.audited("budget.reached").length, 1);
    },
  },
];
