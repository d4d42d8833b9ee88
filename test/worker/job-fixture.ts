// A job as the coordinator sends it, with the fields that a test cares about.

import type { LeasedJob } from "../../contract/worker.ts";

const AT = "2026-01-01T00:00:00.000Z";

export function assignedJob(fields: Partial<LeasedJob> & { id: string }): LeasedJob {
  return {
    status: "assigned",
    prompt: "say it",
    input: null,
    provider: null,
    model: null,
    priority: "normal",
    tier: null,
    tags: [],
    assigned_worker: "w1",
    lease: 1,
    attempts: 0,
    result: null,
    error: null,
    progress: null,
    usage: null,
    cost_usd: null,
    ran_provider: null,
    ran_model: null,
    created_by: null,
    metadata: {},
    api: null,
    stream: false,
    edge: true,
    requested_model: null,
    tried: [],
    files: [],
    result_files: [],
    result_file: null,
    result_bytes: null,
    batch: null,
    custom_id: null,
    first_token_at: null,
    schedule: null,
    traceparent: null,
    timeout_seconds: null,
    max_attempts: null,
    waiting_reason: null,
    run_at: null,
    created_at: AT,
    assigned_at: AT,
    started_at: null,
    finished_at: null,
    updated_at: AT,
    ...fields,
  };
}
