// Where a job stands; the transitions between them are in `job.ts`.

export const JOB_STATUSES = ["pending", "assigned", "running", "completed", "failed", "cancelled"] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

/** A final state is final: only an explicit retry leaves `failed`. */
export const isFinal = (status: JobStatus): boolean =>
  status === "completed" || status === "failed" || status === "cancelled";
