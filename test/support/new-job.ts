// Jobs as tests ask an operation or a rule for them: what a test does not name is as usual.

import type { NewJob } from "../../domain/job/new-job.ts";

export const newJob = (asked: Partial<NewJob> = {}): NewJob => ({
  prompt: "x",
  input: null,
  provider: null,
  model: null,
  priority: "normal",
  tags: [],
  tier: null,
  timeoutMs: null,
  maxAttempts: null,
  runAt: null,
  schedule: null,
  ...asked,
});

/** With a prompt and an input to be found again. */
export const asked = newJob({ prompt: "p", input: { deep: [1, "two", null] } });
