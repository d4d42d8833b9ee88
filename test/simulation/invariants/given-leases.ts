// To whom jobs are given, and how many: checks of the leases that a step gave out.

import type { Member } from "../../../domain/fleet/fleet.ts";
import { missingUntil } from "../../../domain/fleet/model-name.ts";
import { withModel } from "../../../domain/fleet/model-set.ts";
import { unavailableOf, type Worker } from "../../../domain/fleet/worker.ts";
import { isLeased, type Job } from "../../../domain/job/job.ts";
import type { Check } from "./invariants.ts";
import type { Snapshot } from "./snapshot.ts";

/** Less than any config lets a worker be silent. */
const SURELY_ALIVE_MS = 5_000;

/** Leases that this step gave out. */
const newLeases = (before: Snapshot, now: Snapshot): Job[] =>
  now.changed
    .filter(({ job }) => isLeased(job) && job.lease !== before.jobs.get(job.id)?.job.lease)
    .map(({ job }) => job);

export const capacityHolds: Check = (before, now, { model, isShared }) => {
  for (const job of newLeases(before, now)) {
    const instance = job.assignedWorker ?? "";
    const load = [...now.jobs.values()].filter(({ worker }) => worker === instance).length;
    const [was, is] = [before, now].map(({ workers }) => workers.get(instance)?.concurrency);
    // If several turns shared the commit, it may have been as much as a report in between says.
    const between = isShared ? (model.offered.get(instance) ?? 0) : 0;
    if (load > Math.max(was ?? 0, is ?? 0, between)) return `${instance} holds ${load} jobs, and takes ${is}`;
  }
  return null;
};

const limitOf = ({ config }: Snapshot, provider: string): number =>
  config.providers.get(provider)?.rateLimit?.maxConcurrent ?? Number.POSITIVE_INFINITY;

export const providerLimitHolds: Check = (before, now, { isShared }) => {
  for (const { workerProvider } of newLeases(before, now)) {
    const provider = workerProvider ?? "";
    const [was, is] = [limitOf(before, provider), limitOf(now, provider)];
    // With several turns in the commit, another limit may have held in between.
    if (isShared && before.config !== now.config) continue;
    const allowed = Math.max(was, is);
    const load = [...now.jobs.values()].filter(({ job }) => isLeased(job) && job.workerProvider === provider).length;
    if (load > allowed) return `provider ${provider} runs ${load} jobs, and takes ${allowed}`;
  }
  return null;
};

const mayHave = (worker: Worker | undefined, job: Job, nowAt: number): boolean =>
  worker !== undefined &&
  !worker.isHalted &&
  unavailableOf(worker, nowAt) === null &&
  (worker.pause === null || (worker.pause.untilAt ?? Number.POSITIVE_INFINITY) <= nowAt) &&
  (job.provider === null || worker.provider === job.provider) &&
  job.tags.every((tag) => worker.tags.includes(tag)) &&
  hasModel(worker, job.model);

/** The coordinator's own are there for as long as the config says so. */
const isNeverSilent = ({ workers }: Snapshot, instance: string): boolean => workers.get(instance)?.isEdge === true;

/**
 * By elapsed time: after the clock was set back, silence counts from the object's next turn. The pings of a socket
 * that was open in this step have the platform's clock.
 */
export const theSilentAreGivenNothing: Check = (before, now, world) => {
  const { model, shell, isShared } = world;
  const given = isShared ? [] : newLeases(before, now);
  if (given.length === 0) return null;
  const open = world.connected();
  const { elapsedAt, heededAt, nowAt } = shell.clock;
  const offlineAfterMs = Math.max(...[before, now].map(({ config }) => config.presence.offlineAfterMs));
  for (const { id, assignedAt, assignedWorker } of given) {
    if (assignedWorker === null || isNeverSilent(now, assignedWorker)) continue;
    if (open.has(assignedWorker) || world.connectedBefore.has(assignedWorker)) continue;
    const heardAt = Math.max(model.heardAt.get(assignedWorker) ?? 0, heededAt);
    const silentMs = (assignedAt ?? nowAt) + elapsedAt - nowAt - heardAt;
    if (silentMs > offlineAfterMs) return `${assignedWorker} was given job ${id} after ${silentMs} ms of silence`;
  }
  return null;
};

/** Nor is a worker without a socket whose last report's key was revoked since. */
export const theLockedOutAreGivenNothing: Check = (before, now, world) => {
  const { endedKeys, isShared } = world;
  const open = world.connected();
  for (const { id, assignedWorker } of isShared ? [] : newLeases(before, now)) {
    if (assignedWorker === null || open.has(assignedWorker)) continue;
    const keyIds = [before, now].map(({ workers: known }) => known.get(assignedWorker)?.keyId ?? "");
    if (keyIds.every((keyId) => endedKeys.has(keyId)))
      return `${assignedWorker} was given job ${id} after its key ${keyIds[1]} was revoked`;
  }
  return null;
};

/** The last list of its runtime decides for a worker that names none; an empty one says nothing. */
const hasModel = (worker: Worker | undefined, model: string | null): boolean => {
  if (worker === undefined) return false;
  if (model === null) return true;
  const { models, runtimeModels } = worker;
  const set = models ?? runtimeModels;
  return set === null || set.count === 0 || withModel(model)(set);
};

/** Nor does a worker get a job for a model within five minutes of its answer that it does not have it. */
export const onlyWhereItsModelIs: Check = (before, now, { model: { lacking }, isShared }) => {
  for (const key of lacking.keys()) {
    // A forgotten worker that registers again is a new one.
    if (isShared || !now.workers.has(key.split(" ")[0] ?? "")) lacking.delete(key);
  }
  for (const { id, model, assignedWorker, assignedAt } of isShared ? [] : newLeases(before, now)) {
    const instance = assignedWorker ?? "";
    if (model === null) continue;
    if (![before, now].some(({ workers }) => hasModel(workers.get(instance), model)))
      return `${instance} was given job ${id}, and does not have its model ${model}`;
    const lacked = lacking.get(`${instance} ${model}`);
    const at = assignedAt ?? now.nowAt;
    if (lacked !== undefined && lacked.fromAt <= at && at < lacked.untilAt)
      return `${instance} was given job ${id}, and had answered that it lacks its model ${model}`;
  }
  return null;
};

/** Checked with the worker and the job before and after the step, unless others may have changed both in between. */
export const onlyFitWorkersAreGiven: Check = (before, now, { model, isShared }) => {
  if (isShared) return null;
  for (const job of newLeases(before, now)) {
    const instance = job.assignedWorker ?? "";
    const workers = [now.workers.get(instance), before.workers.get(instance)];
    const asked = [job, before.jobs.get(job.id)?.job ?? job];
    const times = [now.nowAt, before.nowAt];
    const isFit = workers.some((worker) => asked.some((one) => times.some((at) => mayHave(worker, one, at))));
    if (!isFit) return `${instance} was given job ${job.id}, which it may not have`;
    if (isNeverSilent(now, instance)) continue;
    const { offlineAfterMs } = before.config.presence;
    const silentSince = model.signs.get(instance) ?? Number.NEGATIVE_INFINITY;
    if ((job.assignedAt ?? now.nowAt) - silentSince > Math.max(offlineAfterMs, now.config.presence.offlineAfterMs))
      return `${instance} was given job ${job.id}, and was silent since ${silentSince}`;
  }
  return null;
};

/** The object heard of it just now, and can reach it. */
const isSurelyThere = (member: Member | undefined, nowAt: number): boolean =>
  member !== undefined &&
  nowAt - member.lastSeenAt < SURELY_ALIVE_MS &&
  (member.isConnected || (!member.worker.viaSocket && !member.isLockedOut));

/**
 * A fallback of the coordinator takes at once only what no other living worker could. Jobs with more wishes than these
 * have more reasons why another could not. Which models a worker lacks is its record's to say: after shared steps only
 * the object knows.
 */
export const fallbacksWait: Check = (before, now, { shell, isShared }) => {
  if (isShared || before.config !== now.config) return null;
  for (const job of newLeases(before, now)) {
    const worker = now.workers.get(job.assignedWorker ?? "");
    const afterMs = now.config.edgeAfterMs.get(worker?.provider ?? "");
    const waitedMs = (job.assignedAt ?? now.nowAt) - job.createdAt;
    if (worker?.isEdge !== true || afterMs === undefined || waitedMs >= afterMs) continue;
    if (job.tier !== null || job.api !== null || job.lease > 1) continue;
    const rival = [...now.workers.values()].find(
      (other) =>
        !other.isEdge &&
        other.concurrency > 0 &&
        isSurelyThere(shell.memory?.fleet.get(other.instance), now.nowAt) &&
        (now.backoffs.get(other.provider) ?? 0) <= before.nowAt &&
        mayHave(other, job, now.nowAt) &&
        mayHave(before.workers.get(other.instance), job, before.nowAt) &&
        missingUntil(other.missingModels, job.model, before.nowAt) === null,
    );
    if (rival !== undefined)
      return `${worker.instance} was given job ${job.id} after ${waitedMs} ms, and ${rival.instance} could take it`;
  }
  return null;
};
