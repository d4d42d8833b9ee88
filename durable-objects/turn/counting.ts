// Counts each change of a job, for the metrics and the dashboard: jobs by status, what happened in each minute, waiting
// times, streams.

import type { Job } from "../../domain/job/job.ts";
import { enqueuedAt } from "../../domain/job/queue-place.ts";
import { isFinal, type JobStatus } from "../../domain/words/job-status.ts";
import type { OpenStatus } from "../store/jobs/open-counts.ts";
import type { EndedAttempt } from "./memory/counters.ts";
import type { Memory } from "./memory/memory.ts";

export const countChange = (memory: Memory, before: Job | null, after: Job, nowAt: number): void => {
  if (before?.status !== after.status) countStatus(memory, before, after, nowAt);
  if (after.stream) countStream(memory, before, after, nowAt);
  if (before?.status === "running" && isFailedUnreported(before, after))
    countAttempt(memory, before, { outcome: "failed", errorCode: newCode(before, after) ?? "worker_lost" }, nowAt);
};

/** Not that of the attempt before. */
const newCode = (before: Job, { error }: Job): string | undefined => (error === before.error ? undefined : error?.code);

/** Its worker was lost or took too long; what is given back costs no attempt. */
const isFailedUnreported = (before: Job, { status, settledBy, attempts }: Job): boolean =>
  settledBy === null && (status === "failed" || (status === "pending" && attempts === before.attempts));

/** Of an attempt that ended, by who ran it. */
export const countAttempt = (
  { counters }: Memory,
  job: Job,
  ended: Pick<EndedAttempt, "outcome" | "errorCode"> & { readonly model?: string | null },
  nowAt: number,
): void => {
  const { outcome, errorCode } = ended;
  const seconds = job.startedAt === null ? null : Math.max(0, nowAt - job.startedAt) / 1000;
  const [provider, model] = [job.workerProvider ?? "", ended.model ?? job.model ?? ""];
  counters.tallies.note({ provider, model, outcome, seconds, errorCode });
};

export const isOpen = (status: JobStatus): status is OpenStatus => !isFinal(status);

const countStatus = ({ counters, open }: Memory, before: Job | null, after: Job, nowAt: number): void => {
  const { status } = after;
  counters.jobsByStatus[status] += 1;
  if (before === null) counters.activity.note("created", nowAt);
  if (isFinal(status)) counters.activity.note(status, nowAt);
  if (before !== null && isOpen(before.status)) open[before.status] -= 1;
  if (isOpen(status)) open[status] += 1;
  if (before?.status === "failed") counters.retriedCount += 1;
  if (status !== "assigned") return;
  counters.assignmentLatency.observe(Math.max(0, nowAt - enqueuedAt(after)) / 1000);
};

const countStream = (memory: Memory, before: Job | null, after: Job, nowAt: number): void => {
  const { counters } = memory;
  memory.openStreams += Number(isStreaming(after)) - Number(isStreaming(before));
  if (after.firstTokenAt === null) return;
  if (before !== null && isOpen(before.status) && !isOpen(after.status))
    counters.streamDuration.observe((nowAt - after.firstTokenAt) / 1000);
};

const isStreaming = (job: Job | null): boolean => job !== null && job.firstTokenAt !== null && isOpen(job.status);

/** Open jobs now, and final ones of all time. Of the final statuses a job can only leave `failed`. */
export const statusCounts = ({ counters, open }: Memory): Record<JobStatus, number> => {
  const { jobsByStatus, retriedCount } = counters;
  return { ...jobsByStatus, failed: Math.max(0, jobsByStatus.failed - retriedCount), ...open };
};
