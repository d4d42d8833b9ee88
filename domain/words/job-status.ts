// A job's status; the transitions are in `job.ts`.

export const JOB_STATUSES = ["pending", "assigned", "running", "completed", "failed", "cancelled"] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

/** Where a job may be retried, as far as its status decides: a leased one only if it is stuck; and where cancelled. */
export const CHANGEABLE_STATUSES = {
  retry: ["failed", "assigned", "running"],
  cancel: ["pending", "assigned", "running"],
} as const satisfies Record<string, readonly JobStatus[]>;

/** Which of them a change of many jobs means that names no status. */
export const USUAL_STATUSES = {
  retry: ["failed"],
  cancel: CHANGEABLE_STATUSES.cancel,
} as const satisfies Record<keyof typeof CHANGEABLE_STATUSES, readonly JobStatus[]>;

/** A worker has the job. */
export const isLeasedStatus = (status: JobStatus): boolean => status === "assigned" || status === "running";

export type FinalStatus = Extract<JobStatus, "completed" | "failed" | "cancelled">;

/** A final status does not change; only an explicit retry leaves `failed`. */
export const isFinal = (status: JobStatus): status is FinalStatus =>
  status === "completed" || status === "failed" || status === "cancelled";
