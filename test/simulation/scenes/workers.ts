// Who may report for a worker, what it may offer, and what its claims bring.

import assert from "node:assert/strict";
import { toPresence } from "../../../contract/fleet/worker.ts";
import type { Credential } from "../../../durable-objects/steps/holders.ts";
import { keyOf } from "../world.ts";
import type { Scene, Shown } from "./scene.ts";
import { ALIVE, complete, configure, create, JOB, NOTHING_SPENT, present, started } from "./scene-steps.ts";

const [OWN, OTHER] = [keyOf("worker-key-0"), keyOf("worker-key-1")];

/** Whether this key may report for the worker `w`. */
const mayReport = async (scene: Scene, credential: Credential): Promise<boolean> => {
  const answer = await scene.ask(credential, "workAs", { instance: "w" });
  assert.ok(answer.ok || ["instance_taken", "not_found"].includes(answer.error.code));
  return answer.ok;
};

const claim = (scene: Scene, max = 10) => scene.done(scene.admin, "claim", { instance: "w", max, isWaiting: false });

const idsOf = (jobs: readonly { readonly id: string }[]): string[] => jobs.map(({ id }) => id);

const storedSignOf = (scene: Scene, instance: string): number => {
  const [row] = scene.rows("SELECT record FROM workers WHERE instance = ?", instance);
  return JSON.parse(row?.record as string).lastHeartbeatAt;
};

const MOST_OFFERED_BYTES = 65_536;

export const SCENES_OF_WORKERS: readonly Shown[] = [
  {
    what: "a live worker answers to its own key alone, and to any key once its own is revoked",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      // A data line needs a worker that has registered.
      assert.ok(!(await mayReport(scene, OTHER)));
      await present(scene, {}, OWN);
      assert.deepEqual(
        [await mayReport(scene, OWN), await mayReport(scene, OTHER), await mayReport(scene, scene.admin)],
        [true, false, false],
      );
      const connection = await scene.done(OWN, "workAs", { instance: "w" });
      assert.deepEqual(connection, { keyId: OWN.id, openedWith: OWN.hash });
      await scene.done(scene.admin, "revokeKey", { id: OWN.id });
      assert.ok(await mayReport(scene, OTHER));
    },
  },
  {
    what: "a data line ends with the secret that opened it, also within the grace of a rotation",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene, {}, OWN);
      await scene.done(scene.admin, "rotateKey", { id: OWN.id, hash: "of another", graceMs: 60_000 });
      const old = await scene.done(OWN, "workAs", { instance: "w" });
      const other = await scene.done({ ...OWN, hash: "of another" }, "workAs", { instance: "w" });
      assert.deepEqual([old.openedWith, other.openedWith], [OWN.hash, "of another"]);
    },
  },
  {
    what: "a silent worker answers to any key, and one that an operator's key registered to that key",
    shown: async (scene) => {
      await configure(scene, { presence: { offline_after_seconds: 30 } });
      await present(scene, {}, OWN);
      await scene.pass(30_000);
      assert.ok(!(await mayReport(scene, OTHER)));
      await scene.pass(1);
      assert.ok(await mayReport(scene, OTHER));
      await present(scene, {}, scene.admin);
      assert.ok(!(await mayReport(scene, OTHER)));
    },
  },
  {
    what: "a worker's sign of life is stored once the stored one is half as old as silence may be",
    shown: async (scene) => {
      await configure(scene, { presence: { offline_after_seconds: 60 } });
      await present(scene);
      const signAt = scene.nowAt;
      await scene.pass(29_999);
      await present(scene);
      assert.equal(storedSignOf(scene, "w"), signAt);
      await scene.pass(1);
      await present(scene);
      assert.equal(storedSignOf(scene, "w"), signAt + 30_000);
    },
  },
  {
    what: "the last ping of a worker outlives its socket and the object's sleep",
    shown: async (scene) => {
      await configure(scene, { presence: { offline_after_seconds: 60 } });
      await scene.connect();
      await present(scene, { instance: "worker-0" }, keyOf("worker-key-0"), true);
      await scene.pass(10_000);
      scene.ping();
      const pingedAt = scene.nowAt;
      await scene.pass(10_000);
      await scene.disconnect();
      scene.sleep();
      const { last_heartbeat } = await scene.done(scene.admin, "getWorker", { instance: "worker-0" });
      assert.equal(Date.parse(last_heartbeat), pingedAt);
    },
  },
  {
    what: "a worker whose socket ends is silent soon, also where the clock was set back since its last ping",
    shown: async (scene) => {
      await configure(scene, { presence: { offline_after_seconds: 60 } });
      await scene.connect();
      await present(scene, { instance: "worker-0" }, keyOf("worker-key-0"), true);
      scene.ping();
      scene.setClockBack(3_600_000);
      await scene.disconnect();
      await scene.pass(60_001);
      const { status } = await scene.done(scene.admin, "getWorker", { instance: "worker-0" });
      assert.equal(status, "offline");
    },
  },
  {
    what: "a silent worker that connects is back before it says anything, also after the object has slept",
    shown: async (scene) => {
      await configure(scene, { presence: { offline_after_seconds: 60 } });
      await present(scene, { instance: "worker-0" });
      await scene.pass(60_001);
      const status = async () => (await scene.done(scene.admin, "getWorker", { instance: "worker-0" })).status;
      assert.equal(await status(), "offline");
      await scene.connect();
      assert.equal(await status(), "idle");
      scene.sleep();
      assert.equal(await status(), "idle");
    },
  },
  {
    what: "a worker on a socket is told of its job by an object that has just woken",
    shown: async (scene) => {
      const inbox = await scene.connect();
      await present(scene, { instance: "worker-0" }, keyOf("worker-key-0"), true);
      scene.sleep();
      const { id } = await create(scene);
      assert.match(inbox.at(-1) ?? "", new RegExp(`"job.assigned".*${id}`));
    },
  },
  {
    what: "a socket whose worker never reported leaves nothing behind",
    shown: async (scene) => {
      await scene.connect();
      await scene.disconnect();
      await scene.pass(10_000);
      assert.deepEqual(scene.rows("SELECT instance FROM workers"), []);
    },
  },
  {
    what: "what a worker offers has at most 64 KiB, its tags and models together",
    shown: async (scene) => {
      const offers = (bytes: number) =>
        scene.ask(scene.admin, "reportPresence", {
          ...toPresence({ instance: "w", provider: "p", tags: "", concurrency: 1 }),
          viaSocket: false,
          tagList: "t".repeat(1_000),
          models: ["é".repeat(500), "m".repeat(bytes - 2_000)],
        });
      assert.ok((await offers(MOST_OFFERED_BYTES)).ok);
      const refused = await offers(MOST_OFFERED_BYTES + 1);
      assert.ok(!refused.ok && refused.error.code === "invalid_request");
    },
  },
  {
    what: "a claim brings as many jobs as it asks for, in their order; what it brought comes again after five seconds",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene, { concurrency: 4 });
      const jobs: string[] = [];
      for (let made = 0; made < 3; made += 1) jobs.push((await create(scene)).id);
      assert.deepEqual(idsOf((await claim(scene, 2)).jobs), jobs.slice(0, 2));
      await scene.pass(1_000);
      await present(scene, { concurrency: 4, jobs: jobs.slice(0, 2) });
      await scene.pass(3_999);
      await create(scene, { provider: "x" });
      const next = await claim(scene);
      assert.deepEqual([idsOf(next.jobs), next.skipped], [jobs.slice(2), {}]);
      await scene.pass(1);
      assert.deepEqual(idsOf((await claim(scene)).jobs), jobs.slice(0, 2));
      await scene.done(scene.admin, "startJob", { id: jobs[0] ?? "", lease: 1 });
      await scene.pass(5_000);
      assert.deepEqual(idsOf((await claim(scene)).jobs), jobs.slice(1));
    },
  },
  {
    what: "a job that comes back to a worker is brought at once, however short ago it was brought before",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene);
      const { id } = await create(scene);
      assert.deepEqual(idsOf((await claim(scene)).jobs), [id]);
      await scene.done(scene.admin, "releaseJob", { id, lease: 1, reason: "busy" });
      assert.deepEqual(
        (await claim(scene)).jobs.map((job) => [job.id, job.lease]),
        [[id, 2]],
      );
    },
  },
  {
    what: "a claim that brings nothing says why for each waiting job, the most frequent reason first",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene);
      assert.deepEqual(await claim(scene), { jobs: [], skipped: {}, model_tasks: [] });
      await create(scene, { provider: "x" });
      for (let made = 0; made < 3; made += 1) await create(scene, { provider: "y" });
      await create(scene, { tags: ["gpu"] });
      await create(scene, { tags: ["gpu"], priority: "high" });
      assert.deepEqual(Object.entries((await claim(scene)).skipped), [
        ['provider is "p", the job wants "y"', 3],
        ["missing tag gpu", 2],
        ['provider is "p", the job wants "x"', 1],
      ]);
      await scene.done(scene.admin, "activateKillswitch", { level: 1, reason: "drill" });
      assert.deepEqual((await claim(scene)).skipped, { "killswitch level 1": 6 });
    },
  },
  {
    what: "one answer carries at most four million characters of prompts and inputs; the next one has the rest",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene, { concurrency: 5 });
      const prompt = "x".repeat(1_000_000 - JSON.stringify(JOB.input).length);
      const jobs: string[] = [];
      for (let made = 0; made < 5; made += 1) jobs.push((await create(scene, { prompt })).id);
      for (const brought of [jobs.slice(0, 4), jobs.slice(4)])
        assert.deepEqual(idsOf((await claim(scene)).jobs), brought);
    },
  },
  {
    what: "a result brings the worker's next job, also where it is repeated",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene, {}, OWN);
      const [one, two] = [await create(scene), await create(scene)];
      await scene.done(OWN, "startJob", { id: one.id, lease: 1 });
      const report = { id: one.id, lease: 1, result: "done", max: 1, ...NOTHING_SPENT };
      const answer = await scene.done(OWN, "completeAndClaim", report);
      assert.deepEqual([answer.job.status, idsOf(answer.jobs), answer.skipped], ["completed", [two.id], {}]);
      await scene.pass(5_000);
      assert.deepEqual(idsOf((await scene.done(OWN, "completeAndClaim", report)).jobs), [two.id]);
    },
  },
  {
    what: "a worker that stays silent is forgotten when the tenant says, and its jobs wait for another",
    shown: async (scene) => {
      await configure(scene, { presence: { offline_after_seconds: 30, forget_after_seconds: 600 } });
      await present(scene);
      await scene.pass(10_000);
      await present(scene);
      await scene.pass(599_999);
      assert.ok((await scene.ask(scene.admin, "getWorker", { instance: "w" })).ok);
      await scene.pass(1);
      assert.ok(!(await scene.ask(scene.admin, "getWorker", { instance: "w" })).ok);
    },
  },
  {
    what: "what became of a worker's jobs outlives a sleep",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      for (const instance of ["w", "other"]) await present(scene, { instance, concurrency: 2 });
      for (let made = 0; made < 4; made += 1) await complete(scene, await started(scene));
      const outcomes = async () => {
        const records: unknown[] = [];
        for (const instance of ["w", "other"])
          records.push((await scene.done(scene.admin, "getWorker", { instance })).recent_outcomes);
        return records;
      };
      const before = await outcomes();
      assert.equal(before.flat().length, 4);
      await scene.reachHistory();
      scene.sleep();
      assert.deepEqual(await outcomes(), before);
    },
  },
];
