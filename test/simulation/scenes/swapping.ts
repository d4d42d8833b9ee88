// A worker that holds one model at a time: what waits for the loaded one goes first, and no model starves.

import assert from "node:assert/strict";
import type { Scene, Shown } from "./scene.ts";
import { ALIVE, complete, configure, create, present, read } from "./scene-steps.ts";

const WAIT_SECONDS = 30;
const GEMMA = { models: ["gemma", "qwen3"], loaded: [{ model: "gemma" }], max_loaded: 1 };

const begin = async (scene: Scene): Promise<void> => {
  await configure(scene, { ...ALIVE, routing: { swap_wait_seconds: WAIT_SECONDS } });
  await present(scene, GEMMA);
};

const jobFor = async (scene: Scene, model: string, more: Record<string, unknown> = {}): Promise<string> =>
  (await create(scene, { model, ...more })).id;

const statusOf = async (scene: Scene, id: string): Promise<string> => (await read(scene, id)).status;

/** The job's worker ends it, and takes its next. */
const end = async (scene: Scene, id: string): Promise<void> => {
  const { lease } = await read(scene, id);
  await complete(scene, { id, lease });
};

export const SCENES_OF_SWAPPING: readonly Shown[] = [
  {
    what: "a job for another model waits behind those for the loaded one, and says so",
    shown: async (scene) => {
      await begin(scene);
      const running = await jobFor(scene, "gemma");
      const other = await jobFor(scene, "qwen3");
      const behind = await jobFor(scene, "gemma");
      await scene.pass(9_000);
      const words = "waits for qwen3 to be loaded on w: 1 job for gemma before it, at most 21 s more";
      assert.equal((await read(scene, other)).waiting_reason, words);
      const explained = await scene.done(scene.admin, "explain", { ...ASKED, id: other });
      assert.deepEqual(explained.workers[0]?.reasons, [words, "at capacity (1 of 1)"]);
      await end(scene, running);
      assert.deepEqual([await statusOf(scene, behind), await statusOf(scene, other)], ["assigned", "pending"]);
      await end(scene, behind);
      assert.equal(await statusOf(scene, other), "assigned");
    },
  },
  {
    what: "no model starves: its oldest job waits its time, then it goes before younger ones for the loaded model",
    shown: async (scene) => {
      await begin(scene);
      let running = await jobFor(scene, "gemma");
      const other = await jobFor(scene, "qwen3");
      for (let second = 0; second <= WAIT_SECONDS; second += 10) {
        const next = await jobFor(scene, "gemma");
        await end(scene, running);
        const isOver = second >= WAIT_SECONDS;
        assert.equal(await statusOf(scene, other), isOver ? "assigned" : "pending");
        assert.equal(await statusOf(scene, next), isOver ? "pending" : "assigned");
        running = next;
        await scene.pass(10_000);
      }
    },
  },
  {
    what: "a higher priority does not wait for the loaded model's jobs",
    shown: async (scene) => {
      await begin(scene);
      const running = await jobFor(scene, "gemma");
      await jobFor(scene, "gemma");
      const urgent = await jobFor(scene, "qwen3", { priority: "high" });
      await end(scene, running);
      assert.equal(await statusOf(scene, urgent), "assigned");
    },
  },
  {
    what: "once the last job for the loaded model is given, the free place beside it is for another model",
    shown: async (scene) => {
      await begin(scene);
      await present(scene, { ...GEMMA, concurrency: 2, status: "busy" });
      const other = await jobFor(scene, "qwen3");
      const loaded = await jobFor(scene, "gemma");
      await present(scene, { ...GEMMA, concurrency: 2 });
      assert.deepEqual([await statusOf(scene, loaded), await statusOf(scene, other)], ["assigned", "assigned"]);
    },
  },
  {
    what: "without the config nothing waits for a model",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene, GEMMA);
      const running = await jobFor(scene, "gemma");
      const other = await jobFor(scene, "qwen3");
      await jobFor(scene, "gemma");
      await end(scene, running);
      assert.equal(await statusOf(scene, other), "assigned");
    },
  },
];

const ASKED = { provider: null, model: null, tags: [], tier: null, urgency: "normal" as const };
