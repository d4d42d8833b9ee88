// How long a request at the front door waits: in the queue, for the first word, for a worker whose socket is gone.

import assert from "node:assert/strict";
import type { Scene, Shown } from "./scene.ts";
import { ALIVE, ANSWERS, asking, complete, configure, create, present, read, started } from "./scene-steps.ts";

const ask = (scene: Scene, id: string, more: Record<string, unknown> = {}) =>
  scene.done(scene.admin, "ask", asking(id, more));

const EITHER = { aliases: { either: [{ model: "m" }, { model: "n" }] } };
const NEXT = { instance: "next", models: ["n"] };

export const SCENES_OF_THE_DOOR: readonly Shown[] = [
  {
    what: "a request waits in the queue for as long as it says",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene, { ...ANSWERS, concurrency: 0 });
      await ask(scene, "r", { queueMs: 3_000 });
      await scene.pass(2_999);
      assert.equal((await read(scene, "r")).status, "pending");
      await scene.pass(1);
      const ended = await read(scene, "r");
      assert.deepEqual([ended.status, ended.error?.code], ["failed", "queue_timeout"]);
      assert.match(ended.error?.message ?? "", /is set to take no jobs/);
    },
  },
  {
    what: "a request that may not wait, by its own word or the config's, goes to the next model that has room",
    shown: async (scene) => {
      await configure(scene, { ...ALIVE, front_door: { ...EITHER, queue_seconds: 0 } });
      await present(scene, ANSWERS);
      await present(scene, { ...ANSWERS, ...NEXT, concurrency: 2 });
      await ask(scene, "first", { model: "either" });
      for (const [id, queueMs] of Object.entries({ said: 0, configured: null })) {
        await ask(scene, id, { model: "either", queueMs });
        const { assigned_worker, tried } = await read(scene, id);
        assert.deepEqual([assigned_worker, tried], ["next", [{ model: "m", provider: null, code: "queue_timeout" }]]);
      }
    },
  },
  {
    what: "a request that may not wait is told of a model that is full, also where nobody has the one before",
    shown: async (scene) => {
      await configure(scene, { presence: { offline_after_seconds: 30 }, front_door: EITHER });
      await present(scene, ANSWERS);
      await scene.pass(31_000);
      await present(scene, { ...ANSWERS, ...NEXT });
      await ask(scene, "first", { model: "n" });
      const refused = await scene.ask(scene.admin, "ask", asking("second", { model: "either", queueMs: 0 }));
      assert.ok(!refused.ok);
      assert.deepEqual(refused.error, { code: "queue_timeout", detail: 'worker "next" is at capacity' });
    },
  },
  {
    what: "of requests that have waited for a full model together, those that find no room at the next one wait no more",
    shown: async (scene) => {
      await configure(scene, { ...ALIVE, front_door: EITHER });
      await present(scene, ANSWERS);
      await present(scene, { ...ANSWERS, ...NEXT });
      await ask(scene, "first", { model: "either" });
      for (const id of ["a", "b", "c"]) await ask(scene, id, { model: "either", queueMs: 3_000 });
      await scene.pass(3_000);
      const ended = await Promise.all(["a", "b", "c"].map((id) => read(scene, id)));
      assert.deepEqual(
        ended.map(({ status, error }) => `${status} ${error?.code}`),
        ["assigned queue_timeout", "failed queue_timeout", "failed queue_timeout"],
      );
    },
  },
  {
    what: "a stream waits for its first word for as long as the tenant says, then goes to another worker",
    shown: async (scene) => {
      await configure(scene, { ...ALIVE, front_door: { first_token_seconds: 6 } });
      await present(scene, ANSWERS);
      await ask(scene, "r", { stream: true });
      const { lease } = await read(scene, "r");
      await scene.pass(1_000);
      await scene.done(scene.admin, "startJob", { id: "r", lease });
      await present(scene, { ...ANSWERS, instance: "other" });
      await scene.pass(5_999);
      assert.deepEqual([(await read(scene, "r")).lease, (await read(scene, "r")).status], [lease, "running"]);
      await scene.pass(1);
      const moved = await read(scene, "r");
      assert.deepEqual([moved.assigned_worker, moved.lease], ["other", lease + 1]);
    },
  },
  {
    what: "a stream that has said something is waited for",
    shown: async (scene) => {
      await configure(scene, { ...ALIVE, front_door: { first_token_seconds: 6 } });
      await present(scene, ANSWERS);
      await ask(scene, "r", { stream: true });
      const { lease } = await read(scene, "r");
      await scene.done(scene.admin, "startJob", { id: "r", lease });
      await scene.pass(5_999);
      await scene.tell((tenant) => tenant.firstToken("r", lease));
      await scene.pass(10_000);
      assert.deepEqual([(await read(scene, "r")).lease, (await read(scene, "r")).status], [lease, "running"]);
    },
  },
  {
    what: "only a stream has a time for its first word; without a time limit a job runs for as long as its worker beats",
    shown: async (scene) => {
      const settings = { front_door: { first_token_seconds: 6 }, jobs: { timeout_seconds: null } };
      await configure(scene, { ...ALIVE, ...settings });
      await present(scene, { ...ANSWERS, concurrency: 3 });
      await ask(scene, "r");
      const { lease } = await read(scene, "r");
      await scene.done(scene.admin, "startJob", { id: "r", lease });
      const plain = [await started(scene), await started(scene, { stream: true })];
      for (let beats = 0; beats < 10; beats += 1) {
        await scene.pass(10_000);
        for (const id of ["r", ...plain.map((job) => job.id)])
          await scene.done(scene.admin, "heartbeatJob", { id, lease: 1 });
      }
      assert.ok(scene.alarmCount < 30, `${scene.alarmCount} alarms`);
    },
  },
  {
    what: "a request shows its texts while it is open, and then those that the tenant keeps; any other job shows its own",
    shown: async (scene) => {
      await configure(scene, { ...ALIVE, front_door: { store: "none" } });
      await present(scene, { ...ANSWERS, concurrency: 2 });
      await ask(scene, "r");
      const { lease, prompt } = await read(scene, "r");
      await scene.done(scene.admin, "startJob", { id: "r", lease });
      const plain = await started(scene);
      for (const held of [{ id: "r", lease }, plain]) await complete(scene, held);
      const texts = async (id: string) => {
        const job = await read(scene, id);
        return [job.prompt, job.result];
      };
      assert.equal(prompt, "r");
      assert.deepEqual(await texts("r"), ["", null]);
      assert.deepEqual(await texts(plain.id), ["hello", "done"]);
    },
  },
  {
    what: "what an operator asked for is told with the id of that request; what the service does by itself has none",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      const { id } = await create(scene);
      await scene.done({ ...scene.admin, requestId: "asked-1" }, "cancelJob", { id });
      await scene.reachHistory();
      const requests = scene
        .archivedEvents(id)
        .map(({ type, detail }) => [type, (detail as { request_id?: string } | null)?.request_id]);
      assert.deepEqual(requests, [
        ["job.created", undefined],
        ["job.cancelled", "asked-1"],
      ]);
    },
  },
];
