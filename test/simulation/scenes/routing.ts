// Why a job waits, in the words that an operator reads, and who gets a job when a provider has room again.

import assert from "node:assert/strict";
import type { JobError } from "../../../domain/job/job.ts";
import type { NewJob } from "../../../domain/job/new-job.ts";
import { keyOf } from "../world.ts";
import { metrics } from "./numbers.ts";
import type { Scene, Shown } from "./scene.ts";
import { ALIVE, ANSWERS, asking, configure, create, fail, JOB, present, read, started } from "./scene-steps.ts";

const REFUSED: JobError = { code: "rate_limited", message: "too many", retryable: true, status: 429 };
const BROKE: JobError = { code: "provider_error", message: "broke", retryable: true };

const reasonOf = async (scene: Scene, id: string) => (await read(scene, id)).waiting_reason;

/** The provider `p` is at its limit: `big` holds two jobs, then falls silent. */
const atItsLimit = async (scene: Scene) => {
  await configure(scene, {
    presence: { offline_after_seconds: 30 },
    providers: { p: { rate_limit: { max_concurrent: 2 } } },
  });
  await present(scene, { instance: "big", concurrency: 2 });
  for (let made = 0; made < 2; made += 1) await started(scene, { maxAttempts: 1 });
};

/** Both of its places get free at once. */
const loseBig = (scene: Scene) => scene.done(scene.admin, "forgetWorker", { instance: "big" });

export const SCENES_OF_ROUTING: readonly Shown[] = [
  {
    what: "a job that a provider refused says which provider rests, until when, and which retry follows",
    shown: async (scene) => {
      const rate_limit = { max_retries: 3 };
      await configure(scene, { ...ALIVE, providers: { p: { rate_limit }, q: { rate_limit } } });
      await present(scene, { concurrency: 2 });
      await present(scene, { instance: "other", provider: "q", concurrency: 2 });
      const [first, second] = [await started(scene, { provider: "p" }), await started(scene, { provider: "q" })];
      await fail(scene, first, REFUSED, { retryAfterMs: 8_000 });
      await fail(scene, second, REFUSED, { retryAfterMs: 20_000 });
      for (const [{ id }, provider] of [[first, "p"] as const, [second, "q"] as const]) {
        const [rest] = scene.rows("SELECT until_at FROM backoffs WHERE provider = ?", provider);
        const until = new Date(rest?.until_at as number).toISOString();
        assert.equal(await reasonOf(scene, id), `provider ${provider} backs off until ${until}, then retry 1`);
      }
    },
  },
  {
    what: "a job that failed stays with its provider where nobody offers the next of the chain, and says so",
    shown: async (scene) => {
      const jobs = { retry: { backoff_seconds: 10, max_backoff_seconds: 10 } };
      await configure(scene, { ...ALIVE, jobs, routing: { strategy: "fallback", chain: ["p", "q"] } });
      await present(scene);
      const held = await started(scene, { maxAttempts: 3 });
      await fail(scene, held, BROKE);
      assert.match(
        String(await reasonOf(scene, held.id)),
        /^attempt 1 of 3 on w failed with "provider_error", it is tried again at .*Z; no worker offers "q" of routing.chain$/,
      );
      await present(scene, { instance: "other", provider: "q" });
      assert.match(String(await reasonOf(scene, held.id)), /Z$/);
      await scene.pass(10_000);
      assert.equal((await read(scene, held.id)).status, "assigned");
    },
  },
  {
    what: "jobs of a batch that wait for different things say so, each its own",
    shown: async (scene) => {
      await present(scene, { concurrency: 0 });
      const [soonAt, lateAt] = [scene.nowAt + 5_000, scene.nowAt + 60_000];
      const wanted = [JOB, { ...JOB, runAt: soonAt }, { ...JOB, runAt: lateAt }, JOB, { ...JOB, provider: "x" }];
      const { jobs } = await scene.done(scene.admin, "createJobs", { jobs: wanted, idempotency: null });
      const full = 'worker "w" is set to take no jobs: concurrency 0';
      const [soon, late] = [soonAt, lateAt].map((at) => `not to run before ${new Date(at).toISOString()}`);
      const reasons = jobs.map(({ waiting_reason }) => waiting_reason);
      assert.deepEqual(reasons, [full, soon, late, full, 'no worker offers provider "x"']);
    },
  },
  {
    what: "a dispatch that nobody may take now says what each worker lacks, and that its time has not come",
    shown: async (scene) => {
      await present(scene);
      const refusal = async (wanted: Partial<NewJob>) => {
        const job = { ...JOB, ...wanted };
        const answer = await scene.ask(scene.admin, "dispatch", { job, mayQueue: false, idempotency: null });
        assert.ok(!answer.ok && answer.error.code === "no_eligible_workers");
        return answer.error;
      };
      const early = await refusal({ runAt: scene.nowAt + 5_000 });
      assert.match(early.detail, /^not to run before /);
      const verdicts = early.workers.map(({ instance, eligible, reasons }) => [instance, eligible, reasons]);
      assert.deepEqual(verdicts, [["w", false, [early.detail]]]);
      const elsewhere = await refusal({ provider: "x" });
      assert.equal(elsewhere.detail, 'no worker offers provider "x"');
      assert.deepEqual(elsewhere.workers[0]?.reasons, ['provider is "p", the job wants "x"']);
    },
  },
  {
    what: "requests of a conversation count by whether they went to the worker of the previous one",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene, { ...ANSWERS, concurrency: 9 });
      const sessions = ["one", "one", "other", "one", "one"];
      for (const [index, session] of sessions.entries())
        await scene.done(scene.admin, "ask", asking(`r${index}`, { session }));
      assert.deepEqual(await metrics(scene, "signalbox_affinity_total"), {
        '{outcome="hit"}': 3,
        '{outcome="miss"}': 2,
      });
    },
  },
  {
    what: "when a provider has two places again at once, each of two equal workers gets a job",
    shown: async (scene) => {
      await atItsLimit(scene);
      for (let made = 0; made < 2; made += 1) await create(scene);
      await scene.pass(31_000);
      await present(scene, { instance: "one" });
      await present(scene, { instance: "two" });
      await loseBig(scene);
      for (const instance of ["one", "two"])
        assert.equal((await scene.done(scene.admin, "getWorker", { instance })).jobs.length, 1);
    },
  },
  {
    what: "when a provider has two places again at once, workers with other models and interfaces get jobs, too",
    shown: async (scene) => {
      await atItsLimit(scene);
      await scene.done(scene.admin, "ask", asking("r"));
      await scene.pass(1);
      await create(scene, { model: "m" });
      await scene.pass(31_000);
      await present(scene, { instance: "other models", models: ["a"] });
      await present(scene, { instance: "models", models: ["m"], concurrency: 2 });
      await present(scene, { instance: "models and interface", ...ANSWERS });
      await loseBig(scene);
      for (const instance of ["models", "models and interface"])
        assert.equal((await scene.done(scene.admin, "getWorker", { instance })).jobs.length, 1);
    },
  },
  {
    what: "a worker with a socket is told of its job, with its texts",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      const inbox = await scene.connect();
      await present(scene, { instance: "worker-0" }, keyOf("worker-key-0"), true);
      const { id } = await create(scene, { prompt: "long ago" });
      const told = inbox.map((frame) => JSON.parse(frame)).find(({ type }) => type === "job.assigned");
      assert.deepEqual([told?.job.id, told?.job.prompt], [id, "long ago"]);
    },
  },
  {
    what: "a job that waits for another worker than its last goes back to that at once when no other can work",
    shown: async (scene) => {
      await configure(scene, { ...ALIVE, jobs: { retry: { backoff_seconds: 1 } } });
      await present(scene, { instance: "first" });
      const held = await started(scene);
      await present(scene, { instance: "second" });
      await create(scene);
      await fail(scene, held, BROKE);
      await scene.pass(2_000);
      assert.equal((await read(scene, held.id)).status, "pending");
      await present(scene, { instance: "second", unavailable: "its runtime is down" });
      assert.equal((await read(scene, held.id)).assigned_worker, "first");
    },
  },
  {
    what: "a job that left its worker to another comes back to it at once when the other is paused for failing",
    shown: async (scene) => {
      const jobs = { retry: { backoff_seconds: 1, max_backoff_seconds: 1 }, reap_stale_after_seconds: null };
      await configure(scene, { ...ALIVE, jobs });
      await present(scene);
      const held = await started(scene);
      await present(scene, { instance: "other", tags: "gpu" });
      // The failures of one key count against it only because nothing has gone well for so long.
      await scene.pass(300_000);
      const doomed: string[] = [];
      for (let made = 0; made < 10; made += 1)
        doomed.push((await create(scene, { tags: ["gpu"], priority: "critical" })).id);
      await fail(scene, held, BROKE);
      await scene.pass(2_000);
      for (const id of doomed) {
        assert.equal((await read(scene, held.id)).status, "pending");
        await scene.done(scene.admin, "startJob", { id, lease: 1 });
        await fail(scene, { id, lease: 1 }, { ...BROKE, retryable: false });
      }
      assert.match(
        String((await scene.done(scene.admin, "getWorker", { instance: "other" })).pause_reason),
        /in a row/,
      );
      assert.equal((await read(scene, held.id)).assigned_worker, "w");
    },
  },
];
