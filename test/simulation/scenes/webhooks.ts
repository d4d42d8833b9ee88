// Webhooks as an operator keeps them.

import assert from "node:assert/strict";
import type { WebhookEvent } from "../../../domain/webhook.ts";
import type { Scene, Shown } from "./scene.ts";

const MOST_WEBHOOKS = 50;
const MINUTE_MS = 60_000;

const create = (scene: Scene, id: string, events: readonly WebhookEvent[] = ["job.failed"]) =>
  scene.ask(scene.admin, "createWebhook", {
    id,
    secret: "c2VjcmV0",
    url: "https://hooks.example/",
    origin: "https://signalbox.example",
    events,
    tags: [],
    description: "",
  });

export const SCENES_OF_WEBHOOKS: readonly Shown[] = [
  {
    what: "a webhook is disabled since it was first switched off, with the reason, until it is switched on",
    shown: async (scene) => {
      assert.ok((await create(scene, "h")).ok);
      const patch = async (change: Record<string, unknown>) => {
        const webhook = await scene.done(scene.admin, "patchWebhook", { id: "h", patch: change });
        return [webhook.enabled, webhook.disabled_at, webhook.disabled_reason];
      };
      const on = [true, null, null];
      assert.deepEqual(await patch({ enabled: true }), on);
      assert.deepEqual(await patch({ description: "renamed" }), on);
      const off = [false, new Date(scene.nowAt).toISOString(), "disabled by an operator"];
      assert.deepEqual(await patch({ enabled: false }), off);
      await scene.pass(1_000);
      assert.deepEqual(await patch({ enabled: false }), off);
      assert.deepEqual(await patch({ description: "again" }), off);
      assert.deepEqual(await patch({ enabled: true }), on);
    },
  },
  {
    what: "what waits for a webhook that is switched off is given up, and sent only if somebody asks for it",
    shown: async (scene) => {
      assert.ok((await create(scene, "h")).ok);
      scene.receiver.setMood("https://hooks.example/", "broken");
      const { id } = await scene.done(scene.admin, "testWebhook", { id: "h" });
      await scene.pass(1_000);
      const told = async () => {
        const page = { id: "h", status: null, limit: 9, offset: 0 };
        const [delivery] = (await scene.done(scene.admin, "listDeliveries", page)).deliveries;
        return [delivery?.status, delivery?.error];
      };
      assert.equal((await told())[0], "pending");
      await scene.done(scene.admin, "patchWebhook", { id: "h", patch: { enabled: false } });
      await scene.pass(1_000);
      assert.deepEqual(await told(), ["failed", "disabled by an operator"]);
      scene.receiver.setMood("https://hooks.example/", "fine");
      await scene.pass(60 * MINUTE_MS);
      assert.equal((await told())[0], "failed");
      await scene.done(scene.admin, "redeliver", { id });
      await scene.pass(1_000);
      assert.equal((await told())[0], "delivered");
    },
  },
  {
    what: "a tenant has at most fifty webhooks, and one more for each that it deletes",
    shown: async (scene) => {
      for (let made = 0; made < MOST_WEBHOOKS; made += 1) assert.ok((await create(scene, `h${made}`)).ok);
      const refused = await create(scene, "more");
      assert.ok(!refused.ok && refused.error.code === "invalid_request");
      await scene.done(scene.admin, "deleteWebhook", { id: "h7" });
      assert.ok((await create(scene, "more")).ok);
    },
  },
  {
    what: "runs that were missed are told once, with the run that makes up for them; one that was not missed is not told",
    shown: async (scene) => {
      assert.ok((await create(scene, "h", ["schedule.missed"])).ok);
      await scene.done(scene.admin, "createSchedule", { name: "s", prompt: "hello", cron: "* * * * *" });
      const told = async () => {
        const page = { id: "h", status: null, limit: 9, offset: 0 };
        return (await scene.done(scene.admin, "listDeliveries", page)).deliveries.map(({ event }) => event);
      };
      await scene.pass(MINUTE_MS);
      assert.deepEqual(await told(), []);
      scene.holdAlarm(true);
      scene.sleep();
      await scene.pass(5 * MINUTE_MS);
      scene.holdAlarm(false);
      await scene.reachHistory();
      assert.deepEqual(await told(), ["schedule.missed"]);
      const [run] = scene.archivedRows("SELECT missed FROM schedule_runs ORDER BY ran_at DESC");
      assert.equal(run?.missed, 4);
    },
  },
  {
    what: "five deliveries are tried at a time, also after a turn that failed, and none of them twice",
    shown: async (scene) => {
      assert.ok((await create(scene, "h")).ok);
      scene.receiver.setMood("https://hooks.example/", "deaf");
      const send = async (count: number) => {
        for (let sent = 0; sent < count; sent += 1) await scene.done(scene.admin, "testWebhook", { id: "h" });
        await scene.pass(1_000);
        return [...scene.receiver.open].map(({ id }) => id);
      };
      const [first = ""] = await send(3);
      assert.ok((await scene.done(scene.admin, "redeliver", { id: first })).attempts === 0);
      assert.equal((await send(0)).length, 3);
      await scene.fail("testWebhook", { id: "h" });
      const tried = await send(4);
      assert.equal(tried.length, 5);
      assert.equal(new Set(tried).size, 5);
    },
  },
];
