// Small defects, at least one per invariant, that the simulation must catch (or the model on the real platform, where
// the simulation cannot): a checker that has never failed is no evidence. `npm run mutants` plants each in a copy of
// the tree and expects the run to fail.

export interface Mutant {
  /** What is broken. */
  readonly what: string;
  readonly file: string;
  readonly search: string;
  readonly replace: string;
  readonly catcher: Catcher;
}

export type Catcher = "simulation" | "model";

const mutant = (
  what: string,
  file: string,
  search: string,
  replace: string,
  catcher: Catcher = "simulation",
): Mutant => ({ what, file, search, replace, catcher });

export const MUTANTS: readonly Mutant[] = [
  mutant(
    "a final job leaves before history has it",
    "durable-objects/operations/sweep.ts",
    "jobs.leaving(turn.nowAt, drainedSeq, DEPARTURES_A_SWEEP)",
    "jobs.leaving(turn.nowAt, drainedSeq + 1e9, DEPARTURES_A_SWEEP)",
  ),
  mutant(
    "a final job that history had late never leaves",
    "durable-objects/history-writer.ts",
    "if (store.jobs.unshelve(seq, nowAt)) wake.note(nowAt);",
    "void nowAt;",
  ),
  mutant(
    "the first answer to an idempotency key is not kept",
    "durable-objects/operations/idempotency.ts",
    "turn.store.idempotency.put(scope, idempotency.key, first, expiresAt);",
    "void first;",
  ),
  mutant(
    "an idempotency key is taken with any body",
    "durable-objects/operations/idempotency.ts",
    "known.bodyHash !== idempotency.bodyHash",
    "known.bodyHash === null",
  ),
  mutant(
    "a refused dispatch keeps its job",
    "durable-objects/operations/jobs.ts",
    "if (!request.mayQueue) return err(",
    "if (!request.mayQueue) turn.record(null, created);\n    if (!request.mayQueue) return err(",
  ),
  mutant("leases do not grow", "domain/lease.ts", "lease: job.lease + 1,", "lease: Math.max(1, job.lease),"),
  mutant(
    "a report is taken under any lease",
    "domain/lease-fence.ts",
    "isLeased(job) && job.lease === lease",
    "isLeased(job) && job.lease >= 0 * lease",
  ),
  mutant("a full worker is given more", "domain/routing-filter.ts", "left.intersect(fleet.withRoom);", "void fleet;"),
  mutant(
    "a provider's limit is looked at once a turn",
    "durable-objects/operations/routing.ts",
    "policy = { ...policy, closedProviders: closedProviders(turn) };",
    "policy = { ...policy };",
  ),
  mutant(
    "the killswitch stops nothing below level 3",
    "durable-objects/operations/routing.ts",
    "turn.memory.killswitch.level > 0 ? null : choose(",
    "turn.memory.killswitch.level > 2 ? null : choose(",
  ),
  mutant(
    "the killswitch leaves running jobs alone",
    "durable-objects/operations/killswitch.ts",
    "for (const job of leased) {",
    'for (const job of leased.filter((one) => one.status !== "running")) {',
  ),
  mutant(
    "a halted worker is given jobs",
    "domain/worker.ts",
    "return worker.isHalted ? haltReasonOf(worker) : null;",
    "return null;",
  ),
  mutant(
    "tags are not asked for",
    "domain/routing-filter.ts",
    "for (const tag of asked.tags) left.intersect(fleet.withTag(tag));",
    "void fleet.withTag;",
  ),
  mutant(
    "a silent worker is given jobs",
    "domain/routing-filter.ts",
    "left.keepIf((slot) => !isSilent(fleet.at(slot), policy), maybeSilent);",
    "void maybeSilent;",
  ),
  mutant(
    "a final job can be cancelled",
    "domain/job.ts",
    'if (isFinal(job.status)) return err({ code: "job_state", id: job.id, status: job.status, command: "cancel" });',
    'if (job.status === "cancelled") return err({ code: "job_state", id: job.id, status: job.status, command: "cancel" });',
  ),
  mutant(
    "a change makes no new version",
    "domain/job.ts",
    "version: job.version + 1,",
    "version: Math.max(2, job.version),",
  ),
  mutant(
    "dispatch takes another than explain",
    "domain/routing.ts",
    "if (isBetter(next, best)) [best",
    "if (!isBetter(next, best)) [best",
  ),
  mutant(
    "nothing wakes the object for its jobs",
    "durable-objects/operations/sweep.ts",
    "dueAt: (turn) => turn.store.jobs.nextDueAt(),",
    "dueAt: (turn) => (turn.store.jobs.nextDueAt() ?? 0) > turn.nowAt ? null : turn.store.jobs.nextDueAt(),",
  ),
  mutant(
    "the outbox wakes nobody",
    "durable-objects/turn-runner.ts",
    "this.#tools.wake.note(row.at + DRAIN_DELAY_MS);",
    "void DRAIN_DELAY_MS;",
  ),
  mutant(
    "an assigned job may stay so for ever",
    "durable-objects/operations/deadline.ts",
    "return expiresAtOf(job, memory.config);",
    "return null;",
  ),
  mutant(
    "nobody looks whether a running job's worker fell silent",
    "durable-objects/operations/deadline.ts",
    "earliest(staleAtOf(job, memory), timeoutAtOf(job, memory.config));",
    "timeoutAtOf(job, memory.config);",
  ),
  mutant(
    "one rate-limit retry too many",
    "domain/failure.ts",
    "job.rateLimitRetries >= limit.maxRetries",
    "job.rateLimitRetries > limit.maxRetries",
  ),
  mutant(
    "a repeated completion is charged again",
    "durable-objects/operations/report.ts",
    'recordSpending(turn, job, "completed", request, cost);\n',
    'recordSpending(turn, job, "completed", request, cost);\n  }\n  if (decided.value.job === job) recordSpending(turn, job, "completed", request, cost);\n  if (decided.value.job !== job) {\n',
  ),
  mutant(
    "spending is not added up",
    "durable-objects/operations/pricing.ts",
    "if (cost.costNanoUsd !== null && cost.costNanoUsd > 0) {",
    "if (cost.costNanoUsd !== null && cost.costNanoUsd > 500_000) {",
  ),
  mutant(
    "history counts a job once for each attempt",
    "migrations/0001_cost_hours.sql",
    "SELECT COUNT(*) = 1",
    "SELECT COUNT(*) >= 1",
  ),
  mutant(
    "outbox numbers start again when it is empty",
    "durable-objects/operations/memory.ts",
    "Math.max(store.outbox.lastSeq(), drainedSeq) + 1",
    "store.outbox.lastSeq() + 1",
  ),
  mutant(
    "a lease that ends frees no room",
    "durable-objects/operations/turn.ts",
    "fleet.addLoad(heldBy, provider, -1);",
    "",
  ),
  mutant(
    "the head of a group stays when it leaves",
    "domain/queue.ts",
    "if (group.head?.id === id) group.head = null;",
    "",
  ),
  mutant(
    "memory survives a turn that broke",
    "durable-objects/turn-runner.ts",
    "    this.#memory = null;\n",
    "    void this.#memory;\n",
  ),
  mutant(
    "a turn that broke is not rolled back",
    "durable-objects/turns.ts",
    "this.#storage.transactionSync(() => {\n        for (const turn of turns) answers.push(turn.run());\n        this.#hooks.close();\n      });",
    "let broken: unknown = null;\n      this.#storage.transactionSync(() => {\n        try { for (const turn of turns) answers.push(turn.run()); } catch (error) { broken = error; }\n        this.#hooks.close();\n      });\n      if (broken !== null) throw broken;",
  ),
  mutant(
    "a worker that became free is not looked at",
    "durable-objects/operations/turn.ts",
    "    this.freedWorkers.add(instance);\n    this.effects",
    "    this.effects",
  ),
  mutant(
    "a worker that reports after a silence is not looked at",
    "durable-objects/operations/report.ts",
    "if (isOffline(member.lastSeenAt, offlineAfterMs, turn.nowAt)) turn.freedWorkers.add(member.worker.instance);",
    "void isOffline;\n  void offlineAfterMs;",
  ),
  mutant("a change of config opens nothing", "durable-objects/operations/config.ts", "turn.isAllOpened = true;", ""),
  mutant(
    "a late batch takes a job back",
    "durable-objects/projection.ts",
    "WHERE excluded.version > jobs.version",
    "WHERE true",
  ),
  mutant(
    "the outbox is emptied before history has it",
    "durable-objects/drain.ts",
    "await apply(projectionOf(store, carried));\n      noteStored?.(carried);\n      await removeUpTo(carried.at(-1)?.seq ?? 0);",
    "const batch = projectionOf(store, carried);\n      await removeUpTo(carried.at(-1)?.seq ?? 0);\n      await apply(batch);",
  ),
  mutant(
    "one outbox row too many is taken for drained",
    "durable-objects/history-writer.ts",
    "store.outbox.removeUpTo(seq);",
    "store.outbox.removeUpTo(seq + 1);",
  ),
  mutant(
    "a due time comes round again",
    "domain/schedule.ts",
    "const advanced: Schedule = { ...schedule, nextRunAt: due.nextRunAt };",
    "const advanced: Schedule = { ...schedule, nextRunAt: schedule.lastRunAt === null ? nextRunAt : due.nextRunAt };",
  ),
  mutant(
    "a revoked key goes on",
    "domain/key.ts",
    'if (key.revokedAt !== null) return err({ code: "key_revoked" });',
    "",
  ),
  mutant(
    "the sockets of a revoked key stay open",
    "durable-objects/operations/keys.ts",
    "turn.effects.endedKeys.set(key.id, live);",
    "turn.effects.endedKeys.delete(key.id);",
  ),
  mutant(
    "the killswitch is in memory alone",
    "durable-objects/operations/killswitch.ts",
    "turn.store.settings.putKillswitch(killswitch);",
    "",
  ),
  mutant(
    "the back-off of a provider is in memory alone",
    "durable-objects/operations/report.ts",
    "turn.store.backoffs.put(provider, until);",
    "",
  ),
  mutant(
    "a pause is in memory alone",
    "durable-objects/operations/workers.ts",
    "turn.putWorker(change(member.worker));",
    "turn.rememberWorker(change(member.worker));",
  ),
  mutant(
    "the alarm does not arm the next",
    "durable-objects/tenant.ts",
    ".then(() => this.#turns.read((turn) => this.#wake.note(nextWakeAt(turn))))",
    ".then(() => undefined)",
  ),
  mutant(
    "a worker whose socket died with the object is given jobs",
    "domain/fleet.ts",
    "worker.viaSocket && !isConnected && !isClaiming;",
    "worker.viaSocket && isConnected && isClaiming && worker.concurrency < 0;",
    "model",
  ),
  mutant(
    "who connects is not looked at for what waits",
    "durable-objects/socket-messages.ts",
    "  turn.freedWorkers.add(instance);\n  const answer",
    "  const answer",
  ),
  mutant(
    "the object does not know whose sockets stayed open while it slept",
    "durable-objects/turn-runner.ts",
    "memory.fleet.noteReach(instance, { isConnected: true });",
    "void memory;",
    "model",
  ),
  mutant(
    "a shorter back-off replaces a longer one",
    "durable-objects/operations/report.ts",
    "Math.max(untilAt, turn.memory.backoffs.get(provider) ?? 0)",
    "untilAt",
  ),
  mutant(
    "a back-off ends a second early",
    "durable-objects/operations/sweep.ts",
    "dueAt: (turn) => turn.store.backoffs.nextEndAt(),\n    run: (turn) => {\n      for (const [provider, untilAt] of turn.memory.backoffs) {\n        if (untilAt <= turn.nowAt) turn.memory.backoffs.delete(provider);\n      }\n      turn.store.backoffs.removeEnded(turn.nowAt);",
    "dueAt: (turn) => (turn.store.backoffs.nextEndAt() ?? Number.POSITIVE_INFINITY) - 1000,\n    run: (turn) => {\n      for (const [provider, untilAt] of turn.memory.backoffs) {\n        if (untilAt <= turn.nowAt + 1000) turn.memory.backoffs.delete(provider);\n      }\n      turn.store.backoffs.removeEnded(turn.nowAt + 1000);",
  ),
  mutant(
    "idempotency keys are forgotten an hour early",
    "durable-objects/operations/idempotency.ts",
    "24 * 3_600_000",
    "23 * 3_600_000",
  ),
  mutant(
    "what a failed attempt spent enforces no budget",
    "durable-objects/operations/report.ts",
    "nanoUsd: cost?.costNanoUsd ?? null, errorCode });\n    enforceBudget(turn);",
    "nanoUsd: cost?.costNanoUsd ?? null, errorCode });",
  ),
  mutant(
    "history never updates what ran a job",
    "durable-objects/projection.ts",
    "worker = excluded.worker, ran_provider = excluded.ran_provider,",
    "worker = excluded.worker,",
  ),
  mutant(
    "history never updates a job's worker",
    "durable-objects/projection.ts",
    "worker = excluded.worker, ran_provider",
    "ran_provider",
  ),
  mutant(
    "a retry does not wait",
    "domain/failure.ts",
    '{ until: nowAt + delayMs, by: "retry" }',
    '{ until: nowAt + delayMs / 2, by: "retry" }',
  ),
  mutant(
    "a provider that asked for time is asked again too soon",
    "domain/backoff.ts",
    "Math.max(grown, askedMs ?? 0)",
    "grown",
  ),
  mutant(
    "a job that loses its workers is tried for ever",
    "domain/lease.ts",
    'job.status === "running" && job.attempts >= maxAttempts',
    'job.status === "running" && job.attempts >= maxAttempts + 1',
  ),
  mutant(
    "a retryable failure is tried once too often",
    "domain/failure.ts",
    "running.attempts < policy.maxAttempts",
    "running.attempts <= policy.maxAttempts",
  ),
  mutant(
    "a running job is reaped early",
    "durable-objects/operations/deadline.ts",
    "return beat.heardAt + thresholdMs;",
    "return beat.heardAt + thresholdMs / 2;",
  ),
  mutant("schedules go on at level 2", "domain/killswitch.ts", "killswitch.level >= 2;", "killswitch.level >= 3;"),
  mutant("jobs are created at level 3", "domain/killswitch.ts", "create: 3,", "create: 4,"),
  mutant(
    "a full halt forgets what a lower level put back",
    "durable-objects/operations/killswitch.ts",
    "if (cancelsWork(killswitch)) cancelPutBack(turn, reason);",
    "if (cancelsWork(killswitch)) turn.store.haltedJobs.clear();",
  ),
  mutant(
    "runs of a schedule overlap",
    "domain/schedule.ts",
    'schedule.overlap === "skip" && openJob',
    'schedule.overlap === "skip" && openJob && schedule.lastRunAt === null',
  ),
  mutant(
    "a younger job of its group goes first",
    "domain/queue.ts",
    "one.orderKey < other.orderKey : one.id",
    "one.orderKey > other.orderKey : one.id",
  ),
  mutant(
    "a provider's budget closes nothing",
    "durable-objects/operations/budget.ts",
    "    if (one !== null) reached.push(one);",
    "    if (one !== null && turn.nowAt < 0) reached.push(one);",
  ),
  mutant(
    "webhooks hear nothing of jobs that end",
    "durable-objects/operations/turn.ts",
    "if (isFinal(job.status) && before?.status !== job.status)",
    'if (isFinal(job.status) && before?.status === "running")',
  ),
  mutant(
    "a delivery that nobody took counts as delivered",
    "domain/webhook.ts",
    "outcome.status >= 200 && outcome.status < 300",
    "outcome.status >= 200 && outcome.status < 600",
  ),
  mutant(
    "a rotated secret goes on",
    "domain/key.ts",
    "graceMs === 0 ? null : nowAt + graceMs",
    "nowAt + graceMs + 60_000",
  ),
  mutant(
    "what history had long ago is taken for what is",
    "durable-objects/operations/find-job.ts",
    "FINAL_GRACE_MS / 2",
    "FINAL_GRACE_MS * 1e6",
  ),
  mutant(
    "a job that came back leaves at once",
    "durable-objects/operations/deadline.ts",
    "Math.max(job.finishedAt, job.updatedAt) + FINAL_GRACE_MS",
    "job.finishedAt + FINAL_GRACE_MS",
  ),
  mutant(
    "what a full halt held back waits for some other alarm",
    "durable-objects/operations/killswitch.ts",
    "turn.due(nextDeliveryAt(turn));",
    "void nextDeliveryAt;",
  ),
];
