// A job's status; the transitions are in `job.ts`.

export const JOB_STATUSES = ["pending", "assigned", "running", "completed", "failed", "cancelled"] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

/** A final status does not change; only an explicit retry leaves `failed`. */
export const isFinal = (status: JobStatus): boolean =>
  status === "completed" || status === "failed" || status === "cancelled";
