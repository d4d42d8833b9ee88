// Defects in what the coordinator's own workers are given, and in what becomes of their calls.

import { type Mutant, mutant } from "./mutant.ts";

export const RUNNER_MUTANTS: readonly Mutant[] = [
  mutant(
    "a fallback takes what a worker of one's own could",
    "domain/routing/filters.ts",
    "return afterMs !== undefined && (waitingSinceAt",
    "return afterMs === 0 && (waitingSinceAt",
  ),
  mutant(
    "a fallback waits where nobody else could take the job",
    "domain/routing/filters.ts",
    "if (waiting.count() > 0 && canOthers(fleet, asked, policy)) left.subtract(waiting);",
    "left.subtract(waiting);",
  ),
  mutant(
    "a fallback waits for ever",
    "domain/routing/filters.ts",
    "nowAt - waitingSinceAt < afterMs)",
    "nowAt - waitingSinceAt < 1_000 * afterMs)",
  ),
  mutant(
    "a group that waits for a place of a fallback wakes its object each second",
    "durable-objects/placing/assign-waiting.ts",
    "const FALLBACK_LOOK_MS = 10_000",
    "const FALLBACK_LOOK_MS = 1_000",
  ),
  mutant(
    "a fallback is late for the next job of a group whose first has left",
    "durable-objects/turn/job-place.ts",
    "if (queue.waitingIn(before.groupKey) > 0) lookForFallback(turn, NEXT_LOOK_MS);",
    "",
  ),
  mutant(
    "nothing looks for jobs that have waited for a fallback",
    "durable-objects/placing/assign-waiting.ts",
    "if (at <= turn.nowAt) turn.openedGroups.add(group.key);",
    "",
  ),
  mutant(
    "the report of a call that was taken back is taken",
    "domain/job/lease.ts",
    "  if (!holds(job, lease)) return err(leaseLost(job, lease));\n  const running = asRunning",
    "  if (job.assignedWorker === null) return err(leaseLost(job, lease));\n  const running = asRunning",
  ),
  mutant(
    "what a lost call cost is forgotten",
    "durable-objects/turn/uncounted.ts",
    'job.stream || isEdgeInstance(job.assignedWorker ?? "")',
    "job.stream",
  ),
  mutant(
    "a refused key fails the job that another could take",
    "durable-objects/tenant.ts",
    "refusal === null ? report : leftToOthers(turn, report, refusal)",
    "report",
  ),
  mutant(
    "a provider that refused its key is given the next job",
    "durable-objects/operations/fleet/edge-workers.ts",
    'for (const { worker } of edgeMembersOf(turn, provider)) turn.putWorker({ ...worker, unavailable: words });\n  turn.reopenAvoiding();\n  turn.log("warn"',
    'turn.reopenAvoiding();\n  turn.log("warn"',
  ),
  mutant(
    "a provider that is no longer called goes on",
    "durable-objects/operations/fleet/edge-workers.ts",
    '    turn.sendHalt(job, "the provider is no longer called by the coordinator");\n',
    "",
  ),
];
