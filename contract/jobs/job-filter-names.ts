// The names of a filter of jobs, for programs that check them before they ask. Free of zod.

import type { JobFilterName } from "./job-list.ts";

const NAMES = {
  status: true,
  provider: true,
  ran_provider: true,
  model: true,
  tag: true,
  schedule: true,
  batch: true,
  worker: true,
  key: true,
  error_code: true,
  unpriced: true,
  unpriced_since: true,
  unpriced_until: true,
  since: true,
  until: true,
  q: true,
} as const satisfies Record<JobFilterName, true>;

export const JOB_FILTER_NAMES: readonly string[] = Object.keys(NAMES);
