// A stream that was cut is never free: read from the timeline which attempts were taken from a worker that had started
// them, and expect each to have cost something in the end, by its worker's late report or by an estimate.

import { endsAttempt } from "../../../domain/job/attempt.ts";
import type { Job } from "../../../domain/job/job.ts";
import type { JobEventType } from "../../../domain/words/event.ts";
import type { VersionedEvent } from "../../../durable-objects/store/outbox.ts";
import type { Model } from "../model.ts";

/** Ends that no report of the worker made. */
const TAKEN: ReadonlySet<JobEventType> = new Set([
  "job.cancelled",
  "job.halted",
  "job.lost",
  "job.reaped",
  "job.timed_out",
]);

export const noteCut = (model: Model, event: VersionedEvent, job: Job | undefined): void => {
  const { jobId, lease, type } = event;
  const key = `${jobId}/${lease}`;
  if (type === "job.started") model.startedLeases.add(key);
  if (!endsAttempt(type) || !model.startedLeases.delete(key)) return;
  const isCounted = job !== undefined && (job.stream || job.api !== null);
  if (isCounted && TAKEN.has(type)) model.owed.add(key);
};

export const everyCutIsCounted = ({ owed, attempts }: Model): string | null => {
  for (const key of owed) if (!attempts.has(key)) return `attempt ${key} was cut, and cost nothing`;
  return null;
};
