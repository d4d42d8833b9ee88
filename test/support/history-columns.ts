// The columns that history is searched by: the same facts as in a job's record.

import { type Job, labelsOf } from "../../domain/job/job.ts";

export const columnsOf = (job: Job): Record<string, string | number | null> => ({
  version: job.version,
  status: job.status,
  worker: job.assignedWorker,
  schedule: job.schedule,
  key_id: job.keyId,
  ran_provider: job.ranProvider,
  ran_model: job.ranModel,
  error_code: job.error?.code ?? null,
  error_message: job.error?.message ?? null,
  cost_nano_usd: job.costNanoUsd,
  labels: JSON.stringify(labelsOf(job)),
  created_at: job.createdAt,
  finished_at: job.finishedAt,
});
