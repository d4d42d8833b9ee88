// When the sweep must look at a job next: one instant per job. Heartbeats are kept in memory and rarely stored, so the
// stored instant is checked again when it comes.

import { type Config, storeBeatAfterMs, timeoutOf } from "../../domain/config.ts";
import { EDGE_BEAT_MS, isEdgeInstance } from "../../domain/fleet/worker.ts";
import type { Job } from "../../domain/job/job.ts";
import { isSpeech } from "../../domain/words/api.ts";
import { earliest } from "../../domain/words/earliest.ts";
import type { Memory } from "./memory/memory.ts";

/** A final job stays this long after its last change, so that repeated reports and quick reads need no history. */
export const FINAL_GRACE_MS = 10_000;

export const dueAtOf = (job: Job, memory: Memory): number | null => {
  switch (job.status) {
    case "pending":
      return earliest([job.readyAt, job.queueUntilAt]);
    case "assigned":
      return expiresAtOf(job, memory.config);
    case "running":
      return runningDueAt(job, memory);
    default:
      return job.finishedAt === null ? null : Math.max(job.finishedAt, job.updatedAt) + FINAL_GRACE_MS;
  }
};

const runningDueAt = (job: Job, memory: Memory): number | null =>
  earliest([staleAtOf(job, memory), timeoutAtOf(job, memory.config), firstTokenDueAt(job, memory.config)]);

/** When an unstarted lease ends. `heartbeatAt` is set only where the clock was set back. */
const expiresAtOf = ({ assignedAt, heartbeatAt }: Job, { jobs }: Config): number | null =>
  assignedAt === null ? null : (heartbeatAt ?? assignedAt) + jobs.acceptWithinMs;

/** When a running job counts as abandoned: never before the threshold has passed since its last heartbeat. */
export const staleAtOf = (job: Job, { config, beats }: Memory): number | null => {
  const { reapStaleAfterMs } = config.jobs;
  if (job.heartbeatAt === null || reapStaleAfterMs === null) return null;
  const thresholdMs = Math.max(reapStaleAfterMs, fewestMs(job));
  const beat = beats.get(job.id);
  if (beat?.storedAt === job.heartbeatAt) return beat.heardAt + thresholdMs;
  // Before memory was reloaded, heartbeats may have come that the row does not have.
  return job.heartbeatAt + storeBeatAfterMs(thresholdMs) + thresholdMs;
};

/** One heartbeat may be lost, and the next one late: they have no exact time, and begin again every ten minutes. */
const fewestMs = ({ assignedWorker }: Job): number => (isEdgeInstance(assignedWorker ?? "") ? 2.5 * EDGE_BEAT_MS : 0);

export const timeoutAtOf = (job: Job, config: Config): number | null => {
  const timeoutMs = timeoutOf(config, job);
  return job.startedAt === null || timeoutMs === null ? null : job.startedAt + timeoutMs;
};

/** When the client has waited too long for this attempt's first output. A runtime may make all of its sound before it sends. */
export const firstTokenDueAt = (job: Job, config: Config): number | null => {
  const { firstTokenMs } = config.frontDoor;
  const isTimed = job.stream && job.api !== null && !isSpeech(job.api) && job.firstTokenAt === null;
  return firstTokenMs === null || !isTimed || job.startedAt === null ? null : job.startedAt + firstTokenMs;
};
