// Promises about time, money and order, checked against the events, attempts and runs of each step.

import { maxAttemptsOf } from "../../../domain/config.ts";
import { isLeased, isWaitedFor, type Job } from "../../../domain/job/job.ts";
import { parseInterval } from "../../../domain/schedule/interval.ts";
import type { JobEventType } from "../../../domain/words/event.ts";
import { isFinal } from "../../../domain/words/job-status.ts";
import type { VersionedEvent } from "../../../durable-objects/store/outbox.ts";
import type { World } from "../world.ts";
import type { Snapshot } from "./snapshot.ts";

type Check = (before: Snapshot, now: Snapshot, world: World) => string | null;

const eventsOf = (now: Snapshot, ...types: readonly JobEventType[]): VersionedEvent[] =>
  now.outbox.flatMap(({ entries }) => entries.events).filter(({ type }) => types.includes(type));

const detailOf = (event: VersionedEvent): Record<string, number> => event.detail as Record<string, number>;

/** Jobs that waited before and were assigned since, before and after. */
export const givenOut = (before: Snapshot, now: Snapshot): [Job, Job][] =>
  now.changed.flatMap(({ job }): [Job, Job][] => {
    const was = before.jobs.get(job.id)?.job;
    return was?.status === "pending" && isLeased(job) && job.lease === was.lease + 1 ? [[was, job]] : [];
  });

/**
 * Among jobs with equal requirements, the first in the queue decides whose turn it is: nobody takes the turn of a later
 * one, and each flow's own jobs go in order.
 */
export const groupsKeepTheirOrder: Check = (before, now, { isShared }) => {
  if (isShared) return null;
  for (const [was, job] of givenOut(before, now)) {
    const { orderKey, groupKey } = was;
    // Patched in this step, it may have overtaken others, or be in another line.
    const isMoved = was.priority !== job.priority || groupKey !== job.groupKey;
    if (orderKey === null || isMoved) continue;
    for (const { job: other } of before.jobs.values()) {
      const still = now.jobs.get(other.id)?.job;
      if (other.groupKey !== groupKey || other.orderKey === null || still?.version !== other.version) continue;
      const isSameLane = other.flow === was.flow && other.priority === was.priority;
      if (other.orderKey < (isSameLane ? orderKey : (job.share?.place ?? orderKey)))
        return `job ${job.id} was given out before ${other.id}, which is first in line`;
    }
  }
  return null;
};

/** Neither a job's own wait nor its provider's is cut short. */
export const waitsAreWaited: Check = (before, now, { isShared }) => {
  if (isShared || before.config !== now.config) return null;
  for (const [was, job] of givenOut(before, now)) {
    const at = job.assignedAt ?? now.nowAt;
    if (was.readyAt !== null && was.readyAt > at) return `job ${job.id} runs ${was.readyAt - at} ms too early`;
    const untilAt = before.backoffs.get(job.workerProvider ?? "") ?? 0;
    if (untilAt > at) return `job ${job.id} runs on ${job.workerProvider}, which rests for ${untilAt - at} ms more`;
  }
  return null;
};

/** A back-off may grow; nothing ends it early. */
export const backoffsOnlyGrow: Check = (before, now) => {
  for (const [provider, untilAt] of before.backoffs) {
    const after = now.backoffs.get(provider) ?? 0;
    if (untilAt > now.nowAt && after < untilAt)
      return `the back-off of ${provider} until ${untilAt} ends at ${after}, and it is ${now.nowAt}`;
  }
  return null;
};

/** As long as configured, and never shorter than a provider asked for. */
export const backoffsAreLongEnough: Check = (before, now, { model }) => {
  for (const event of eventsOf(now, "job.rate_limited", "job.attempt_failed")) {
    const { delay_ms: delayMs = 0, retry = 1, of, attempt = 1, provider } = detailOf(event);
    const configs = [before.config, now.config];
    const isRate = event.type === "job.rate_limited";
    // A line of a batch is tried as often as it must, and its waits grow with those of all lines.
    const isLine = isRate && of === undefined;
    const leasts = configs.map(({ providers, jobs }) =>
      isRate
        ? (providers.get(String(provider))?.rateLimit?.retryAfterMs ?? 0) * 2 ** (isLine ? 0 : retry - 1)
        : Math.min(jobs.retry.maxBackoffMs, jobs.retry.backoffMs * 2 ** (attempt - 1)),
    );
    const askedMs = isRate ? (model.askedToWait.get(`${event.jobId}/${event.lease}`) ?? 0) : 0;
    const leastMs = Math.max(Math.min(...leasts), askedMs);
    if (delayMs < leastMs) return `job ${event.jobId} waits ${delayMs} ms, and ${leastMs} ms were promised`;
    const job = now.jobs.get(event.jobId)?.job;
    if (job?.version === event.version && job.readyAt !== event.at + delayMs)
      return `job ${event.jobId} is told to wait until ${event.at + delayMs}, and waits until ${job.readyAt}`;
    const untilAt = now.backoffs.get(String(provider)) ?? 0;
    if (isRate && !isLine && untilAt < event.at + delayMs && event.at + delayMs > now.nowAt)
      return `provider ${provider} rests until ${untilAt}, and its job waits ${delayMs} ms`;
  }
  return null;
};

/** A worker that was heard of within the threshold keeps its job. */
export const nobodyIsReapedEarly: Check = (before, now, { model, shell }) => {
  const { nowAt, elapsedAt } = shell.clock;
  for (const event of eventsOf(now, "job.reaped")) {
    // Another rule: a waiting front-door job is moved on.
    if (!("silent_since" in detailOf(event))) continue;
    const heardAt = model.beats.get(`${event.jobId}/${event.lease}`);
    const thresholds = [before, now].map(({ config }) => config.jobs.reapStaleAfterMs ?? Number.POSITIVE_INFINITY);
    const leastMs = Math.min(...thresholds);
    const silentMs = event.at + elapsedAt - nowAt - (heardAt ?? Number.NEGATIVE_INFINITY);
    if (silentMs < leastMs)
      return `job ${event.jobId} was reaped ${silentMs} ms after it was heard of, and ${leastMs} ms are allowed`;
  }
  return null;
};

/** However its workers failed, fell silent or died. The next provider of a chain is one more chance. */
export const attemptsAreBounded: Check = (before, now, { model }) => {
  for (const { jobId } of eventsOf(now, "job.fell_back"))
    model.mostAttempts.set(jobId, (model.mostAttempts.get(jobId) ?? 0) + 1);
  for (const { job } of now.changed) {
    if (before.jobs.get(job.id)?.job === job) continue;
    const most = Math.max(...[before, now].map(({ config }) => maxAttemptsOf(config, job)));
    const allowed = Math.max(most, model.mostAttempts.get(job.id) ?? 0);
    model.mostAttempts.set(job.id, allowed);
    if (job.attempts > allowed) return `job ${job.id} is at attempt ${job.attempts}, and ${allowed} are allowed`;
  }
  return null;
};

const STOPS_SCHEDULES = 2;
const STOPS_CREATION = 3;
const CANCELS = 4;

export const killswitchLevelsHold: Check = (before, now, { model, isShared }) => {
  const level = Math.min(before.killswitch.level, now.killswitch.level);
  const runs = now.outbox.flatMap(({ entries }) => entries.runs);
  if (!isShared && level >= STOPS_SCHEDULES && runs.some(({ outcome }) => outcome === "created"))
    return `a schedule made a job at level ${level}`;
  if (!isShared && level >= STOPS_CREATION) {
    const [made] = eventsOf(now, "job.created");
    if (made !== undefined) return `job ${made.jobId} was created at level ${level}`;
  }
  // A reached budget engages it again in the turn that clears it: that is another halt.
  const isAnother = before.killswitch.haltActivation !== now.killswitch.haltActivation;
  if (isAnother || now.killswitch.level === 0) model.putBack.clear();
  if (!isAnother || !isShared) for (const { jobId } of eventsOf(now, "job.halted")) model.putBack.add(jobId);
  if (now.killswitch.level < CANCELS) return null;
  const left = [...model.putBack].find((id) => now.jobs.get(id)?.job.status === "pending");
  return left === undefined ? null : `job ${left} waits on at level 4, and the same halt had put it back`;
};

/** A waiting front-door client is told at once; nobody waits for a line of a batch. */
export const frontDoorIsNotHeld: Check = (_before, now) => {
  // Nobody waits for an answer in the background.
  const isOfClient = ({ api, batch, frontDoor }: Job): boolean =>
    api !== null && batch === null && frontDoor?.isBackground !== true;
  const isHalted = ({ jobId }: { readonly jobId: string }): boolean => {
    const known = now.jobs.get(jobId);
    return known !== undefined && isOfClient(known.job);
  };
  const halted = eventsOf(now, "job.halted").find(isHalted);
  if (halted !== undefined) return `job ${halted.jobId} of the front door was put back by the killswitch`;
  if (now.killswitch.level === 0) return null;
  const open = [...now.jobs.values()].find(({ job }) => isOfClient(job) && !isFinal(job.status));
  return open === undefined ? null : `job ${open.job.id} of the front door is open at level ${now.killswitch.level}`;
};

/** After the client of a stream received output, another attempt would send a second beginning. */
export const noSecondBeginning: Check = (before, now, { model }) => {
  for (const { jobId, lease } of eventsOf(now, "job.streaming")) model.spoke.set(jobId, lease);
  for (const { jobId } of eventsOf(now, "job.retried")) model.spoke.delete(jobId);
  for (const [, job] of givenOut(before, now)) {
    const spoke = isWaitedFor(job) && job.stream ? model.spoke.get(job.id) : undefined;
    if (spoke !== undefined && spoke < job.lease) return `job ${job.id} runs again after its first word`;
  }
  return null;
};

/** With `overlap: skip` a run that falls due while the previous run's job is open creates none. */
export const schedulesDoNotOverlap: Check = (before, now, { model, isShared }) => {
  if (isShared) return null;
  for (const { schedule, outcome, jobId } of now.outbox.flatMap(({ entries }) => entries.runs)) {
    if (outcome !== "created" || jobId === null || model.runsByHand.has(jobId)) continue;
    const [was, is] = [before, now].map(({ schedules }) => schedules.find(({ name }) => name === schedule));
    if (was?.overlap !== "skip" || is?.overlap !== "skip") continue;
    const open = [...now.jobs.values()].find(
      ({ job }) =>
        job.schedule === schedule &&
        job.id !== jobId &&
        !isFinal(job.status) &&
        before.jobs.get(job.id)?.job.version === job.version,
    );
    if (open !== undefined) return `schedule ${schedule} made job ${jobId} while job ${open.job.id} is open`;
  }
  return null;
};

/** For a schedule by interval that nobody changed: its next run advanced by what ran and what was missed. */
export const missedRunsAreCounted: Check = (before, now, { isShared }) => {
  if (isShared || before.schedules === now.schedules) return null;
  const runs = now.outbox.flatMap(({ entries }) => entries.runs);
  const lines = now.outbox.flatMap(({ entries }) => entries.audit);
  for (const is of now.schedules) {
    const was = before.schedules.find(({ name }) => name === is.name);
    const interval = parseInterval(is.interval ?? "");
    if (was?.nextRunAt == null || is.nextRunAt === null || !interval.ok) continue;
    if (was.interval !== is.interval || was.anchorAt !== is.anchorAt) continue;
    // A manual run has its own instant, and its answer may have been lost.
    if (lines.some(({ action, target }) => action === "schedule.run" && target === is.name)) continue;
    const due = runs.filter(({ schedule }) => schedule === is.name);
    const counted = due.reduce((sum, { missed }) => sum + 1 + missed, 0);
    const passed = (is.nextRunAt - was.nextRunAt) / interval.value;
    if (counted !== passed)
      return `${passed} due times of schedule ${is.name} passed, and ${counted} ran or were missed`;
  }
  return null;
};
