// Small defects, at least one per invariant, that the simulation must catch (or the model on the real platform, where
// the simulation cannot): a checker that has never failed is no evidence. `npm run mutants` plants each in a copy of
// the tree and expects the run to fail.

import { ACCESS_MUTANTS } from "./access-mutants.ts";
import { ARCHIVE_MUTANTS } from "./archive-mutants.ts";
import { ATTEMPT_MUTANTS } from "./attempt-mutants.ts";
import { BATCH_MUTANTS } from "./batch-mutants.ts";
import { DEPARTURE_MUTANTS } from "./departure-mutants.ts";
import { EDGE_MUTANTS } from "./edge-mutants.ts";
import { HISTORY_MUTANTS } from "./history-mutants.ts";
import { JOURNAL_MUTANTS } from "./journal-mutants.ts";
import { KEY_MUTANTS } from "./key-mutants.ts";
import { LIMIT_MUTANTS } from "./limit-mutants.ts";
import { type Mutant, mutant } from "./mutant.ts";
import { RUNNER_MUTANTS } from "./runner-mutants.ts";
import { SWAP_MUTANTS } from "./swap-mutants.ts";
import { TESTED_MUTANTS } from "./tested-mutants.ts";
import { WAKE_MUTANTS } from "./wake-mutants.ts";
import { WEBHOOK_MUTANTS } from "./webhook-mutants.ts";

export const MUTANTS: readonly Mutant[] = [
  mutant(
    "the first answer to an idempotency key is not kept",
    "durable-objects/steps/idempotency.ts",
    "turn.store.idempotency.put(placeOf(turn, scope, idempotency.key), first, expiresAt);",
    "void first;",
  ),
  mutant(
    "an idempotency key is taken with any body",
    "durable-objects/steps/idempotency.ts",
    "known.bodyHash !== idempotency.bodyHash",
    "known.bodyHash === null",
  ),
  mutant(
    "a refused dispatch keeps its job",
    "durable-objects/operations/jobs/jobs.ts",
    "if (!request.mayQueue) return err(",
    "if (!request.mayQueue) turn.record(null, created);\n    if (!request.mayQueue) return err(",
  ),
  mutant(
    "a full worker is given more",
    "domain/routing/filters.ts",
    "left.intersect(fleet.sets.withRoom);",
    "void fleet;",
  ),
  mutant(
    "a provider's limit is looked at once a turn",
    "durable-objects/placing/assign-waiting.ts",
    "  ...policy,\n  closedProviders: closedProviders(turn),\n});",
    "  ...policy,\n});",
  ),
  mutant(
    "the killswitch stops nothing below level 3",
    "durable-objects/placing/place-job.ts",
    "turn.memory.killswitch.level > 0 ? null : choose(",
    "turn.memory.killswitch.level > 2 ? null : choose(",
  ),
  mutant(
    "a worker that names no models takes any, whatever its runtime lists",
    "domain/fleet/model-set.ts",
    "offer.models ?? wholeListOf(offer)",
    "offer.models",
  ),
  mutant(
    "a runtime that lacks a model is asked for it again at once",
    "durable-objects/steps/outcomes.ts",
    "  turn.putWorker(next);\n  turn.due(next.missingModels",
    "  turn.due(next.missingModels",
  ),
  mutant(
    "tags are not asked for",
    "domain/routing/lasting-filters.ts",
    "for (const tag of asked.tags) left.intersect(fleet.offers.withTag(tag));",
    "void fleet.offers.withTag;",
  ),
  mutant(
    "a final job can be cancelled",
    "domain/job/job-command.ts",
    'if (isFinal(job.status)) return err({ code: "job_state", id: job.id, status: job.status, command: "cancel" });',
    'if (job.status === "cancelled") return err({ code: "job_state", id: job.id, status: job.status, command: "cancel" });',
  ),
  mutant(
    "a change makes no new version",
    "domain/job/job.ts",
    "version: job.version + 1,",
    "version: Math.max(2, job.version),",
  ),
  mutant(
    "dispatch takes another than explain",
    "domain/routing/choice.ts",
    "if (isBetter(next, best)) [best",
    "if (!isBetter(next, best)) [best",
  ),
  mutant(
    "the head of a group stays when it leaves",
    "domain/job/queue.ts",
    "if (group.head?.id === id) group.head = null;",
    "",
  ),
  mutant("a change of config opens nothing", "durable-objects/operations/config.ts", "turn.isAllOpened = true;", ""),
  mutant(
    "idempotency keys are forgotten an hour early",
    "durable-objects/steps/idempotency.ts",
    "24 * HOUR_MS",
    "23 * HOUR_MS",
  ),
  mutant("schedules go on at level 2", "domain/killswitch.ts", "boolean => level >= 2;", "boolean => level >= 3;"),
  mutant("jobs are created at level 3", "domain/killswitch.ts", "create: 3,", "create: 4,"),
  mutant(
    "runs of a schedule overlap",
    "domain/schedule/schedule.ts",
    'schedule.overlap === "skip" && openJob',
    'schedule.overlap === "skip" && openJob && schedule.lastRunAt === null',
  ),
  mutant(
    "a younger job of its group goes first",
    "domain/job/queue.ts",
    "one.orderKey < other.orderKey : one.id",
    "one.orderKey > other.orderKey : one.id",
  ),
  mutant(
    "the flow that came first goes first, whatever it was served",
    "domain/job/fair-order.ts",
    "one.time !== other.time ? one.time < other.time : one.turn < other.turn",
    "one.turn < other.turn",
  ),
  mutant(
    "a flow may be passed over for ever",
    "domain/job/fair-order.ts",
    "if (nowAt - longest.sinceAt > LONGEST_UNSERVED_MS) return longest.name;",
    "",
  ),
  mutant(
    "the first job of a group takes its own turn, no matter who was served least",
    "durable-objects/placing/assign-waiting.ts",
    "order.waiting < 2 ? null",
    "order.waiting < 99 ? null",
  ),
  mutant(
    "an object that wakes does not know what its flows were served",
    "durable-objects/turn/memory/memory.ts",
    "for (const job of held) flows.serve(job, job.share, nowAt);",
    "void held;",
  ),
  mutant(
    "webhooks hear nothing of jobs that end",
    "durable-objects/turn/turn.ts",
    "if (before?.status !== job.status)",
    'if (before?.status === "running")',
  ),
  mutant(
    "a delivery that nobody took counts as delivered",
    "domain/webhook.ts",
    "outcome.status >= 200 && outcome.status < 300",
    "outcome.status >= 200 && outcome.status < 600",
  ),
  mutant(
    "the killswitch leaves running jobs alone",
    "durable-objects/operations/halts/killswitch.ts",
    "for (const job of leased) {",
    'for (const job of leased.filter((one) => one.status !== "running")) {',
  ),
  mutant(
    "a full halt forgets what a lower level put back",
    "durable-objects/operations/halts/killswitch.ts",
    "    cancelPutBack(turn, reason);",
    "    turn.store.haltedJobs.clear();",
  ),
  mutant(
    "a revoked key goes on",
    "domain/access/key.ts",
    'if (key.revokedAt !== null) return err({ code: "key_revoked" });',
    "",
  ),
  mutant(
    "a rotated secret goes on",
    "domain/access/key.ts",
    "graceMs === 0 ? null : nowAt + graceMs",
    "nowAt + graceMs + 60_000",
  ),
  mutant(
    "pausing a worker leaves no line in the audit",
    "durable-objects/operations/fleet/workers.ts",
    'turn.audit("worker.paused", request.instance, { reason, until_at: request.untilAt });',
    "void reason;",
  ),
  ...ACCESS_MUTANTS,
  ...ARCHIVE_MUTANTS,
  ...ATTEMPT_MUTANTS,
  ...WAKE_MUTANTS,
  ...HISTORY_MUTANTS,
  ...JOURNAL_MUTANTS,
  ...LIMIT_MUTANTS,
  ...BATCH_MUTANTS,
  ...RUNNER_MUTANTS,
  ...KEY_MUTANTS,
  ...WEBHOOK_MUTANTS,
  ...SWAP_MUTANTS,
  ...DEPARTURE_MUTANTS,
  ...TESTED_MUTANTS,
  ...EDGE_MUTANTS,
];
