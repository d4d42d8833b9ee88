// Stopping everything in one turn, and starting again. From the moment the answer leaves nobody is given anything.

import { type KillswitchResource, presentKillswitch } from "../../contract/killswitch.ts";
import { type Actor, SERVICE_ACTOR } from "../../domain/event.ts";
import type { Member } from "../../domain/fleet.ts";
import { cancelJob } from "../../domain/job.ts";
import { cancelsWork, clear, engage, type Killswitch } from "../../domain/killswitch.ts";
import { haltJob } from "../../domain/lease.ts";
import type { Refusal } from "../../domain/refusal.ts";
import { ok, type Result } from "../../domain/result.ts";
import type { Worker } from "../../domain/worker.ts";
import { haltFrontDoor } from "./abandon.ts";
import type { Turn } from "./turn.ts";

export const killswitchResource = (turn: Turn): KillswitchResource => {
  const { killswitch, fleet } = turn.memory;
  let confirmed = 0;
  if (killswitch.level > 0) {
    for (const { worker } of fleet.members()) if (worker.confirmedHalt >= killswitch.haltActivation) confirmed += 1;
  }
  return presentKillswitch(killswitch, confirmed);
};

export const read = (turn: Turn): Result<KillswitchResource, Refusal> => ok(killswitchResource(turn));

export interface KillswitchOrder {
  readonly level: number;
  readonly reason: string;
  /** Who gives it, where that is not the caller. */
  readonly by?: Actor;
}

/** Level 0 does nothing; any other halts, pauses and refuses as its row in the table says. */
export const activate = (turn: Turn, order: KillswitchOrder): Result<KillswitchResource, Refusal> => {
  if (order.level === 0) return read(turn);
  const { level, reason, by = turn.caller } = order;
  const before = turn.memory.killswitch;
  const next = engage(before, { level, reason, by: by.name }, turn.nowAt);
  const workers = pauseFleet(turn);
  const jobs = haltWork(turn, level, next);
  store(turn, { ...next, haltedJobs: next.haltedJobs + jobs, pausedWorkers: next.pausedWorkers + workers });
  const detail = { reason, before: before.level, halted_jobs: jobs, paused_workers: workers };
  turn.audit("killswitch.activated", `level ${level}`, detail, by);
  return announce(turn);
};

export const deactivate = (turn: Turn, request: { resumeAll: boolean }): Result<KillswitchResource, Refusal> => {
  const before = turn.memory.killswitch;
  if (before.level === 0 && !request.resumeAll) return read(turn);
  store(turn, clear(before));
  const resumed = request.resumeAll ? resumeFleet(turn) : 0;
  turn.isAllOpened = true;
  turn.audit("killswitch.cleared", `level ${before.level}`, {
    before: before.level,
    reason: before.reason,
    resume_all: request.resumeAll,
    resumed_workers: resumed,
  });
  return announce(turn);
};

const store = (turn: Turn, killswitch: Killswitch): void => {
  turn.memory.killswitch = killswitch;
  turn.store.settings.putKillswitch(killswitch);
};

const announce = (turn: Turn): Result<KillswitchResource, Refusal> => {
  const killswitch = killswitchResource(turn);
  turn.effects.broadcast.push({ type: "killswitch", killswitch });
  turn.effects.changedTopics.add("killswitch");
  return ok(killswitch);
};

/** Takes back every lease: to the queue, or cancelled at full halt. Answers how many. */
const haltWork = (turn: Turn, level: number, killswitch: Killswitch): number => {
  const waitedFor = haltFrontDoor(turn, level, killswitch.reason);
  const leased = turn.store.jobs.allLeased();
  for (const job of leased) {
    const reason = `killswitch level ${level}`;
    turn.sendHalt(job, reason);
    const cancelled = cancelsWork(killswitch) ? cancelJob(job, turn.nowAt, reason) : null;
    turn.record(job, cancelled?.ok ? cancelled.value : haltJob(job, level, turn.nowAt));
  }
  return waitedFor + leased.length;
};

/** Pauses whoever is not paused by it yet; answers how many. */
const pauseFleet = (turn: Turn): number => {
  const free = [...turn.memory.fleet.members()].filter(({ worker }) => !worker.isHalted);
  for (const { worker } of free) {
    turn.putWorker({ ...worker, isHalted: true });
    turn.send(worker.instance, { type: "worker.paused", reason: "killswitch" });
  }
  return free.length;
};

const resumeFleet = (turn: Turn): number => {
  let resumed = 0;
  for (const { worker } of [...turn.memory.fleet.members()]) {
    if (!worker.isHalted) continue;
    turn.putWorker({ ...worker, isHalted: false });
    turn.freedWorkers.add(worker.instance);
    turn.send(worker.instance, { type: "worker.resumed" });
    resumed += 1;
  }
  return resumed;
};

/**
 * A worker has acknowledged the halt when it reports what it works on and none of it is halted. One that never lists
 * its jobs acknowledges with its next report, whose answer tells it.
 */
export const confirmHalt = (turn: Turn, { worker }: Member, halted: readonly string[]): void => {
  const { level, haltActivation } = turn.memory.killswitch;
  if (level === 0 || halted.length > 0 || worker.confirmedHalt >= haltActivation) return;
  turn.putWorker({ ...worker, confirmedHalt: haltActivation });
  turn.effects.changedTopics.add("killswitch");
};

/** Stores a worker that was paused for its failures, tells it and audits it. */
export const recordPause = (turn: Turn, worker: Worker): void => {
  turn.putWorker(worker);
  const reason = worker.pause?.reason ?? "";
  turn.send(worker.instance, { type: "worker.paused", reason });
  turn.audit("worker.paused", worker.instance, { reason }, SERVICE_ACTOR);
};
