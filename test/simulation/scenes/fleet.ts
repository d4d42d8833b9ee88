// The fleet as its operator reads it.

import assert from "node:assert/strict";
import type { Scene, Shown } from "./scene.ts";
import { ALIVE, configure, create, present } from "./scene-steps.ts";

const ALL = { limit: 1_000, offset: 0 };

const worker = (scene: Scene, instance = "w") => scene.done(scene.admin, "getWorker", { instance });

export const SCENES_OF_THE_FLEET: readonly Shown[] = [
  {
    what: "one answer lists workers with eight million characters; the next page begins after them",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      for (let at = 0; at < 130; at += 1) await present(scene, { instance: `w${at}`, models: ["m".repeat(65_536)] });
      const page = async (offset: number) => {
        const { workers, total } = await scene.done(scene.admin, "listPresent", { ...ALL, offset });
        return [workers.length, total];
      };
      assert.deepEqual(
        [await page(0), await page(127)],
        [
          [127, 130],
          [3, 130],
        ],
      );
    },
  },
  {
    what: "a worker's page has its jobs, and of a long prompt or input only what has room",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene, { concurrency: 4 });
      const inputOf = (chars: number) => ({ a: "x".repeat(chars - JSON.stringify({ a: "" }).length) });
      const most = { prompt: "p".repeat(4_096), input: inputOf(4_096) };
      await create(scene, most);
      await create(scene, { prompt: "p".repeat(4_097), input: {} });
      await create(scene, { prompt: "short", input: inputOf(4_097) });
      await create(scene, { prompt: "p".repeat(9_000), input: inputOf(9_000) });
      const { jobs } = await worker(scene);
      assert.deepEqual(
        jobs.map(({ prompt, input, truncated = [] }) => ({ prompt, input, truncated })),
        [
          { ...most, truncated: [] },
          { prompt: most.prompt, input: {}, truncated: ["prompt"] },
          { prompt: "short", input: null, truncated: ["input"] },
          { prompt: most.prompt, input: null, truncated: ["prompt", "input"] },
        ],
      );
    },
  },
  {
    what: "totals over the fleet come only where they are asked for",
    shown: async (scene) => {
      await present(scene);
      const list = (summary: "true" | "false") =>
        scene.done(scene.admin, "listWorkers", { ...ALL, sort: "registered_at", summary });
      assert.ok(!("summary" in (await list("false"))));
      assert.equal((await list("true")).summary?.states.idle, 1);
    },
  },
  {
    what: "while the killswitch is active the workers that it paused name it, and one paused by hand its own reason",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      for (const instance of ["w", "by-hand"]) await present(scene, { instance });
      const pauseByHand = { instance: "by-hand", reason: "repair", untilAt: null };
      await scene.done(scene.admin, "pauseWorker", pauseByHand);
      await scene.done(scene.admin, "activateKillswitch", { level: 1, reason: "drill" });
      const reasons = async () => [(await worker(scene)).pause_reason, (await worker(scene, "by-hand")).pause_reason];
      assert.deepEqual(await reasons(), ["killswitch", "repair"]);
      await scene.done(scene.admin, "clearKillswitch", { resumeAll: false });
      assert.deepEqual(await reasons(), ["killswitch; paused until it is resumed", "repair"]);
    },
  },
];
