// Who is alive: presence reports, the fleet's listing, pause, resume and forgetting.

import { toIso } from "../../contract/field.ts";
import type { JobResource } from "../../contract/job.ts";
import {
  type PresenceAnswer,
  presentLease,
  presentWorker,
  type WorkerDetail,
  type WorkerResource,
} from "../../contract/worker.ts";
import { storeBeatAfterMs } from "../../domain/config.ts";
import type { Member } from "../../domain/fleet.ts";
import type { Job } from "../../domain/job.ts";
import { heartbeatJob, loseJob } from "../../domain/lease.ts";
import { notFound, type Refusal } from "../../domain/refusal.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import {
  isOffline,
  isSameOffer,
  type PresenceReport,
  pauseReasonOf,
  pauseWorker,
  registerWorker,
  resumeWorker,
  statusOf,
  type Worker,
  type WorkerView,
} from "../../domain/worker.ts";
import { presentOpenJob } from "./jobs.ts";
import { confirmHalt, killswitchResource } from "./killswitch.ts";
import { assignWaiting, lastSignOf } from "./routing.ts";
import type { Turn } from "./turn.ts";

/** A worker's stored sign of life is renewed once it is this share of `offline_after` old. */
const STORED_SIGN_SHARE = 2;

export interface Presence extends PresenceReport {
  readonly viaSocket: boolean;
}

/** One worker's key does not speak for a worker that lives and speaks through another one's. */
export const mayActAs = (turn: Turn, instance: string): Result<null, Refusal> => {
  const member = turn.memory.fleet.get(instance);
  const owner = member?.worker.keyId ?? null;
  if (turn.caller.role !== "worker" || member === undefined || owner === null || owner === turn.caller.keyId) {
    return ok(null);
  }
  const key = turn.store.keys.find(owner);
  if (key?.role !== "worker" || key.revokedAt !== null || isSilent(turn, member)) return ok(null);
  const detail = `worker "${instance}" is in use with another key: choose another name, or stop that one first`;
  return err({ code: "forbidden", detail });
};

export const report = (turn: Turn, request: Presence): Result<PresenceAnswer, Refusal> => {
  const allowed = mayActAs(turn, request.instance);
  if (!allowed.ok) return allowed;
  const halted = request.jobs === null ? [] : reconcileJobs(turn, request.instance, request.jobs);
  const member = hear(turn, request);
  confirmHalt(turn, member, halted);
  turn.freedWorkers.add(request.instance);
  assignWaiting(turn);
  return ok(presenceAnswer(turn, member, halted));
};

/** What a worker is told that has not registered yet. */
export const greeting = (turn: Turn): Omit<PresenceAnswer, "worker"> => ({
  jobs: [],
  halted: [],
  killswitch: killswitchResource(turn),
  heartbeat_interval_seconds: turn.memory.config.presence.heartbeatIntervalMs / 1000,
  server_time: toIso(turn.nowAt),
});

/** What a presence report is answered, and what `welcome` says. */
export const presenceAnswer = (turn: Turn, member: Member, halted: readonly string[]): PresenceAnswer => ({
  ...greeting(turn),
  worker: presentWorker(viewOf(turn, member)),
  jobs: unstartedJobs(turn, member.worker.instance),
  halted: [...halted],
});

/** What one answer carries of leases: the rest comes with the next, or by claim. */
const MAX_LEASES_AN_ANSWER = 1_000;
const MAX_LEASE_CHARS_AN_ANSWER = 4_000_000;

/** Leases that a worker holds and has not started, as many as one answer carries. */
export const unstartedJobs = (turn: Turn, instance: string): JobResource[] =>
  presentLeases(turn, turn.store.jobs.unstartedOf(instance, MAX_LEASES_AN_ANSWER));

/** A lease that a claim handed out comes with a claim again after this long, if it is not started: its answer was lost. */
const HANDED_AGAIN_AFTER_MS = 5_000;

/** Of those, up to `limit` that were not handed out just now: two claims in a row never answer the same lease. */
export const handOut = (turn: Turn, { worker, handedAt }: Member, limit: number): JobResource[] => {
  const { fleet } = turn.memory;
  const held = turn.store.jobs.unstartedOf(worker.instance, limit + handedAt.size);
  const isFree = (job: Job): boolean => turn.nowAt - (handedAt.get(job.id) ?? 0) >= HANDED_AGAIN_AFTER_MS;
  const jobs = presentLeases(turn, held.filter(isFree).slice(0, limit));
  for (const { id } of jobs) fleet.noteHanded(worker.instance, id, turn.nowAt);
  return jobs;
};

const presentLeases = (turn: Turn, leased: readonly Job[]): JobResource[] => {
  const jobs: JobResource[] = [];
  let chars = 0;
  for (const job of leased) {
    const payload = turn.store.payloads.find(job.id);
    chars += payload.prompt.length + JSON.stringify(payload.input).length;
    if (jobs.length > 0 && chars > MAX_LEASE_CHARS_AN_ANSWER) break;
    jobs.push(presentLease(job, payload));
  }
  return jobs;
};

/** Registers the worker or notes that it lives; stores only what a reader or the router would see differently. */
const hear = (turn: Turn, request: Presence): Member => {
  const { fleet, config, killswitch } = turn.memory;
  const known = fleet.get(request.instance);
  const isNew = known === undefined;
  const isConnected = turn.lastSocketSign(request.instance) !== null;
  // With its socket open it hears of jobs there, however it reports.
  const viaSocket = request.viaSocket || isConnected;
  const storedAgeMs = isNew ? Number.POSITIVE_INFINITY : turn.nowAt - known.worker.lastHeartbeatAt;
  const wasOffline = isNew || isSilent(turn, known);
  const isStoreDue =
    isNew ||
    wasOffline ||
    !isSameOffer(known.worker, request) ||
    known.worker.keyId !== turn.caller.keyId ||
    known.worker.viaSocket !== viaSocket ||
    storedAgeMs >= config.presence.offlineAfterMs / STORED_SIGN_SHARE;
  if (isStoreDue) {
    const from = { keyId: turn.caller.keyId, viaSocket };
    const worker = registerWorker(request, known?.worker ?? null, from, turn.nowAt);
    // It takes its load along: a provider that was at its limit may have room again for its other workers.
    if (!isNew && known.worker.provider !== worker.provider) turn.isAllOpened = true;
    turn.putWorker(isNew && killswitch.level > 0 ? { ...worker, isHalted: true } : worker);
  }
  const member = fleet.get(request.instance);
  if (member === undefined) throw new Error(`worker ${request.instance} was not registered`);
  fleet.noteSeen(request.instance, turn.nowAt);
  fleet.noteReach(request.instance, { isConnected });
  return member;
};

/** Jobs it holds and no longer works on go back to the queue; ids it works on and no longer holds are to be dropped. */
const reconcileJobs = (turn: Turn, instance: string, reported: readonly string[]): string[] => {
  const named = new Set(reported);
  const held = new Set<string>();
  const storeAfterMs = storeBeatAfterMs(turn.memory.config.jobs.reapStaleAfterMs);
  for (const job of turn.store.jobs.leasedBy(instance)) {
    held.add(job.id);
    if (job.status === "running" && !named.has(job.id)) turn.record(job, loseJob(job, turn.nowAt));
    else if (job.status === "running") {
      const beat = heartbeatJob(job, job.lease, undefined, storeAfterMs, turn.nowAt);
      if (beat.ok) turn.record(job, beat.value);
    }
  }
  return reported.filter((id) => !held.has(id));
};

const isSilent = (turn: Turn, member: Member): boolean =>
  isOffline(lastSignOf(turn, member), turn.memory.config.presence.offlineAfterMs, turn.nowAt);

export const viewOf = (turn: Turn, member: Member): WorkerView => {
  const { worker, load } = member;
  const seenAt = lastSignOf(turn, member);
  return {
    worker,
    load,
    lastSeenAt: seenAt,
    status: statusOf(worker, load, seenAt, turn.memory.config.presence.offlineAfterMs, turn.nowAt),
    pauseReason: pauseReasonOf(worker, turn.nowAt),
    connected: member.isConnected,
  };
};

const newestFirst = (one: Member, other: Member): number =>
  other.worker.registeredAt - one.worker.registeredAt || (one.worker.instance < other.worker.instance ? -1 : 1);

const allWorkers = (turn: Turn): Member[] => [...turn.memory.fleet.members()].sort(newestFirst);

export const listPresent = (turn: Turn): Result<WorkerResource[], Refusal> =>
  ok(
    allWorkers(turn)
      .filter((member) => !isSilent(turn, member))
      .map((member) => presentWorker(viewOf(turn, member))),
  );

export const listWorkers = (
  turn: Turn,
  page: { limit: number; offset: number },
): Result<{ workers: WorkerResource[]; total: number }, Refusal> =>
  ok({
    workers: allWorkers(turn)
      .slice(page.offset, page.offset + page.limit)
      .map((member) => presentWorker(viewOf(turn, member))),
    total: turn.memory.fleet.size,
  });

export const getWorker = (turn: Turn, request: { instance: string }): Result<WorkerDetail, Refusal> => {
  const member = turn.memory.fleet.get(request.instance);
  if (member === undefined) return err(notFound("worker", request.instance));
  return ok({
    ...presentWorker(viewOf(turn, member)),
    jobs: turn.store.jobs
      .leasedBy(request.instance)
      .slice(0, MAX_LEASES_AN_ANSWER)
      .map((job) => shortened(presentOpenJob(turn, job))),
    recent_outcomes: member.worker.outcomes.map((one) => ({
      job_id: one.jobId,
      outcome: one.outcome,
      code: one.code,
      at: toIso(one.at),
    })),
  });
};

const SHOWN_CHARS = 4096;

/** A worker's page shows what its jobs are; their long values are on their own pages. */
const shortened = (job: JobResource): JobResource => {
  const isLong = job.prompt.length > SHOWN_CHARS;
  const hasLongInput = JSON.stringify(job.input).length > SHOWN_CHARS;
  if (!isLong && !hasLongInput) return job;
  return {
    ...job,
    prompt: job.prompt.slice(0, SHOWN_CHARS),
    input: hasLongInput ? null : job.input,
    truncated: [...(isLong ? (["prompt"] as const) : []), ...(hasLongInput ? (["input"] as const) : [])],
  };
};

export const forgetWorker = (turn: Turn, request: { instance: string }): Result<null, Refusal> => {
  const member = turn.memory.fleet.get(request.instance);
  if (member === undefined) return err(notFound("worker", request.instance));
  if (!isSilent(turn, member)) return err({ code: "worker_not_offline", instance: request.instance });
  for (const job of turn.store.jobs.leasedBy(request.instance)) turn.record(job, loseJob(job, turn.nowAt));
  turn.store.workers.remove(request.instance);
  turn.memory.fleet.remove(request.instance);
  turn.effects.forgottenWorkers.add(request.instance);
  turn.audit("worker.forgotten", request.instance);
  return ok(null);
};

export const pause = (
  turn: Turn,
  request: { instance: string; reason: string | null; untilAt: number | null },
): Result<WorkerResource, Refusal> => {
  const paused = changeWorker(turn, request.instance, (worker) => pauseWorker(worker, request.reason, request.untilAt));
  if (!paused.ok) return paused;
  const reason = paused.value.pause_reason ?? "";
  turn.send(request.instance, { type: "worker.paused", reason });
  turn.audit("worker.paused", request.instance, { reason, until_at: request.untilAt });
  return paused;
};

export const resume = (turn: Turn, request: { instance: string }): Result<WorkerResource, Refusal> => {
  const resumed = changeWorker(turn, request.instance, resumeWorker);
  if (!resumed.ok) return resumed;
  turn.freedWorkers.add(request.instance);
  turn.send(request.instance, { type: "worker.resumed" });
  turn.audit("worker.resumed", request.instance);
  return resumed;
};

const changeWorker = (
  turn: Turn,
  instance: string,
  change: (worker: Worker) => Worker,
): Result<WorkerResource, Refusal> => {
  const member = turn.memory.fleet.get(instance);
  if (member === undefined) return err(notFound("worker", instance));
  turn.putWorker(change(member.worker));
  return ok(presentWorker(viewOf(turn, member)));
};
