// Stopping everything in one turn, and starting again. From the moment the answer leaves nobody is given anything.

import { toIso } from "../../contract/field.ts";
import {
  type KillswitchResource,
  type KillswitchState,
  MAX_UNCONFIRMED,
  presentKillswitch,
} from "../../contract/killswitch.ts";
import { type Actor, SERVICE_ACTOR } from "../../domain/event.ts";
import type { Member } from "../../domain/fleet.ts";
import { cancelJob } from "../../domain/job.ts";
import { cancelsWork, clear, engage, type Killswitch } from "../../domain/killswitch.ts";
import { haltJob } from "../../domain/lease.ts";
import type { Refusal } from "../../domain/refusal.ts";
import { ok, type Result } from "../../domain/result.ts";
import { statusOf, type Worker } from "../../domain/worker.ts";
import { haltFrontDoor } from "./abandon.ts";
import { nextDeliveryAt } from "./deliveries.ts";
import { isSilent, lastSignOf } from "./last-sign.ts";
import type { Turn } from "./turn.ts";

/** Who has acknowledged this activation: counted once, then kept in step, so that a heartbeat costs no look at all. */
const confirmedOf = (turn: Turn): Set<string> => {
  const { memory } = turn;
  const activation = memory.killswitch.haltActivation;
  if (memory.haltConfirmed?.activation !== activation) {
    const instances = new Set<string>();
    for (const { worker } of memory.fleet.members())
      if (worker.confirmedHalt >= activation) instances.add(worker.instance);
    memory.haltConfirmed = { activation, instances };
  }
  return memory.haltConfirmed.instances;
};

/** What workers are told. */
export const killswitchState = (turn: Turn): KillswitchState =>
  presentKillswitch(turn.memory.killswitch, turn.memory.killswitch.level > 0 ? confirmedOf(turn).size : 0);

/** What operators are told: a look at every worker while something is halted. */
export const killswitchResource = (turn: Turn): KillswitchResource => {
  const { killswitch, fleet } = turn.memory;
  if (killswitch.level === 0) return { ...killswitchState(turn), workers_to_confirm: 0, unconfirmed: [] };
  const confirmed = confirmedOf(turn);
  const online: KillswitchResource["unconfirmed"] = [];
  const offline: KillswitchResource["unconfirmed"] = [];
  let expected = confirmed.size;
  for (const member of fleet.members()) {
    if (confirmed.has(member.worker.instance)) continue;
    const isAway = isSilent(turn, member);
    if (!isAway) expected += 1;
    const shown = isAway ? offline : online;
    if (shown.length < MAX_UNCONFIRMED) shown.push(unconfirmedOf(turn, member));
  }
  const unconfirmed = [...online, ...offline].slice(0, MAX_UNCONFIRMED);
  return { ...killswitchState(turn), workers_to_confirm: expected, unconfirmed };
};

const unconfirmedOf = (turn: Turn, member: Member): KillswitchResource["unconfirmed"][number] => {
  const { worker, load } = member;
  const seenAt = lastSignOf(turn, member);
  const status = statusOf(worker, load, seenAt, turn.memory.config.presence.offlineAfterMs, turn.nowAt);
  return { instance: worker.instance, status, last_heartbeat: toIso(seenAt) };
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
  store(turn, { ...next, haltedJobs: next.haltedJobs + jobs, pausedWorkers: turn.memory.fleet.size });
  const detail = { reason, before: before.level, halted_jobs: jobs, paused_workers: workers };
  turn.audit("killswitch.activated", `level ${level}`, detail, by);
  return announce(turn);
};

export const deactivate = (turn: Turn, request: { resumeAll: boolean }): Result<KillswitchResource, Refusal> => {
  const before = turn.memory.killswitch;
  if (before.level === 0 && !request.resumeAll) return read(turn);
  store(turn, clear(before, request.resumeAll));
  turn.store.haltedJobs.clear();
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
  // What a full halt held back goes out as soon as it is over.
  turn.due(nextDeliveryAt(turn));
};

const announce = (turn: Turn): Result<KillswitchResource, Refusal> => {
  turn.effects.broadcast.push({ message: { type: "killswitch", killswitch: killswitchState(turn) } });
  turn.effects.changedTopics.add("killswitch");
  return read(turn);
};

/**
 * Takes back every lease: to the queue, or cancelled at full halt, with what a lower level of the same halt had put
 * back. Answers how many leases.
 */
const haltWork = (turn: Turn, level: number, killswitch: Killswitch): number => {
  const waitedFor = haltFrontDoor(turn, level, killswitch.reason);
  const leased = turn.store.jobs.allLeased();
  const reason = `killswitch level ${level}`;
  for (const job of leased) {
    turn.sendHalt(job, reason);
    const cancelled = cancelsWork(killswitch) ? cancelJob(job, turn.nowAt, reason) : null;
    turn.record(job, cancelled?.ok ? cancelled.value : haltJob(job, level, turn.nowAt));
  }
  if (cancelsWork(killswitch)) cancelPutBack(turn, reason);
  else turn.store.haltedJobs.add(leased.map((job) => job.id));
  return waitedFor + leased.length;
};

const cancelPutBack = (turn: Turn, reason: string): void => {
  for (const id of turn.store.haltedJobs.all()) {
    const job = turn.store.jobs.find(id);
    const cancelled = job?.status === "pending" ? cancelJob(job, turn.nowAt, reason) : null;
    if (job !== null && cancelled?.ok) turn.record(job, cancelled.value);
  }
  turn.store.haltedJobs.clear();
};

/** Pauses the workers that it has not paused yet; answers how many. Only the epoch is stored: no worker's row is written. */
const pauseFleet = (turn: Turn): number => {
  const free = [...turn.memory.fleet.members()].filter(({ worker }) => !worker.isHalted);
  for (const { worker } of free) turn.showWorker({ ...worker, isHalted: true });
  if (free.length > 0) turn.effects.broadcast.push({ message: { type: "worker.paused", reason: "killswitch" } });
  return free.length;
};

/** Who is paused by hand is not told that it goes on. */
const resumeFleet = (turn: Turn): number => {
  const halted = [...turn.memory.fleet.members()].filter(({ worker }) => worker.isHalted);
  const stillPaused = new Set<string>();
  for (const { worker } of halted) {
    turn.showWorker({ ...worker, isHalted: false });
    turn.freedWorkers.add(worker.instance);
    if (worker.pause !== null) stillPaused.add(worker.instance);
  }
  if (halted.length > 0) turn.effects.broadcast.push({ message: { type: "worker.resumed" }, except: stillPaused });
  return halted.length;
};

/**
 * A worker has acknowledged the halt when it reports what it works on and none of it is halted. One that never lists
 * its jobs acknowledges with its next report, whose answer tells it.
 */
export const confirmHalt = (turn: Turn, { worker }: Member, halted: readonly string[]): void => {
  const { level, haltActivation } = turn.memory.killswitch;
  if (level === 0 || halted.length > 0 || worker.confirmedHalt >= haltActivation) return;
  confirmedOf(turn).add(worker.instance);
  // Lost with the object's memory, it comes again with the worker's next report.
  turn.rememberWorker({ ...worker, confirmedHalt: haltActivation });
  turn.effects.changedTopics.add("killswitch");
};

/** Stores a worker that was paused for its failures, tells it and audits it. */
export const recordPause = (turn: Turn, worker: Worker): void => {
  turn.putWorker(worker);
  const reason = worker.pause?.reason ?? "";
  turn.send(worker.instance, { type: "worker.paused", reason });
  turn.audit("worker.paused", worker.instance, { reason }, SERVICE_ACTOR);
};
