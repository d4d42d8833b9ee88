// What clients of the front door and operators learn about models: which there are, which one a name means, and who
// still names those that a catalog has lost.

import assert from "node:assert/strict";
import type { Scene, Shown } from "./scene.ts";
import { ALIVE, ANSWERS, asking, complete, configure, create, learn, present, started } from "./scene-steps.ts";

const listed = async (scene: Scene) => {
  const list = await scene.done(scene.admin, "listModels", null);
  return {
    names: list.data.map(({ id, owned_by }) => `${owned_by} ${id}`),
    first: list.first_id,
    last: list.last_id,
    data: list.data,
  };
};

/** The refusal of a request. */
const refusal = async (scene: Scene, id: string, more: Record<string, unknown> = {}) => {
  const answer = await scene.ask(scene.admin, "ask", asking(id, { queueMs: 0, ...more }));
  assert.ok(!answer.ok);
  return answer.error;
};

const schedule = (scene: Scene, name: string, provider: string | null, model: string) =>
  scene.done(scene.admin, "createSchedule", { name, prompt: "x", cron: "0 12 * * *", provider, model });

export const SCENES_OF_MODELS: readonly Shown[] = [
  {
    what: "models are listed by alias, by what workers name, else by what their runtimes have, else by the catalog",
    shown: async (scene) => {
      const aliases = { fast: { model: "m" } };
      await configure(scene, { presence: { offline_after_seconds: 30 }, front_door: { aliases } });
      await present(scene, { instance: "gone", provider: "gone", models: ["gone"] });
      await scene.pass(31_000);
      const registeredAt = scene.nowAt;
      await learn(scene, "catalog", ["c1", "c2"]);
      await learn(scene, "p", ["not offered"]);
      await present(scene, { models: ["m", "org/n"] });
      await present(scene, { instance: "runtime", provider: "runtime", models: null, runtime_models: ["r"] });
      await present(scene, { instance: "catalog", provider: "catalog", models: null });
      const { names, first, last, data } = await listed(scene);
      assert.deepEqual(names, ["alias fast", "p m", "p org/n", "runtime r", "catalog c1", "catalog c2"]);
      assert.deepEqual([first, last], ["fast", "c2"]);
      assert.deepEqual(
        [data[1]?.created, data[1]?.created_at],
        [Math.floor(registeredAt / 1000), new Date(registeredAt).toISOString()],
      );
      const named = (model: string) => scene.done(scene.admin, "getModel", { model });
      assert.deepEqual([(await named("m")).id, (await named("n")).id], ["m", "org/n"]);
      const unknown = await scene.ask(scene.admin, "getModel", { model: "x" });
      assert.ok(!unknown.ok && unknown.error.code === "model_not_found");
      assert.deepEqual(unknown.error.known, ["fast", "m", "org/n", "r", "c1"]);
    },
  },
  {
    what: "without any worker no model is listed",
    shown: async (scene) => {
      const { names, first, last } = await listed(scene);
      assert.deepEqual([names, first, last], [[], null, null]);
    },
  },
  {
    what: "a request that does not wait is told whether its workers are busy, or that it has none",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene, ANSWERS);
      await scene.done(scene.admin, "ask", asking("first"));
      const busy = await refusal(scene, "second");
      assert.deepEqual(busy, { code: "queue_timeout", detail: 'worker "w" is at capacity' });
      const none = await refusal(scene, "third", { tags: ["gpu"] });
      assert.deepEqual(
        [none.code, "detail" in none && none.detail],
        ["no_eligible_workers", 'no worker offers tag "gpu"'],
      );
    },
  },
  {
    what: "where the budgets of all models of a list are reached, the one counts that is open again first",
    shown: async (scene) => {
      const providers = { p: { budget: { month_usd: 1 } }, q: { budget: { day_usd: 1 } } };
      const front_door = { aliases: { either: [{ model: "m" }, { model: "n" }] } };
      await configure(scene, { ...ALIVE, providers, front_door });
      const apis = ["chat/completions", "responses"];
      await present(scene, { apis, models: ["m"] });
      await present(scene, { apis, instance: "w2", provider: "q", models: ["n"] });
      for (const provider of ["p", "q"]) await complete(scene, await started(scene, { provider }), 1);
      const refused = await refusal(scene, "first", { model: "either" });
      assert.ok(refused.code === "budget_reached" && refused.retryAfterSeconds <= 600);
      const response = { isBackground: true, previousId: null, turns: 1, earlierBytes: 0, carried: 0, held: null };
      const waits = asking("second", { model: "either", api: "responses", response });
      assert.equal((await scene.done(scene.admin, "ask", waits)).job.model, "n");
    },
  },
  {
    what: "a request of a conversation is told whether it went to the worker of the one before; any other is told nothing",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await present(scene, { ...ANSWERS, concurrency: 3 });
      const hit = async (id: string, session: string | null) =>
        (await scene.done(scene.admin, "ask", asking(id, { session }))).job.isSessionHit;
      assert.deepEqual([await hit("a", "s"), await hit("b", "s"), await hit("c", null)], [false, true, null]);
    },
  },
  {
    what: "who names a model that its catalog has lost stands in the audit, and nobody else",
    shown: async (scene) => {
      await configure(scene, ALIVE);
      await learn(scene, "p", ["lost", "kept", "unused"]);
      await present(scene, { instance: "names it", models: ["lost", "kept"], concurrency: 0 });
      await present(scene, { instance: "names another", models: ["kept"], concurrency: 0 });
      await present(scene, { instance: "of another", provider: "q", models: ["lost"], concurrency: 0 });
      for (const provider of ["p", "q", null]) await create(scene, { provider, model: "lost" });
      await create(scene, { provider: "p", model: "kept" });
      await create(scene, { provider: "p" });
      await schedule(scene, "pinned", "p", "lost");
      await schedule(scene, "any", null, "lost");
      await schedule(scene, "elsewhere", "q", "lost");
      await schedule(scene, "stays", "p", "kept");
      await learn(scene, "p", ["lost", "kept", "unused"]);
      await learn(scene, "p", ["kept"]);
      await scene.reachHistory();
      assert.deepEqual(scene.audited("catalog.models_removed"), [
        {
          models: ["lost", "unused"],
          models_in_use: ["lost"],
          waiting_jobs: 2,
          workers: ["names it"],
          schedules: ["any", "pinned"],
        },
      ]);
    },
  },
];
