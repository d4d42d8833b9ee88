// The end of a run, without further faults. First every worker is silent, then all work. What remains undone was lost.

import { DEFAULT_CONFIG_DOCUMENT } from "../../contract/config/config.ts";
import { isLeased } from "../../domain/job/job.ts";
import { wants } from "../../domain/webhook.ts";
import { isFinal } from "../../domain/words/job-status.ts";
import { DELIVERIES_KEPT } from "../../durable-objects/steps/deliveries.ts";
import { batchesAreWhole, hasOpenBatches } from "./actors/batches.ts";
import { deleteTenant } from "./actors/departures.ts";
import { ENDPOINTS } from "./actors/receiver.ts";
import { viewersKnowTheEnd } from "./actors/viewers.ts";
import { claim, complete, connect, readInbox, reportPresence, start } from "./actors/workers.ts";
import { everyCutIsCounted } from "./invariants/cut-streams.ts";
import { nothingOfTheDeletedIsLeft } from "./invariants/files.ts";
import { takeSnapshot } from "./invariants/snapshot.ts";
import { keyOf, type World } from "./world.ts";

const CHANCES = [0, 0, 0, 0, 0] as const;
const TICK_MS = 5_000;
const SILENCE_MS = 400_000;
const MAX_WORKING_ROUNDS = 120;
const CALM_CONCURRENCY = 6;
/** In silence every alarm needs a reason: a due time, a drain, a final job's leave. One a second is too many. */
const MAX_ALARMS_A_SECOND = 1;
/** An alarm removes old deliveries: those whose try ends after it, at most as many as are tried at once, may be more. */
const ENDED_SINCE_THE_ALARM = 5;

const endFaults = async ({ shell }: World): Promise<void> => {
  shell.handle.heal();
  shell.endFormer();
  shell.fill(0);
  shell.isAlarmHeld = false;
  shell.history.answer("fine");
  shell.history.weather = "fine";
  shell.files.mood = "fine";
  await shell.settle();
};

/** Runs a call to its end. */
const done = async (world: World, call: unknown): Promise<void> => {
  void call;
  await world.shell.settle();
};

const calmSettings = async (world: World): Promise<void> => {
  const { shell, admin } = world;
  for (const url of ENDPOINTS) shell.receiver.setMood(url, "fine");
  await done(world, shell.call(admin, "clearKillswitch", { resumeAll: true }));
  const config = { document: DEFAULT_CONFIG_DOCUMENT, etag: "calm", ifMatch: null };
  await done(world, shell.call(admin, "replaceConfig", config));
  // The killswitch of a budget that is no longer reached ends only when it is cleared.
  await done(world, shell.call(admin, "clearKillswitch", { resumeAll: true }));
  for (const { instance } of world.workers)
    await done(world, shell.call(admin, "setWorkerHours", { instance, hours: null, timezone: "UTC" }));
  for (const name of ["first", "second"]) await done(world, shell.call(admin, "deleteSchedule", { name }));
};

/** Workers fall silent: every lease must come back by itself. */
const silence = async (world: World): Promise<string | null> => {
  for (const worker of world.workers) {
    worker.socket?.close();
    worker.socket = null;
    worker.held.clear();
  }
  world.shell.runners.calls.clear();
  const before = world.shell.alarmCount;
  const { clock } = world.shell;
  // A clock that was set back must first pass the instants it has seen.
  const silentMs = SILENCE_MS + Math.max(0, clock.setBackFromAt - clock.nowAt);
  await world.shell.advance(silentMs);
  const alarms = world.shell.alarmCount - before;
  if (alarms > (MAX_ALARMS_A_SECOND * silentMs) / 1_000) return `${alarms} alarms came while nothing happened`;
  const now = takeSnapshot(world);
  const leased = [...now.jobs.values()].find(({ job }) => isLeased(job));
  return leased === undefined ? null : `job ${leased.job.id} stays ${leased.job.status} with a silent worker`;
};

const workOff = async (world: World): Promise<void> => {
  for (const [index, worker] of world.workers.entries()) {
    await done(world, world.shell.call(world.admin, "resumeWorker", { instance: worker.instance }));
    readInbox(world, worker);
    await done(world, reportPresence(world, worker, [0, 1, 0, 0, 0]));
    readInbox(world, worker);
    if (index % 2 === 0) await done(world, claim(world, worker, CHANCES));
    for (let count = worker.held.size; count > 0; count -= 1) {
      await done(world, start(world, worker, CHANCES));
      await done(world, complete(world, worker, CHANCES));
    }
  }
  await world.shell.advance(TICK_MS);
};

/** Everything that a worker can do gets done. */
const work = async (world: World): Promise<string | null> => {
  for (const [index, worker] of world.workers.entries()) {
    // A key that a failed turn never created, or that was revoked, would keep the worker out for ever.
    worker.credential = keyOf(world.fresh("next-worker-key"));
    await done(world, world.makeKey(worker.credential));
    Object.assign(worker, { provider: index % 2 === 0 ? "p" : "q", tags: "a,b", models: null, runtimeModels: null });
    worker.concurrency = CALM_CONCURRENCY;
    if (index % 2 === 1) await done(world, connect(world, worker, CHANCES));
  }
  for (let round = 0; round < MAX_WORKING_ROUNDS; round += 1) {
    await workOff(world);
    const open = [...takeSnapshot(world).jobs.values()].filter(({ job }) => isDoable(job) && !isFinal(job.status));
    if (open.length === 0 && !hasOpenBatches(world)) return null;
  }
  const [left] = [...takeSnapshot(world).jobs.values()].filter(({ job }) => isDoable(job) && !isFinal(job.status));
  if (left === undefined) return batchesAreWhole(world);
  return `job ${left.job.id} is ${left.job.status} for ever: ${JSON.stringify(left)}`;
};

/** A job whose fallback has tried every provider waits for another provider. */
const isDoable = ({
  tags,
  provider,
  excludedProviders,
}: {
  tags: readonly string[];
  provider: string | null;
  excludedProviders: readonly string[];
}) =>
  !tags.includes("nobody") && ["p", "q"].some((one) => (provider ?? one) === one && !excludedProviders.includes(one));

const rest = async ({ shell }: World): Promise<string | null> => {
  await shell.advance(120_000);
  const [left] = shell.disk.rows("SELECT COUNT(*) AS count FROM outbox");
  if (left?.count !== 0) return `${left?.count} rows stay in the outbox`;
  const [kept] = shell.disk.rows("SELECT COUNT(*) AS count FROM deliveries WHERE finished_at IS NOT NULL");
  // A clock that was set back changes their order, so that the next write removes some of them.
  const isOrdered = shell.clock.nowAt === shell.clock.elapsedAt;
  const most = DELIVERIES_KEPT.writes + ENDED_SINCE_THE_ALARM;
  if (isOrdered && Number(kept?.count) > most) return `${kept?.count} finished deliveries are kept`;
  const stays = shell.disk
    .rows("SELECT id FROM jobs WHERE record ->> 'status' IN ('completed', 'failed', 'cancelled')")
    .at(0);
  if (stays !== undefined) return `final job ${stays.id} never leaves the object`;
  return shell.history.isNeighbourUntouched ? null : "what history has of another tenant was changed";
};

/** By now every worker has been silent for long enough. */
const silenceIsTold = (world: World): string | null => {
  for (const webhook of takeSnapshot(world).webhooks) {
    if (!wants(webhook, "worker.offline", null)) continue;
    for (const { instance } of world.workers) {
      const toldAt = world.model.toldSilent.get(`${webhook.id} ${instance}`) ?? 0;
      if (toldAt < (world.model.heardAt.get(instance) ?? 0))
        return `webhook ${webhook.id} is not told that ${instance} is silent`;
    }
  }
  return null;
};

/** Liveness: what must come true once nothing fails. */
export const calm = async (world: World, check: () => string | null): Promise<string | null> => {
  await endFaults(world);
  await calmSettings(world);
  return (
    check() ??
    (await silence(world)) ??
    check() ??
    (await work(world)) ??
    check() ??
    batchesAreWhole(world) ??
    (await rest(world)) ??
    check() ??
    viewersKnowTheEnd(world) ??
    silenceIsTold(world) ??
    everyCutIsCounted(world.model) ??
    nothingOfTheDeletedIsLeft(world) ??
    (await deleteTenant(world))
  );
};
