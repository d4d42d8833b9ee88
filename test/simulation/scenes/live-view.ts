// What an operator's page is told, and when.

import assert from "node:assert/strict";
import { MAX_SNAPSHOT_RESOURCES, type NumberedLiveMessage } from "../../../contract/live.ts";
import type { Scene, Shown } from "./scene.ts";
import { ALIVE, ANSWERS, asking, configure, create, JOB, learn, NOTHING_SPENT, present } from "./scene-steps.ts";

type Told<Type extends NumberedLiveMessage["type"]> = Extract<NumberedLiveMessage, { type: Type }>;

const messagesIn = (frame: string): NumberedLiveMessage[] => [JSON.parse(frame)].flat();

/** The frames since the last look, each with its messages. */
const take = (frames: string[]): NumberedLiveMessage[][] => frames.splice(0).map(messagesIn);

const typesIn = (frames: string[]): string[][] => take(frames).map((messages) => messages.map(({ type }) => type));

const only = <Type extends NumberedLiveMessage["type"]>(frames: NumberedLiveMessage[][], type: Type): Told<Type>[] =>
  frames.flat().filter((message): message is Told<Type> => message.type === type);

/** A page that has been told everything so far. */
const watching = async (scene: Scene): Promise<string[]> => {
  const frames = await scene.watch();
  await scene.pass(10_000);
  frames.splice(0);
  return frames;
};

const createMany = (scene: Scene, count: number) =>
  scene.done(scene.admin, "createJobs", { jobs: Array.from({ length: count }, () => JOB), idempotency: null });

export const SCENES_OF_THE_LIVE_VIEW: readonly Shown[] = [
  {
    what: "a page is told of changes a tenth of a second after the first, each in its latest state, in one frame",
    shown: async (scene) => {
      const frames = await watching(scene);
      const { id } = await create(scene, { prompt: "é".repeat(300) });
      await scene.pass(50);
      await scene.done(scene.admin, "cancelJob", { id });
      await scene.pass(49);
      assert.deepEqual(frames, []);
      await scene.pass(1);
      const told = take(frames);
      assert.deepEqual(told.length, 1);
      assert.deepEqual(
        only(told, "job.updated").map(({ job, counts }) => [job.id, job.status, job.prompt_start, counts.cancelled]),
        [[id, "cancelled", "é".repeat(200), 1]],
      );
    },
  },
  {
    what: "the queue, the minutes and the fleet are told once a second while anything changes, and only if they differ",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      const frames = await watching(scene);
      const types = async (ms: number) => {
        await scene.pass(ms);
        return typesIn(frames).flat();
      };
      await create(scene, { provider: "x" });
      assert.deepEqual(await types(100), ["job.updated", "queue.updated", "activity.updated"]);
      const { id } = await create(scene, { provider: "x" });
      assert.deepEqual(await types(999), ["job.updated"]);
      assert.deepEqual(await types(1), ["queue.updated", "activity.updated"]);
      await scene.pass(1_000);
      await scene.done(scene.admin, "patchJob", { id, patch: { tier: "premium" } });
      assert.deepEqual(await types(5_000), ["job.updated"]);
      await present(scene);
      assert.deepEqual(await types(5_000), ["worker.updated", "queue.updated", "fleet.updated"]);
      await present(scene, { version: "2" });
      assert.deepEqual(await types(5_000), ["worker.updated"]);
    },
  },
  {
    what: "the sums of two thousand workers are told every two seconds",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      for (let at = 0; at < 1_998; at += 1) await present(scene, { instance: `w${at}` });
      const frames = await watching(scene);
      const told = async (ms: number) => {
        await scene.pass(ms);
        return only(take(frames), "fleet.updated").length;
      };
      await present(scene, { instance: "more" });
      assert.equal(await told(100), 1);
      await present(scene, { instance: "and more" });
      assert.equal(await told(1_999), 0);
      assert.equal(await told(1), 1);
    },
  },
  {
    what: "a frame has at most two hundred jobs; the next one has more, a tenth of a second later",
    shown: async (scene) => {
      const frames = await watching(scene);
      await createMany(scene, 401);
      await scene.pass(300);
      const told = take(frames).map((messages) => only([messages], "job.updated").map(({ job }) => job.id));
      assert.deepEqual(
        told.map(({ length }) => length),
        [200, 200, 1],
      );
      assert.equal(new Set(told.flat()).size, 401);
      await scene.pass(1_000);
      assert.ok(scene.isAtRest);
    },
  },
  {
    what: "a page that is more than five thousand changes behind begins again with a snapshot, and goes on from there",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene, { concurrency: 5_000 });
      const frames = await watching(scene);
      const cancelled = await create(scene, { provider: "x" });
      await scene.done(scene.admin, "cancelJob", { id: cancelled.id });
      await scene.pass(2_000);
      assert.equal(only(take(frames), "queue.updated").at(-1)?.queue.total, 0);
      // History can wait.
      scene.holdAlarm(true);
      for (let batch = 0; batch < 10; batch += 1) await createMany(scene, 500);
      const { id } = await create(scene, { provider: "x" });
      await scene.pass(100);
      const [[snapshot] = [], ...rest] = take(frames);
      assert.ok(snapshot?.type === "snapshot");
      assert.equal(snapshot.jobs.length, MAX_SNAPSHOT_RESOURCES);
      assert.ok(snapshot.jobs.some((job) => job.id === id));
      assert.deepEqual([snapshot.counts.assigned, snapshot.queue.total], [5_000, 1]);
      await scene.done(scene.admin, "cancelJob", { id });
      await scene.pass(2_000);
      const later = [...rest, ...take(frames)];
      assert.deepEqual(
        only(later, "job.updated").map(({ job }) => job.id),
        [id],
      );
      assert.equal(only(later, "queue.updated").at(-1)?.queue.total, 0);
    },
  },
  {
    what: "a page that comes later has the sums at once, and the others are told nothing twice",
    shown: async (scene) => {
      const first = await watching(scene);
      await create(scene);
      await scene.pass(5_000);
      take(first);
      const second = await scene.watch();
      await scene.pass(100);
      const [[snapshot] = []] = take(second);
      assert.ok(snapshot?.type === "snapshot" && snapshot.seq === 1);
      assert.deepEqual([snapshot.queue.total, snapshot.minutes.map(({ created }) => created)], [1, [1]]);
      assert.deepEqual(take(first), []);
    },
  },
  {
    what: "a page is shown the words of a request while it is open, and then as many as the tenant keeps",
    shown: async (scene) => {
      await configure(scene, { ...ALIVE, front_door: { store: "none" } });
      await present(scene, ANSWERS);
      const frames = await watching(scene);
      await scene.done(scene.admin, "ask", asking("r"));
      await scene.pass(1_000);
      await scene.done(scene.admin, "completeJob", { id: "r", lease: 1, result: "done", ...NOTHING_SPENT });
      await scene.pass(1_000);
      const told = only(take(frames), "job.updated").map(({ job }) => [job.status, job.prompt_start]);
      assert.deepEqual(told, [
        ["assigned", "r"],
        ["completed", ""],
      ]);
    },
  },
  {
    what: "models that a catalog has lost are shown while somebody names them",
    shown: async (scene) => {
      for (const provider of ["p", "q"]) {
        await learn(scene, provider, ["lost", "kept"]);
        await learn(scene, provider, ["kept"]);
      }
      await create(scene, { provider: "p", model: "lost" });
      const frames = await scene.watch();
      await scene.pass(100);
      const [snapshot] = only(take(frames), "snapshot");
      assert.deepEqual(snapshot?.removed_models, [
        { provider: "p", models_in_use: ["lost"], waiting_jobs: 1, workers: [], schedules: [] },
      ]);
    },
  },
];
