// What must be true of each job, whatever was killed, cut or stopped.

import { isDeepStrictEqual } from "node:util";
import type { JobResource } from "../../contract/jobs/job.ts";
import type { JobEventType } from "../../domain/words/event.ts";
import type { Evidence, JobEvidence } from "./evidence.ts";

type JobStatus = JobResource["status"];
type Step = { readonly from: readonly JobStatus[]; readonly to: JobStatus | null };

const LEASED: readonly JobStatus[] = ["assigned", "running"];
const OPEN: readonly JobStatus[] = ["pending", ...LEASED];
const BACK: Step = { from: LEASED, to: "pending" };

const STEPS: Record<Exclude<JobEventType, "job.created">, Step> = {
  "job.updated": { from: [...OPEN, "failed", "cancelled"], to: null },
  "job.assigned": { from: ["pending"], to: "assigned" },
  "job.accept_expired": { from: ["assigned"], to: "pending" },
  "job.started": { from: ["assigned"], to: "running" },
  "job.streaming": { from: LEASED, to: null },
  "job.completed": { from: LEASED, to: "completed" },
  "job.failed": { from: LEASED, to: "failed" },
  "job.timed_out": { from: LEASED, to: "failed" },
  "job.cancelled": { from: OPEN, to: "cancelled" },
  "job.released": BACK,
  "job.lost": BACK,
  "job.halted": BACK,
  "job.reaped": BACK,
  "job.attempt_failed": BACK,
  "job.rate_limited": BACK,
  "job.fell_back": BACK,
  "job.retried": { from: [...LEASED, "failed"], to: "pending" },
};

export const jobsAreReadable = ({ jobs }: Evidence): string[] =>
  [...jobs.values()].flatMap(({ id, read, listed }) => {
    if (read === null) return [`job ${id} cannot be read`];
    return listed === null ? [`job ${id} is not in the list`] : [];
  });

export const listAgreesWithReads = ({ jobs }: Evidence): string[] =>
  [...jobs.values()].flatMap(({ id, read, listed }) => {
    if (read === null || listed === null || isDeepStrictEqual(read, listed)) return [];
    return [`job ${id} is ${JSON.stringify(listed)} in the list and ${JSON.stringify(read)} by itself`];
  });

export const jobsEndFinal = ({ jobs }: Evidence): string[] =>
  [...jobs.values()].flatMap(({ id, read }) =>
    read === null || !OPEN.includes(read.status) ? [] : [`job ${id} is still ${read.status} (${read.waiting_reason})`],
  );

/** Only steps of the state diagram, each lease one more than the last, and an end that matches the job. */
export const timelinesAreLawful = ({ jobs }: Evidence): string[] =>
  [...jobs.values()].flatMap((job) => {
    const fault = faultIn(job);
    return fault === null ? [] : [`the timeline of job ${job.id}: ${fault}; ${describe(job)}`];
  });

const describe = ({ events }: JobEvidence): string => events.map(({ type, lease }) => `${type}@${lease}`).join(" ");

const faultIn = ({ events, read }: JobEvidence): string | null => {
  const [first, ...rest] = events;
  if (first === undefined) return "it is empty";
  if (first.type !== "job.created") return `it begins with ${first.type}`;
  let status: JobStatus = "pending";
  let before = first;
  for (const event of rest) {
    const step: Step | undefined = STEPS[event.type as keyof typeof STEPS];
    if (step === undefined) return `${event.type} comes twice or is unknown`;
    if (!step.from.includes(status)) return `${event.type} of a job that is ${status}`;
    const lease = before.lease + (event.type === "job.assigned" ? 1 : 0);
    if (event.lease !== lease) return `${event.type} with lease ${event.lease} where ${lease} was due`;
    if (Date.parse(event.at) < Date.parse(before.at)) return `${event.type} is earlier than ${before.type}`;
    status = step.to ?? status;
    before = event;
  }
  if (read === null) return null;
  const isSame = read.status === status && read.lease === before.lease;
  return isSame ? null : `it ends ${status} with lease ${before.lease}, the job is ${read.status} with ${read.lease}`;
};
