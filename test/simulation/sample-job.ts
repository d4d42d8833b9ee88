import type { NewJob } from "../../domain/job.ts";

/** A job that any worker may have. */
export const newJob = (wanted: Partial<NewJob> = {}): NewJob => ({
  prompt: "hello",
  input: {},
  provider: null,
  model: null,
  tags: [],
  priority: "normal",
  tier: null,
  timeoutMs: null,
  maxAttempts: null,
  runAt: null,
  schedule: null,
  ...wanted,
});
