// What a change of the configuration does to work under way, and what schedules make of a budget and of a timing that
// nobody can read any more.

import assert from "node:assert/strict";
import type { NewSchedule } from "../../../domain/schedule/schedule.ts";
import type { Scene, Shown } from "./scene.ts";
import { ALIVE, complete, configure, create, present, read, started } from "./scene-steps.ts";

const MINUTE_MS = 60_000;

const reaping = (seconds: number) => ({ ...ALIVE, jobs: { reap_stale_after_seconds: seconds } });

/** Its job runs, and was heard of half a minute ago. */
const silentFor30s = async (scene: Scene) => {
  await configure(scene, reaping(40));
  await present(scene);
  const held = await started(scene);
  await present(scene, { concurrency: 0 });
  await scene.pass(30_000);
  return held;
};

/** A changed threshold counts from a moment whose heartbeats may be missing: a little is added. */
const isReapedIn = async (scene: Scene, id: string, ms: number) => {
  await scene.pass(ms);
  assert.equal((await read(scene, id)).status, "running");
  await scene.pass(1_000);
  assert.equal((await read(scene, id)).status, "pending");
};

const framesOf = (inbox: readonly string[], type: string) =>
  inbox.map((frame) => JSON.parse(frame)).filter((message) => message.type === type);

const schedule = (scene: Scene, more: Partial<NewSchedule> = {}) =>
  scene.done(scene.admin, "createSchedule", { name: "s", prompt: "hello", cron: "*/10 * * * *", ...more });

const scheduled = (scene: Scene, preview: number | null = null) =>
  scene.done(scene.admin, "getSchedule", { name: "s", preview });

/** The runs that history has, oldest first. */
const runs = (scene: Scene) => scene.archivedRows("SELECT outcome, reason, job_id FROM schedule_runs ORDER BY ran_at");

export const SCENES_OF_SETTINGS: readonly Shown[] = [
  {
    what: "a new threshold for silent jobs counts from its own turn; the same one again changes nothing",
    shown: async (scene) => {
      const { id } = await silentFor30s(scene);
      await configure(scene, reaping(20));
      await scene.pass(10_000);
      await configure(scene, { ...reaping(20), history: { keep_days: 3 } });
      await isReapedIn(scene, id, 10_000);
    },
  },
  {
    what: "so it does after a sleep",
    shown: async (scene) => {
      const { id } = await silentFor30s(scene);
      await configure(scene, reaping(20));
      scene.sleep();
      await isReapedIn(scene, id, 20_000);
    },
  },
  {
    what: "a shorter time to accept a job applies to those that wait for their start, from their assignment on",
    shown: async (scene) => {
      await configure(scene, { ...ALIVE, jobs: { accept_within_seconds: 30 } });
      await present(scene);
      const { id } = await create(scene);
      await scene.pass(3_000);
      await configure(scene, { ...ALIVE, jobs: { accept_within_seconds: 10, reap_stale_after_seconds: 77 } });
      await present(scene, { concurrency: 0 });
      await scene.pass(6_999);
      assert.equal((await read(scene, id)).status, "assigned");
      await scene.pass(1);
      assert.equal((await read(scene, id)).status, "pending");
    },
  },
  {
    what: "workers on sockets are told of a new heartbeat interval, and of nothing where it stays",
    shown: async (scene) => {
      const inbox = await scene.connect();
      const intervals = () => framesOf(inbox, "welcome").map((welcome) => welcome.heartbeat_interval_seconds);
      await configure(scene, { history: { keep_days: 3 } });
      assert.deepEqual(intervals(), [15]);
      await configure(scene, { presence: { heartbeat_interval_seconds: 7 } });
      assert.deepEqual(intervals(), [15, 7]);
    },
  },
  {
    what: "the audit has the parts of the configuration that changed, before and after, and no others",
    shown: async (scene) => {
      await configure(scene, { history: { keep_days: 3 } });
      await configure(scene, { history: { keep_days: 4 } });
      await scene.reachHistory();
      const [, change] = scene.audited("config.replaced");
      assert.deepEqual(change, {
        history: { before: { keep_days: 3, keep_texts_days: null }, after: { keep_days: 4, keep_texts_days: null } },
      });
    },
  },
  {
    what: "a run by hand tells the state of its job",
    shown: async (scene) => {
      await schedule(scene);
      const run = () => scene.done(scene.admin, "runSchedule", { name: "s", idempotency: null });
      assert.equal((await run()).job_status, "pending");
      await present(scene, { concurrency: 2 });
      assert.equal((await run()).job_status, "assigned");
    },
  },
  {
    what: "the preview of a schedule begins with its next run, and that of a paused one with now",
    shown: async (scene) => {
      const { next_run_at } = await schedule(scene);
      const preview = (await scheduled(scene, 2)).next_runs ?? [];
      assert.equal(preview[0], next_run_at);
      assert.equal(Date.parse(preview[1] ?? "") - Date.parse(preview[0] ?? ""), 10 * MINUTE_MS);
      await scene.done(scene.admin, "editSchedule", { name: "s", patch: { status: "paused" } });
      await scene.pass(25 * MINUTE_MS);
      const [first = ""] = (await scheduled(scene, 1)).next_runs ?? [];
      assert.ok(Date.parse(first) > scene.nowAt && Date.parse(first) <= scene.nowAt + 10 * MINUTE_MS);
    },
  },
  {
    what: "a run that a reached budget forbids is skipped with the reason, and one of the next day takes place",
    shown: async (scene) => {
      const pricing = { "*": { input_per_mtok: 1, output_per_mtok: 1 } };
      await configure(scene, { ...ALIVE, budget: { day_usd: 1 }, providers: { p: { pricing } } });
      await present(scene);
      await complete(scene, await started(scene), 1);
      await schedule(scene, { provider: "p", cron: "* * * * *" });
      const midnightAt = Date.parse("2026-03-29T00:00:00Z");
      await scene.pass(midnightAt - scene.nowAt);
      const [skipped] = runs(scene);
      assert.deepEqual([skipped?.outcome, skipped?.job_id], ["skipped", null]);
      assert.match(String(skipped?.reason), /budget/);
      await scene.reachHistory();
      const created = runs(scene).at(-1);
      assert.equal(created?.outcome, "created");
      assert.equal((await read(scene, String(created?.job_id))).provider, "p");
    },
  },
  {
    what: "a schedule whose timing nobody can read any more is paused with a failed run, and the others run",
    shown: async (scene) => {
      await schedule(scene);
      const { next_run_at } = await schedule(scene, { name: "broken" });
      scene.rows(
        "UPDATE schedules SET record = json_set(record, '$.cron', 'never') WHERE name = 'broken' RETURNING name",
      );
      scene.sleep();
      scene.holdAlarm(true);
      await scene.pass(11 * MINUTE_MS);
      scene.holdAlarm(false);
      await scene.reachHistory();
      assert.deepEqual(
        runs(scene)
          .map(({ outcome }) => outcome)
          .sort(),
        ["created", "failed"],
      );
      const { status, next_run_at: nextRunAt } = await scene.done(scene.admin, "getSchedule", {
        name: "broken",
        preview: null,
      });
      assert.deepEqual([status, nextRunAt], ["paused", null]);
      const [row] = scene.archivedRows("SELECT scheduled_for, missed FROM schedule_runs WHERE schedule = 'broken'");
      assert.deepEqual({ ...row }, { scheduled_for: Date.parse(next_run_at ?? ""), missed: 0 });
    },
  },
];
