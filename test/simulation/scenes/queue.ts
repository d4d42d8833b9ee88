// In which order waiting jobs are given out.

import assert from "node:assert/strict";
import { LONGEST_UNSERVED_MS } from "../../../domain/job/fair-order.ts";
import type { NewJob } from "../../../domain/job/new-job.ts";
import { PRIORITIES } from "../../../domain/words/requirements.ts";
import { Random } from "../platform/random.ts";
import type { Scene, Shown } from "./scene.ts";
import { configure, create, present, read } from "./scene-steps.ts";

/** Jobs that ask for different things wait in different groups. */
const WANTED: readonly Partial<NewJob>[] = [
  {},
  { provider: "p" },
  { model: "m" },
  { tags: ["a"] },
  { tags: ["a", "b"] },
];

/** Which jobs have been given out. */
const assigned = async (scene: Scene, ids: readonly string[]): Promise<string[]> => {
  const given: string[] = [];
  for (const id of ids) if ((await read(scene, id)).status === "assigned") given.push(id);
  return given;
};

/** Thirty jobs that want different things, in the order in which they are due. */
const mixedJobs = async (scene: Scene): Promise<string[]> => {
  const random = new Random(7);
  const jobs: { id: string; urgency: number }[] = [];
  for (let made = 0; made < 30; made += 1) {
    const urgency = Math.floor(random.next() * PRIORITIES.length);
    const wanted = WANTED[Math.floor(random.next() * WANTED.length)];
    const { id } = await create(scene, { ...wanted, priority: PRIORITIES[urgency] ?? "normal" });
    jobs.push({ id, urgency });
  }
  return jobs.toSorted((one, other) => other.urgency - one.urgency).map(({ id }) => id);
};

const PLACES = [1, 4, 11, 12, 20, 29];

export const SCENES_OF_THE_QUEUE: readonly Shown[] = [
  {
    what: "a worker with more and more places gets jobs by priority, then by age, whatever they ask for",
    shown: async (scene) => {
      const order = await mixedJobs(scene);
      for (const places of PLACES) {
        await present(scene, { tags: "a,b", concurrency: places });
        assert.deepEqual(await assigned(scene, order), order.slice(0, places));
      }
    },
  },
  {
    what: "in that order they are given out after a halt, too",
    shown: async (scene) => {
      const halted = { level: 1, reason: "drill" };
      await scene.done(scene.admin, "activateKillswitch", halted);
      const order = await mixedJobs(scene);
      for (const places of PLACES) {
        await present(scene, { tags: "a,b", concurrency: places, jobs: [] });
        await scene.done(scene.admin, "clearKillswitch", { resumeAll: true });
        assert.deepEqual(await assigned(scene, order), order.slice(0, places));
        await scene.done(scene.admin, "activateKillswitch", halted);
      }
    },
  },
  {
    what: "a flow that was not served for half an hour goes first, however much it was served before",
    shown: async (scene) => {
      await present(scene);
      const first = await create(scene, { fairnessKey: "much" });
      const { id } = await create(scene, { fairnessKey: "much" });
      await present(scene, { concurrency: 0 });
      const usage = { inputTokens: 0, outputTokens: 1_000_000 };
      const report = { id: first.id, lease: 1, result: null, usage, costUsd: null, model: null };
      await scene.done(scene.admin, "completeJob", report);
      const little: string[] = [];
      for (let made = 0; made < 4; made += 1) little.push((await create(scene, { fairnessKey: "little" })).id);
      await present(scene, { concurrency: 1 });
      assert.deepEqual(await assigned(scene, [id, ...little]), little.slice(0, 1));
      await present(scene, { concurrency: 0 });
      await scene.done(scene.admin, "cancelJob", { id: little[0] ?? "" });
      await scene.pass(LONGEST_UNSERVED_MS + 1);
      await present(scene, { concurrency: 2 });
      // The first of them has left the object.
      assert.deepEqual(await assigned(scene, [id, ...little.slice(1)]), [id, ...little.slice(1, 2)]);
    },
  },
  {
    what: "a claim takes the jobs that have waited longest, as many as there are places",
    shown: async (scene) => {
      await present(scene, { concurrency: 3 });
      await scene.done(scene.admin, "pauseWorker", { instance: "w", reason: null, untilAt: null });
      const ids: string[] = [];
      for (const wanted of [...WANTED.slice(0, 3), ...WANTED.slice(0, 3)]) ids.push((await create(scene, wanted)).id);
      await scene.done(scene.admin, "resumeWorker", { instance: "w" });
      assert.deepEqual(await assigned(scene, ids), ids.slice(0, 3));
    },
  },
  {
    what: "a provider has as many jobs at a time as its limit says, and each place that gets free is given at once",
    shown: async (scene) => {
      await configure(scene, { providers: { p: { rate_limit: { max_concurrent: 2 } } } });
      await present(scene, { concurrency: 5 });
      const ids: string[] = [];
      for (let made = 0; made < 4; made += 1) ids.push((await create(scene)).id);
      assert.deepEqual(await assigned(scene, ids), ids.slice(0, 2));
      const [first = "", ...others] = ids;
      await scene.done(scene.admin, "cancelJob", { id: first });
      assert.deepEqual(await assigned(scene, others), others.slice(0, 2));
    },
  },
];
