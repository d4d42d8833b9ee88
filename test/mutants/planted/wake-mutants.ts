// Defects in alarms, sockets, presence, and what outlives a sleep or a crash.

import { type Mutant, mutant } from "./mutant.ts";

export const WAKE_MUTANTS: readonly Mutant[] = [
  mutant(
    "a halted worker is given jobs",
    "domain/fleet/worker.ts",
    "return isHalted ? HALT_PAUSE : null;",
    "return null;",
  ),
  mutant(
    "a silent worker is given jobs",
    "domain/routing/lasting-filters.ts",
    "left.keepIf((slot) => !isSilent(fleet.at(slot), policy), maybeSilent);",
    "void maybeSilent;",
  ),
  mutant(
    "nothing wakes the object for its jobs",
    "durable-objects/sweep/sweep.ts",
    "dueAt: (turn) => turn.store.jobs.nextDueAt(),",
    "dueAt: (turn) => (turn.store.jobs.nextDueAt() ?? 0) > turn.nowAt ? null : turn.store.jobs.nextDueAt(),",
  ),
  mutant(
    "memory survives a turn that broke",
    "durable-objects/calls/turn-runner.ts",
    "    this.#memory = null;\n",
    "    void this.#memory;\n",
  ),
  mutant(
    "a turn that broke is not rolled back",
    "durable-objects/turn/turns.ts",
    "this.#storage.transactionSync(() => {\n        for (const turn of turns) answers.push(turn.run());\n        this.#hooks.close();\n      });",
    "let broken: unknown = null;\n      this.#storage.transactionSync(() => {\n        try { for (const turn of turns) answers.push(turn.run()); } catch (error) { broken = error; }\n        this.#hooks.close();\n      });\n      if (broken !== null) throw broken;",
  ),
  mutant(
    "a worker that became free is not looked at",
    "durable-objects/turn/job-place.ts",
    "  turn.freedWorkers.add(instance);\n  turn.effects",
    "  turn.effects",
  ),
  mutant(
    "a worker that reports after a silence is not looked at",
    "durable-objects/operations/fleet/report.ts",
    "if (isOffline(member.lastSeenAt, offlineAfterMs, turn.nowAt)) turn.freedWorkers.add(member.worker.instance);",
    "void isOffline;\n  void offlineAfterMs;",
  ),
  mutant(
    "a due time comes round again",
    "domain/schedule/schedule.ts",
    "const advanced: Schedule = { ...schedule, nextRunAt: due.nextRunAt };",
    "const advanced: Schedule = { ...schedule, nextRunAt: schedule.lastRunAt === null ? nextRunAt : due.nextRunAt };",
  ),
  mutant(
    "the sockets of a revoked key stay open",
    "durable-objects/operations/access/keys.ts",
    "turn.effects.endedKeys.set(key.id, live);",
    "turn.effects.endedKeys.delete(key.id);",
  ),
  mutant(
    "the killswitch is in memory alone",
    "durable-objects/operations/halts/killswitch.ts",
    "turn.store.settings.putKillswitch(killswitch);",
    "",
  ),
  mutant(
    "the back-off of a provider is in memory alone",
    "durable-objects/operations/fleet/final-report.ts",
    "turn.store.backoffs.put(provider, until);",
    "",
  ),
  mutant(
    "a pause is in memory alone",
    "durable-objects/operations/fleet/workers.ts",
    "turn.putWorker(change(found.value.worker));",
    "turn.rememberWorker(change(found.value.worker));",
  ),
  mutant(
    "the alarm does not arm the next",
    "durable-objects/tenant-object.ts",
    "wake.end(await this.#sweep());",
    "await this.#sweep();",
  ),
  mutant(
    "an alarm that is set during the alarm's work replaces the one that comes again",
    "durable-objects/turn/wake.ts",
    "if (this.#armedAt === knownAt) this.#armedAt = setAt;\n    this.#isFiring = this.#armedAt === null;",
    "void setAt;\n    void knownAt;\n    this.#armedAt = null;",
  ),
  mutant(
    "a socket that opens counts only once it is accepted",
    "durable-objects/calls/turn-runner.ts",
    "(memory.sockets.opening.has(instance) ? nowAt : null)",
    "null",
  ),
  mutant(
    "a worker whose socket died with the object is given jobs",
    "domain/fleet/fleet.ts",
    "(worker.viaSocket && !isClaiming)",
    "(worker.viaSocket && isClaiming && worker.concurrency < 0)",
    ["test/tenant/sockets/ended-sockets.workers.test.ts"],
  ),
  mutant(
    "who connects is not looked at for what waits",
    "durable-objects/sockets/socket-messages.ts",
    "  turn.freedWorkers.add(instance);\n  const answer",
    "  const answer",
  ),
  mutant(
    "the object does not know whose sockets stayed open while it slept",
    "durable-objects/calls/turn-runner.ts",
    "memory.fleet.noteReach(instance, { isConnected: true });",
    "void memory;",
    ["test/tenant/sockets/worker-socket.workers.test.ts"],
  ),
  mutant(
    "what a full halt held back waits for some other alarm",
    "durable-objects/operations/halts/killswitch.ts",
    "turn.due(nextDeliveryAt(turn));",
    "void nextDeliveryAt;",
  ),
  mutant(
    "viewers are not told of jobs that change",
    "durable-objects/sockets/live.ts",
    "for (const id of effects.changedJobs) jobs.add(id);",
    "void jobs;",
  ),
  mutant(
    "the messages of viewers are numbered by the frame",
    "durable-objects/sockets/live.ts",
    "seq: attachment.seq + texts.length }",
    "seq: attachment.seq + 1 }",
  ),
  mutant(
    "nobody looks whether a running job's worker fell silent",
    "durable-objects/turn/deadline.ts",
    "earliest([staleAtOf(job, memory), timeoutAtOf",
    "earliest([timeoutAtOf",
  ),
];
