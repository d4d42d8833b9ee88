// A job as the tests of the store ask for it.

import type { NewJob } from "../../domain/job/new-job.ts";

export const asked: NewJob = {
  prompt: "p",
  input: { deep: [1, "two", null] },
  provider: null,
  model: null,
  priority: "normal",
  tags: [],
  tier: null,
  timeoutMs: null,
  maxAttempts: null,
  runAt: null,
  schedule: null,
};
