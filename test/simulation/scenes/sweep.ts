// What the sweep does to others than those whose time has come: nothing.

import assert from "node:assert/strict";
import { keyOf } from "../world.ts";
import type { Scene, Shown } from "./scene.ts";
import { ALIVE, ANSWERS, asking, configure, create, present, read, started } from "./scene-steps.ts";

/** A worker that gets its jobs over the socket of `worker-0`. */
const onSocket = { ...ANSWERS, instance: "worker-0" };

const holderOf = async (scene: Scene, id: string) => (await read(scene, id)).assigned_worker;

const expiredLeasesOf = (scene: Scene, instance: string): number => {
  const [row] = scene.rows("SELECT record FROM workers WHERE instance = ?", instance);
  return JSON.parse(row?.record as string).expiredLeases;
};

/** The lease of a job that its worker was given expires while the worker is as `happens` makes it. */
const expiresWhile = async (scene: Scene, happens: () => Promise<void>): Promise<number> => {
  await scene.connect();
  await present(scene, onSocket, keyOf("worker-key-0"), true);
  const { id } = await create(scene);
  assert.equal(await holderOf(scene, id), "worker-0");
  await happens();
  await scene.pass(60_000);
  return expiredLeasesOf(scene, "worker-0");
};

/** Nothing was swept while both times passed; how the job ended. */
const endAfterOutage = async (scene: Scene, jobs: Record<string, number>) => {
  await configure(scene, { ...ALIVE, jobs: { max_attempts: 1, ...jobs } });
  await present(scene);
  const { id } = await started(scene);
  scene.holdAlarm(true);
  await scene.pass(200_000);
  scene.holdAlarm(false);
  await scene.pass(1);
  return (await read(scene, id)).error?.code;
};

export const SCENES_OF_THE_SWEEP: readonly Shown[] = [
  {
    what: "a request goes to another worker when its own has been gone for five seconds",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await scene.connect();
      await present(scene, onSocket, keyOf("worker-key-0"), true);
      await scene.done(scene.admin, "ask", asking("r", { stream: true }));
      await present(scene, { ...ANSWERS, instance: "other" });
      await scene.disconnect();
      await scene.pass(4_999);
      assert.equal(await holderOf(scene, "r"), "worker-0");
      await scene.pass(1);
      assert.equal(await holderOf(scene, "r"), "other");
    },
  },
  {
    what: "nor does a request wait longer for a worker that a deploy has cut off",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await scene.connect();
      await present(scene, onSocket, keyOf("worker-key-0"), true);
      await scene.done(scene.admin, "ask", asking("r", { stream: true }));
      await present(scene, { ...ANSWERS, instance: "other" });
      scene.deploy();
      assert.equal(await holderOf(scene, "r"), "worker-0");
      await scene.pass(5_000);
      assert.equal(await holderOf(scene, "r"), "other");
    },
  },
  {
    what: "a worker that comes back within five seconds keeps its request",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await scene.connect();
      await present(scene, onSocket, keyOf("worker-key-0"), true);
      await scene.done(scene.admin, "ask", asking("r", { stream: true }));
      const { lease } = await read(scene, "r");
      await scene.done(scene.admin, "startJob", { id: "r", lease });
      await scene.disconnect();
      await scene.pass(4_000);
      await scene.connect();
      await present(scene, onSocket, keyOf("worker-key-0"), true);
      await scene.pass(10_000);
      assert.deepEqual([await holderOf(scene, "r"), (await read(scene, "r")).lease], ["worker-0", lease]);
    },
  },
  {
    what: "the end of one worker's pause ends no other's",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      const pauses = { free: undefined, "by hand": null, longer: scene.nowAt + 60_000, over: scene.nowAt + 5_000 };
      for (const [name, untilAt] of Object.entries(pauses)) {
        const instance = name.replace(" ", "-");
        await present(scene, { instance });
        if (untilAt !== undefined) await scene.done(scene.admin, "pauseWorker", { instance, reason: name, untilAt });
      }
      await scene.pass(5_000);
      const isPaused = async (instance: string) => (await scene.done(scene.admin, "getWorker", { instance })).paused;
      const paused: string[] = [];
      for (const instance of ["free", "by-hand", "longer", "over"]) if (await isPaused(instance)) paused.push(instance);
      assert.deepEqual(paused, ["by-hand", "longer"]);
    },
  },
  {
    what: "a lease that expires with a worker that could know of it counts against the worker",
    shown: async (scene) => {
      await configure(scene, {
        ...ALIVE,
        jobs: { accept_within_seconds: 30, retry: { backoff_seconds: 3600, max_backoff_seconds: 3600 } },
      });
      assert.ok((await expiresWhile(scene, async () => {})) > 0);
    },
  },
  {
    what: "a lease that expires with a worker whose socket is gone does not",
    shown: async (scene) => {
      await configure(scene, { ...ALIVE, jobs: { accept_within_seconds: 30 } });
      assert.equal(await expiresWhile(scene, () => scene.disconnect()), 0);
    },
  },
  {
    what: "nor one that expires with a silent worker",
    shown: async (scene) => {
      await configure(scene, { presence: { offline_after_seconds: 20 }, jobs: { accept_within_seconds: 30 } });
      assert.equal(await expiresWhile(scene, async () => {}), 0);
    },
  },
  {
    what: "where both of a job's times passed in an outage, the earlier one is what happened",
    shown: async (scene) => {
      const stale = { reap_stale_after_seconds: 40 };
      assert.equal(await endAfterOutage(scene, { ...stale, timeout_seconds: 100 }), "attempts_exhausted");
      await present(scene);
      assert.equal(await endAfterOutage(scene, { ...stale, timeout_seconds: 20 }), "timeout");
    },
  },
];
