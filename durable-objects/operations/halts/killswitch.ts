// Halting everything in one turn, and clearing the halt. Once the answer is sent, no worker is given a job.

import { type KillswitchResource, type KillswitchState, presentKillswitch } from "../../../contract/killswitch.ts";
import { toIso } from "../../../contract/words/field.ts";
import { MAX_UNCONFIRMED } from "../../../contract/words/values.ts";
import type { Member } from "../../../domain/fleet/fleet.ts";
import { cancelJob } from "../../../domain/job/job-command.ts";
import { haltJob } from "../../../domain/job/lease.ts";
import {
  cancelsWork,
  clear,
  engage,
  isHaltedBy,
  type Killswitch,
  permit,
  restored,
  type WriteKind,
} from "../../../domain/killswitch.ts";
import type { Actor } from "../../../domain/words/event.ts";
import { haltReason } from "../../../domain/words/halt-reason.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import { ok, type Result } from "../../../domain/words/result.ts";
import { nextDeliveryAt } from "../../steps/deliveries.ts";
import { isSilent, presenceOf } from "../../steps/last-sign.ts";
import { stopTasks } from "../../steps/model-tasks.ts";
import { beginCancelOfAll, stopAllBatches } from "../../steps/stop-batches.ts";
import { lookForWanted } from "../../steps/wanted.ts";
import type { Turn } from "../../turn/turn.ts";
import { haltFrontDoor } from "./abandon.ts";

/**
 * The workers that have confirmed this activation: counted once, then kept up to date, so that a heartbeat needs no
 * scan.
 */
const confirmedOf = (turn: Turn): Set<string> => {
  const { memory } = turn;
  const activation = memory.killswitch.haltActivation;
  if (memory.haltConfirmed?.activation !== activation) {
    const instances = new Set<string>();
    for (const { worker } of memory.fleet.members())
      if (worker.confirmedHalt >= activation || worker.isEdge) instances.add(worker.instance);
    memory.haltConfirmed = { activation, instances };
  }
  return memory.haltConfirmed.instances;
};

/** The state as workers see it. */
export const killswitchState = (turn: Turn): KillswitchState =>
  presentKillswitch(turn.memory.killswitch, turn.memory.killswitch.level > 0 ? confirmedOf(turn).size : 0);

/** The state as operators see it; scans all workers while something is halted. */
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
  const { status, lastSeenAt } = presenceOf(turn, member);
  return { instance: member.worker.instance, status, last_heartbeat: toIso(lastSeenAt) };
};

export const read = (turn: Turn): Result<KillswitchResource, Refusal> => ok(killswitchResource(turn));

interface KillswitchOrder {
  readonly level: number;
  /** An empty reason counts as no reason. */
  readonly reason?: string | null | undefined;
  /** Who gives the order, if not the caller. */
  readonly by?: Actor;
}

/** Level 0 does nothing; the others halt, pause and refuse as the table in `domain/killswitch.ts` says. */
export const engageKillswitch = (turn: Turn, order: KillswitchOrder): Result<KillswitchResource, Refusal> => {
  if (order.level === 0) return read(turn);
  const { level, by = turn.caller } = order;
  const reason = order.reason || null;
  const before = turn.memory.killswitch;
  const next = engage(before, { level, reason, by: by.name }, turn.nowAt);
  const workers = pauseFleet(turn);
  stopTasks(turn);
  const jobs = haltWork(turn, level, next);
  store(turn, { ...next, haltedJobs: next.haltedJobs + jobs, pausedWorkers: turn.memory.fleet.size });
  const detail = { level, reason, before: before.level, halted_jobs: jobs, paused_workers: workers };
  turn.audit("killswitch.activated", `level ${level}`, detail, by);
  return announce(turn);
};

export const clearLevel = (turn: Turn, request: { resumeAll: boolean }): Result<KillswitchResource, Refusal> => {
  const before = turn.memory.killswitch;
  if (before.level === 0 && !request.resumeAll) return read(turn);
  store(turn, clear(before, request.resumeAll));
  turn.store.haltedJobs.clear();
  const resumed = resumeFleet(turn);
  turn.isAllOpened = true;
  lookForWanted(turn);
  turn.audit("killswitch.cleared", `level ${before.level}`, {
    level: 0,
    before: before.level,
    reason: before.reason,
    resume_all: request.resumeAll,
    resumed_workers: resumed,
  });
  return announce(turn);
};

/** Takes an activation back: level, reason and paused workers are as they were before it. */
export const takeBack = (turn: Turn, earlier: Killswitch): Result<KillswitchResource, Refusal> => {
  const current = turn.memory.killswitch;
  store(turn, restored(current, earlier));
  const detail = { level: earlier.level, before: current.level, resumed_workers: resumeFleet(turn) };
  if (earlier.level > 0)
    turn.audit("killswitch.activated", `level ${earlier.level}`, { reason: earlier.reason, ...detail });
  else {
    turn.store.haltedJobs.clear();
    turn.isAllOpened = true;
    turn.audit("killswitch.cleared", `level ${current.level}`, { reason: current.reason, ...detail });
  }
  return announce(turn);
};

const store = (turn: Turn, killswitch: Killswitch): void => {
  turn.memory.killswitch = killswitch;
  turn.store.settings.putKillswitch(killswitch);
  // Deliveries that a full halt held back are sent as soon as it is over.
  turn.due(nextDeliveryAt(turn));
};

const announce = (turn: Turn): Result<KillswitchResource, Refusal> => {
  turn.effects.broadcast.push({ message: { type: "killswitch", killswitch: killswitchState(turn) } });
  turn.effects.changedTopics.add("killswitch");
  return read(turn);
};

/**
 * Takes back every lease: to the queue, or cancelled at level 4, including jobs that a lower level of the same halt had
 * put back. Returns the number of leases.
 */
const haltWork = (turn: Turn, level: number, killswitch: Killswitch): number => {
  const waitedFor = haltFrontDoor(turn, level, killswitch.reason);
  const isCancelled = cancelsWork(killswitch);
  if (isCancelled) beginCancelOfAll(turn);
  const leased = turn.store.jobs.allLeased();
  const reason = haltReason(level);
  for (const job of leased) {
    turn.sendHalt(job, reason);
    const cancelled = isCancelled ? cancelJob(job, turn.nowAt, reason) : null;
    turn.record(job, cancelled?.ok ? cancelled.value : haltJob(job, level, turn.nowAt));
  }
  if (isCancelled) {
    cancelPutBack(turn, reason);
    stopAllBatches(turn);
  } else turn.store.haltedJobs.add(leased.map((job) => job.id));
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

/**
 * Pauses the workers that it has not paused yet; returns their number. Only the epoch is stored, no worker's row is
 * written.
 */
const pauseFleet = (turn: Turn): number => {
  const free = [...turn.memory.fleet.members()].filter(({ worker }) => !worker.isHalted);
  for (const { worker } of free) turn.showWorker({ ...worker, isHalted: true });
  if (free.length > 0) turn.effects.broadcast.push({ message: { type: "worker.paused", reason: "killswitch" } });
  return free.length;
};

/**
 * Resumes the workers that the killswitch pauses no longer; returns their number. A worker that an operator paused stays
 * paused, is not counted and gets no message.
 */
const resumeFleet = (turn: Turn): number => {
  const stillPaused = new Set<string>();
  let count = 0;
  for (const { worker } of [...turn.memory.fleet.members()].filter((one) => one.worker.isHalted)) {
    const isHalted = isHaltedBy(turn.memory.killswitch, worker.resumedEpoch);
    if (isHalted || worker.pause !== null) stillPaused.add(worker.instance);
    else count += 1;
    if (isHalted) continue;
    turn.showWorker({ ...worker, isHalted });
    turn.freedWorkers.add(worker.instance);
  }
  if (count > 0) turn.effects.broadcast.push({ message: { type: "worker.resumed" }, except: stillPaused });
  return count;
};

/** Before much of a body is read: whether such a write could be done now, in a tenant that has room. */
export const mayGrow = ({ memory }: Turn, { kind }: { kind: WriteKind }): Result<null, Refusal> =>
  permit(memory.killswitch, kind);

/**
 * A worker confirms the halt when it reports its jobs and none of them is halted. A worker that never lists its jobs
 * confirms with its next report, whose answer had the halt.
 */
export const confirmHalt = (turn: Turn, { worker }: Member, halted: readonly string[]): void => {
  const { level, haltActivation } = turn.memory.killswitch;
  if (level === 0 || halted.length > 0 || worker.confirmedHalt >= haltActivation) return;
  confirmedOf(turn).add(worker.instance);
  // If memory is lost, the worker's next report confirms again.
  turn.rememberWorker({ ...worker, confirmedHalt: haltActivation });
  turn.effects.changedTopics.add("killswitch");
};
