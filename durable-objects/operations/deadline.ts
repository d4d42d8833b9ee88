// When the sweep must look at a job next: one instant per job, whatever state it is in.

import { type Config, timeoutOf } from "../../domain/config.ts";
import type { Job } from "../../domain/job.ts";

/** A final job stays this long, so that repeated reports and quick reads need no history. */
export const FINAL_GRACE_MS = 10_000;

export const dueAtOf = (job: Job, config: Config): number | null => {
  switch (job.status) {
    case "pending":
      return earliest(job.readyAt, job.queueUntilAt);
    case "assigned":
      return job.assignedAt === null ? null : job.assignedAt + config.jobs.acceptWithinMs;
    case "running":
      return earliest(firstTokenDueAt(job, config), earliest(staleAtOf(job, config), timeoutAtOf(job, config)));
    default:
      return job.finishedAt === null ? null : job.finishedAt + FINAL_GRACE_MS;
  }
};

export const staleAtOf = (job: Job, config: Config): number | null =>
  job.heartbeatAt === null || config.jobs.reapStaleAfterMs === null
    ? null
    : job.heartbeatAt + config.jobs.reapStaleAfterMs;

export const timeoutAtOf = (job: Job, config: Config): number | null => {
  const timeoutMs = timeoutOf(config, job);
  return job.startedAt === null || timeoutMs === null ? null : job.startedAt + timeoutMs;
};

/** When somebody has waited too long for the first word of this attempt. */
export const firstTokenDueAt = (job: Job, config: Config): number | null => {
  const { firstTokenMs } = config.frontDoor;
  if (firstTokenMs === null || job.api === null || !job.stream || job.firstTokenAt !== null) return null;
  return job.startedAt === null ? null : job.startedAt + firstTokenMs;
};

const earliest = (one: number | null, other: number | null): number | null => {
  if (one === null) return other;
  return other === null ? one : Math.min(one, other);
};
