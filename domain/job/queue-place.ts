// A job's place in the queue: where it stands, until when it may wait, and how it comes back from a worker.

import { changeJob, type Decision, type Delay, isWaitedFor, type Job } from "./job.ts";
import type { FrontDoorFacts } from "./job-facts.ts";
import { groupKeyOf, orderKeyOf } from "./queue.ts";

/** A job's position counts from its creation, or from the instant before which it must not run. */
export const enqueuedAt = (job: Job): number => Math.max(job.createdAt, job.runAt ?? 0);

/** Its order key when it may run. */
export const queuePlaceOf = (job: Job): number =>
  job.batchPlace?.yieldsUntilAt ?? orderKeyOf(job.priority, enqueuedAt(job));

const placeTaken = (job: Job): number => job.share?.place ?? queuePlaceOf(job);

/** Leases in the order in which they were given: a job that took another's turn stands at the other's place. */
export const inLeaseOrder = (jobs: readonly Job[]): Job[] =>
  [...jobs].sort(
    (one, other) =>
      placeTaken(one) - placeTaken(other) ||
      (one.share?.from ?? 0) - (other.share?.from ?? 0) ||
      queuePlaceOf(one) - queuePlaceOf(other) ||
      (one.id < other.id ? -1 : 1),
  );

/** When a client that waits for it gives up; null for any other job. */
export const queueEndOf = (frontDoor: FrontDoorFacts | null, fromAt: number): number | null =>
  frontDoor === null || !isWaitedFor({ frontDoor }) ? null : fromAt + frontDoor.queueMs;

/** Of a job that its worker did not work on: it goes on waiting where it was when the worker got it. */
const oldQueueEnd = ({ queueUntilAt, assignedAt }: Job, nowAt: number): number | null =>
  queueUntilAt === null ? null : queueUntilAt + nowAt - (assignedAt ?? nowAt);

/** Until when a job is delayed, and why. */
export interface Delayed {
  readonly until: number;
  readonly by: Delay;
}

/** Back to the queue: the lease has ended, its number stays, so that late reports are refused. */
export const requeueJob = (job: Job, nowAt: number, delay: Delayed | null, changes: Partial<Job> = {}): Job => {
  const delayed = delay !== null && delay.until > nowAt ? delay : null;
  const isUnworked = job.status === "assigned" || changes.settledBy === "released";
  return changeJob(
    job,
    {
      status: "pending",
      groupKey: groupKeyOf({ ...job, ...changes }),
      assignedWorker: null,
      lastWorker: job.assignedWorker ?? job.lastWorker,
      workerProvider: null,
      orderKey: delayed === null ? queuePlaceOf(job) : null,
      readyAt: delayed?.until ?? null,
      runnableAt: delayed?.until ?? nowAt,
      delayedBy: delayed?.by ?? null,
      queueUntilAt: isUnworked ? oldQueueEnd(job, nowAt) : queueEndOf(job.frontDoor, delayed?.until ?? nowAt),
      firstTokenAt: null,
      assignedAt: null,
      startedAt: null,
      heartbeatAt: null,
      progress: null,
      ...changes,
    },
    nowAt,
  );
};

/** A delayed job whose time has come enters the queue. The version stays, because nothing else changes. */
export const makeReady = (job: Job): Decision => ({
  job: { ...job, orderKey: queuePlaceOf(job), readyAt: null, delayedBy: null },
  events: [],
});
