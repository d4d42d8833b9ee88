// Presence: a worker's report, and the answer to it. A report renews the worker's leases and confirms a halt.

import type { PresenceAnswer } from "../../../contract/fleet/worker.ts";
import { toIso, utf8Bytes } from "../../../contract/words/field.ts";
import { storeBeatAfterMs } from "../../../domain/config.ts";
import { forgetAfterMs, MAX_OFFERS_BYTES, MAX_WORKERS } from "../../../domain/fleet/crowd.ts";
import type { Member } from "../../../domain/fleet/fleet.ts";
import { hardwareBytesOf } from "../../../domain/fleet/machine.ts";
import {
  busyOf,
  isEdgeInstance,
  isSameOffer,
  modelsOf,
  offerBytesOf,
  type PresenceReport,
  type ReportFacts,
  registerWorker,
  type Worker,
} from "../../../domain/fleet/worker.ts";
import { heartbeatJob } from "../../../domain/job/lease.ts";
import { epochOfNewWorker, isHaltedBy } from "../../../domain/killswitch.ts";
import { PERSON_PREFIX } from "../../../domain/words/event.ts";
import { invalid, type Refusal } from "../../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../../domain/words/result.ts";
import { assignWaiting } from "../../placing/assign-waiting.ts";
import { isSilent } from "../../steps/last-sign.ts";
import { unstartedJobs } from "../../steps/leases.ts";
import { recordLost } from "../../steps/lost-jobs.ts";
import { failUnmanaged, givenTasks, oweTasks } from "../../steps/model-tasks.ts";
import { awaitSilence } from "../../steps/silence.ts";
import { noteIdle } from "../../turn/idleness.ts";
import type { Turn } from "../../turn/turn.ts";
import { SOCKET_GRACE_MS } from "../halts/abandon.ts";
import { confirmHalt, killswitchState } from "../halts/killswitch.ts";
import { findWorker, presentMember } from "./workers.ts";

/** A worker's stored sign of life is renewed when it is this part of `offlineAfterMs` old. */
const STORED_SIGN_SHARE = 0.5;

/** The models, runtime models and tags of one worker. */
export const MAX_OFFER_BYTES = 64 * 1024;

export interface Presence extends PresenceReport {
  readonly viaSocket: boolean;
}

/**
 * While it is alive, a worker belongs to the key that registered it, whatever the roles: another would get its prompts.
 */
export const mayActAs = (turn: Turn, instance: string): Result<null, Refusal> => {
  // Such a name is the coordinator's own.
  if (isEdgeInstance(instance)) return err({ code: "instance_taken", instance });
  const member = turn.memory.fleet.get(instance);
  const owner = member?.worker.keyId ?? null;
  if (member === undefined || owner === null || owner === turn.caller.keyId) return ok(null);
  const key = turn.store.keys.find(owner);
  const isGone = key === null ? !owner.startsWith(PERSON_PREFIX) : key.revokedAt !== null;
  if (isGone || isSilent(turn, member)) return ok(null);
  return err({ code: "instance_taken", instance });
};

/** Whether the caller's key may open a data line for a registered worker, and with what the line ends. */
export const workAs = (
  turn: Turn,
  { instance }: { instance: string },
): Result<{ keyId: string; openedWith: string }, Refusal> => {
  const allowed = mayActAs(turn, instance);
  if (!allowed.ok) return allowed;
  // A name that nobody registered must not make an object, which takes a file.
  const found = findWorker(turn, instance);
  if (!found.ok) return found;
  const { worker } = found.value;
  if (!worker.hasHadLine) turn.putWorker({ ...worker, hasHadLine: true });
  const { keyId, secretHash } = turn.caller;
  return ok({ keyId: keyId ?? "", openedWith: secretHash ?? "" });
};

export const report = (turn: Turn, request: Presence): Result<PresenceAnswer, Refusal> => {
  const allowed = mayActAs(turn, request.instance);
  if (!allowed.ok) return allowed;
  const bounded = withinBounds(turn, request);
  if (!bounded.ok) return bounded;
  const halted = request.jobs === null ? [] : reconcileJobs(turn, request.instance, request.jobs);
  const member = hear(turn, request);
  confirmHalt(turn, member, halted);
  turn.freedWorkers.add(request.instance);
  assignWaiting(turn);
  return ok(presenceAnswer(turn, member, halted));
};

const NOT_YET_HEARD: ReportFacts = { keyId: null, viaSocket: false, isFull: false };

/** Bounds on what a tenant stores about its workers. */
const withinBounds = (turn: Turn, request: Presence): Result<null, Refusal> => {
  const { fleet } = turn.memory;
  const known = fleet.get(request.instance)?.worker;
  if (known !== undefined && isSameOffer(known, request)) return ok(null);
  const field = fieldOverBound(request);
  if (field !== null) {
    const what = "the names of models and processors and the tags must be at most";
    return err(invalid(field, `${what} ${MAX_OFFER_BYTES} bytes together`));
  }
  if (known === undefined && fleet.size >= MAX_WORKERS) return err({ code: "too_many_workers", limit: MAX_WORKERS });
  const before = known === undefined ? 0 : offerBytesOf(known);
  const after = offerBytesOf(registerWorker(request, known ?? null, NOT_YET_HEARD, turn.nowAt));
  if (after > before && fleet.offers.bytes - before + after > MAX_OFFERS_BYTES) {
    return err({ code: "too_many_offers", limitBytes: MAX_OFFERS_BYTES });
  }
  return ok(null);
};

/** The field with which the report passes the bound of one worker. */
const fieldOverBound = ({ tagList, models, runtimeModels, machine }: Presence): string | null => {
  let bytes = utf8Bytes(tagList) + hardwareBytesOf(machine.hardware);
  for (const [field, names] of [
    ["models", models],
    ["runtime_models", runtimeModels],
    ["loaded", machine.loaded?.map(({ model }) => model)],
    ["on_disk", machine.onDisk?.map(({ model }) => model)],
  ] as const) {
    bytes += utf8Bytes((names ?? []).join(""));
    if (bytes > MAX_OFFER_BYTES) return field;
  }
  return null;
};

/** The first message to a worker that has not registered yet. */
export const greeting = (turn: Turn): Omit<PresenceAnswer, "worker"> => ({
  jobs: [],
  halted: [],
  killswitch: killswitchState(turn),
  heartbeat_interval_seconds: turn.memory.config.presence.heartbeatIntervalMs / 1000,
  server_time: toIso(turn.nowAt),
  model_tasks: [],
});

/** The answer to a presence report, also used for `welcome`. */
export const presenceAnswer = (turn: Turn, member: Member, halted: readonly string[]): PresenceAnswer => ({
  ...greeting(turn),
  worker: presentMember(turn, member),
  jobs: unstartedJobs(turn, member),
  halted: [...halted],
  model_tasks: givenTasks(turn, member.worker.instance),
});

/** Registers the worker or records that it is alive. */
const hear = (turn: Turn, request: Presence): Member => {
  const { fleet, config } = turn.memory;
  const { instance } = request;
  const known = fleet.get(instance);
  const wasOffline = known === undefined || isSilent(turn, known);
  const isConnected = turn.lastSocketSign(instance, turn.caller.keyId) !== null;
  if (wasOffline) turn.log("info", known === undefined ? "worker.registered" : "worker.returned", { worker: instance });
  storeWhatIsNew(turn, request, known, isConnected);
  // Also of one that is known: with what it names now, the offline ones may have to make room.
  const forgetAt = turn.nowAt + forgetAfterMs(fleet, config.presence);
  if (forgetAt < turn.memory.watch.forgetAt) {
    turn.memory.watch.forgetAt = forgetAt;
    turn.due(forgetAt);
  }
  const member = fleet.get(instance);
  if (member === undefined) throw new Error(`worker ${instance} was not registered`);
  fleet.noteSeen(instance, turn.nowAt);
  fleet.noteReach(instance, { isConnected, isLockedOut: false });
  if (wasOffline) {
    awaitSilence(turn, instance);
    noteIdle(turn, instance);
    oweTasks(turn, instance);
  }
  return member;
};

/** Only what a reader or the router would notice. */
const storeWhatIsNew = (turn: Turn, request: Presence, known: Member | undefined, isConnected: boolean): void => {
  const { killswitch } = turn.memory;
  const before = known?.worker ?? null;
  const isFull = known !== undefined && known.load >= known.worker.concurrency;
  // A worker with an open socket gets its jobs there, however it reports.
  const from = { keyId: turn.caller.keyId, viaSocket: request.viaSocket || isConnected, isFull };
  if (before !== null && !isStoreDue(turn, request, before, from)) return;
  const worker = registerWorker(request, before, from, turn.nowAt);
  if (before?.unavailable === null && worker.unavailable !== null) turn.reopenAvoiding();
  const resumedEpoch = epochOfNewWorker(killswitch);
  turn.putWorker(
    before === null ? { ...worker, resumedEpoch, isHalted: isHaltedBy(killswitch, resumedEpoch) } : worker,
  );
  noteMachine(turn, worker, before, request);
  if (hasOtherModels(worker, before))
    turn.store.workers.putModels(worker.instance, { models: modelsOf(request), runtimeModels: request.runtimeModels });
};

const isStoreDue = (
  turn: Turn,
  request: Presence,
  worker: Worker,
  { keyId, viaSocket, isFull }: ReportFacts,
): boolean =>
  !isSameOffer(worker, request) ||
  worker.keyId !== keyId ||
  worker.viaSocket !== viaSocket ||
  worker.busy !== busyOf(request, isFull) ||
  turn.nowAt - worker.lastHeartbeatAt >= turn.memory.config.presence.offlineAfterMs * STORED_SIGN_SHARE;

const noteMachine = (turn: Turn, worker: Worker, before: Worker | null, { machine }: Presence): void => {
  if (worker.machine?.id !== before?.machine?.id) turn.store.workers.putMachine(worker.instance, machine);
  if ((worker.machine?.can ?? []).length === 0) failUnmanaged(turn, worker.instance);
};

const hasOtherModels = (worker: Worker, before: Worker | null): boolean =>
  worker.models !== (before?.models ?? null) || worker.runtimeModels !== (before?.runtimeModels ?? null);

/**
 * Running jobs that it no longer lists go back to the queue; ids that it lists but no longer holds are to be dropped.
 */
const reconcileJobs = (turn: Turn, instance: string, reported: readonly string[]): string[] => {
  const named = new Set(reported);
  const held = new Set<string>();
  const storeAfterMs = storeBeatAfterMs(turn.memory.config.jobs.reapStaleAfterMs);
  const load = turn.memory.fleet.get(instance)?.load;
  for (const job of turn.store.jobs.leasedBy(instance, load)) {
    held.add(job.id);
    // To list an unstarted one is no start: it goes to the next worker in time.
    if (job.status !== "running") continue;
    if (!named.has(job.id)) {
      recordLost(turn, job);
      continue;
    }
    turn.noteBeat(job);
    const beat = heartbeatJob(job, job.lease, undefined, storeAfterMs, turn.nowAt);
    if (beat.ok) turn.record(job, beat.value);
  }
  return reported.filter((id) => !held.has(id));
};

/** One of its sockets closed. The platform forgets the socket's pings, so the last one is stored. */
export const noteDisconnected = (
  turn: Turn,
  instance: string,
  { signAt, isConnected }: { readonly signAt: number; readonly isConnected: boolean },
): void => {
  const { fleet } = turn.memory;
  const member = fleet.get(instance);
  fleet.noteReach(instance, { isConnected });
  if (!isConnected) {
    noteGone(turn, instance);
    turn.log("info", "worker.disconnected", { worker: instance });
  }
  turn.effects.changedWorkers.add(instance);
  // Of a clock that was set back since, the sign counts as of now.
  const seenAt = Math.min(signAt, turn.nowAt);
  if (member === undefined || seenAt <= member.lastSeenAt) return;
  fleet.noteSeen(instance, seenAt);
  turn.putWorker({ ...member.worker, lastHeartbeatAt: seenAt });
};

/** A secret of the key has ended: a claim that waits with it hears so at once. */
export const wakeClaims = (turn: Turn, keyId: string): void => {
  for (const { worker } of turn.memory.fleet.members())
    if (worker.keyId === keyId) turn.effects.wokenWorkers.add(worker.instance);
};

/**
 * A key was revoked or suspended, or a person blocked: workers that last reported with it get no new job, also before
 * their sockets, which end for it, are closed.
 */
export const lockOut = (turn: Turn, keyId: string): void => {
  for (const { worker } of turn.memory.fleet.members()) {
    if (worker.keyId !== keyId) continue;
    turn.memory.fleet.noteReach(worker.instance, { isConnected: false, isLockedOut: true });
    noteGone(turn, worker.instance);
  }
};

const noteGone = (turn: Turn, instance: string): void => {
  turn.memory.sockets.goneAt.set(instance, turn.nowAt);
  turn.due(turn.nowAt + SOCKET_GRACE_MS);
};
