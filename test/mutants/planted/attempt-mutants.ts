// Defects in leases, attempts, retries and budgets.

import { type Mutant, mutant } from "./mutant.ts";

export const ATTEMPT_MUTANTS: readonly Mutant[] = [
  mutant("leases do not grow", "domain/job/lease.ts", "lease: job.lease + 1,", "lease: Math.max(1, job.lease),"),
  mutant(
    "a report is taken under any lease",
    "domain/job/lease-fence.ts",
    "isLeased(job) && job.lease === lease",
    "isLeased(job) && job.lease >= 0 * lease",
  ),
  mutant(
    "an assigned job may stay so for ever",
    "durable-objects/turn/deadline.ts",
    "return expiresAtOf(job, memory.config);",
    "return null;",
  ),
  mutant(
    "one rate-limit retry too many",
    "domain/job/failure.ts",
    "job.rateLimitRetries >= limit.maxRetries",
    "job.rateLimitRetries > limit.maxRetries",
  ),
  mutant(
    "a lease that ends frees no room",
    "durable-objects/turn/job-place.ts",
    "fleet.addLoad(heldBy, provider, -1);",
    "",
  ),
  mutant(
    "a shorter back-off replaces a longer one",
    "durable-objects/operations/fleet/final-report.ts",
    "Math.max(untilAt, turn.memory.backoffs.get(provider) ?? 0)",
    "untilAt",
  ),
  mutant(
    "a back-off ends a second early",
    "durable-objects/sweep/sweep.ts",
    "dueAt: (turn) => turn.store.backoffs.nextEndAt(),\n    run: (turn) => {\n      for (const [provider, untilAt] of turn.memory.backoffs) {\n        if (untilAt <= turn.nowAt) turn.memory.backoffs.delete(provider);\n      }\n      turn.store.backoffs.removeEnded(turn.nowAt);",
    "dueAt: (turn) => (turn.store.backoffs.nextEndAt() ?? Number.POSITIVE_INFINITY) - 1000,\n    run: (turn) => {\n      for (const [provider, untilAt] of turn.memory.backoffs) {\n        if (untilAt <= turn.nowAt + 1000) turn.memory.backoffs.delete(provider);\n      }\n      turn.store.backoffs.removeEnded(turn.nowAt + 1000);",
  ),
  mutant(
    "what a failed attempt spent enforces no budget",
    "durable-objects/operations/fleet/final-report.ts",
    "errorCode: judged.code }, turn.nowAt);\n  enforceBudget(turn);",
    'errorCode: judged.code }, turn.nowAt);\n  if (outcome === "completed") enforceBudget(turn);',
  ),
  mutant(
    "a retry does not wait",
    "domain/job/failure.ts",
    '{ until: nowAt + delayMs, by: "retry" }',
    '{ until: nowAt + delayMs / 2, by: "retry" }',
  ),
  mutant(
    "a provider that asked for time is asked again too soon",
    "domain/job/backoff.ts",
    "Math.max(grown, askedMs ?? 0)",
    "grown",
  ),
  mutant(
    "a job that loses its workers is tried for ever",
    "domain/job/lease.ts",
    'job.status === "running" && job.attempts >= maxAttempts',
    'job.status === "running" && job.attempts >= maxAttempts + 1',
  ),
  mutant(
    "a retryable failure is tried once too often",
    "domain/job/failure.ts",
    "running.attempts < policy.maxAttempts",
    "running.attempts <= policy.maxAttempts",
  ),
  mutant(
    "a running job is reaped early",
    "durable-objects/turn/deadline.ts",
    "return beat.heardAt + thresholdMs;",
    "return beat.heardAt + thresholdMs / 2;",
  ),
  mutant(
    "a stream that was cut costs nothing",
    "durable-objects/sweep/sweep.ts",
    "run: estimateUnreported,",
    "run: (turn) => void turn,",
  ),
  mutant(
    "a stream that was cut costs its estimate and its report",
    "durable-objects/operations/halts/late-spending.ts",
    "if (ended.isEstimated) correctSpending(",
    "if (ended.isEstimated && turn.nowAt < 0) correctSpending(",
  ),
  mutant(
    "what a worker tells after the estimate is only counted in history",
    "durable-objects/steps/pricing.ts",
    "(cost.costNanoUsd ?? 0) - (estimate.nanoUsd ?? 0)",
    "0",
  ),
  mutant(
    "what a worker tells after the estimate does not reach the sums of history",
    "durable-objects/history/corrections.ts",
    "COALESCE(told.nano_usd, 0) - COALESCE(attempts.nano_usd, 0) AS nano_usd",
    "0 AS nano_usd",
  ),
  mutant(
    "a job stays unpriced although its worker told the price",
    "durable-objects/history/corrections.ts",
    "-(attempts.nano_usd IS NULL AND told.nano_usd IS NOT NULL",
    "-(attempts.nano_usd IS NULL AND told.nano_usd IS NULL",
  ),
  mutant(
    "an attempt that reaches history late does not take the count of unpriced jobs",
    "durable-objects/history/attempt-sums.ts",
    "0, -1, 0, 0, 0, 0, 0",
    "0, 0, 0, 0, 0, 0, 0",
  ),
  mutant(
    "an estimate does not wait for the worker's report",
    "durable-objects/turn/uncounted.ts",
    "ESTIMATE_AFTER_MS = 15_000",
    "ESTIMATE_AFTER_MS = 1_000",
  ),
  mutant(
    "another worker's key reports a late cost",
    "durable-objects/operations/halts/late-spending.ts",
    "if (ended === null || !seesJobsOf(turn, ended.worker)) return;",
    "if (ended === null) return;",
    ["test/tenant/fleet/instance-owner.workers.test.ts"],
  ),
  mutant(
    "a worker that failed a job reports on its next lease",
    "durable-objects/operations/fleet/report.ts",
    "? [assignedWorker ?? lastWorker ?? ended]\n",
    "? [assignedWorker ?? lastWorker ?? ended, ...avoidedWorkers]\n",
    ["test/tenant/fleet/instance-owner.workers.test.ts"],
  ),
  mutant(
    "a heartbeat of a lease that has ended is a sign of life",
    "durable-objects/operations/fleet/report.ts",
    "  if (!decided.ok) return decided;\n  noteSign(turn, job);\n  note(turn, job);",
    "  noteSign(turn, job);\n  if (!decided.ok) return decided;\n  note(turn, job);",
  ),
  mutant(
    "a client's mistakes count against its worker",
    "durable-objects/operations/fleet/final-report.ts",
    "return isClientsFault(job, error) ? { code, isClientsFault: true } : { code };",
    "void isClientsFault;\n    return { code };",
  ),
  mutant(
    "a provider's budget closes nothing",
    "durable-objects/steps/reached-budgets.ts",
    "    if (one !== null) reached.push(one);",
    "    if (one !== null && turn.nowAt < 0) reached.push(one);",
  ),
];
