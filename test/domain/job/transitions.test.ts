// The transition table of the contract: every state, every command. A new status or a new rule of a job in domain/job
// does not compile here until it has its row or column; a row of the wrong length fails.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type * as failureModule from "../../../domain/job/failure.ts";
import { failJob } from "../../../domain/job/failure.ts";
import type * as jobModule from "../../../domain/job/job.ts";
import { type Decision, isLeased, type Job } from "../../../domain/job/job.ts";
import type * as commandModule from "../../../domain/job/job-command.ts";
import { cancelJob, patchJob, retryJob } from "../../../domain/job/job-command.ts";
import type * as leaseModule from "../../../domain/job/lease.ts";
import {
  addOutput,
  assignJob,
  completeJob,
  expireLease,
  failBegunAnswer,
  failForFile,
  failStream,
  haltJob,
  heardAgain,
  heartbeatJob,
  loseJob,
  reapJob,
  recordFirstToken,
  releaseJob,
  startJob,
  timeOutJob,
} from "../../../domain/job/lease.ts";
import { groupKeyOf } from "../../../domain/job/queue.ts";
import type * as queuePlaceModule from "../../../domain/job/queue-place.ts";
import { makeReady } from "../../../domain/job/queue-place.ts";
import { cancelsWork, engage, KILLSWITCH_OFF } from "../../../domain/killswitch.ts";
import { JOB_EVENT_TYPES, type JobEventType } from "../../../domain/words/event.ts";
import { isFinal, JOB_STATUSES, type JobStatus } from "../../../domain/words/job-status.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import { ok, type Result } from "../../../domain/words/result.ts";
import {
  assignedJob,
  completedJob,
  decided,
  delayedJob,
  failedJob,
  failure,
  MINUTE_MS,
  NO_POLICY,
  NOON,
  pendingJob,
  QUOTA,
  RATE_LIMIT,
  RATE_LIMITED,
  RESULT,
  RETRYABLE,
  runningJob,
  WORKER,
} from "./sample-jobs.ts";

type Outcome = Result<Decision, Refusal>;
type State = JobStatus | "delayed";

/** Exported functions that take a job and decide about it; the table must name them all. */
type RuleOf<Module> = {
  [Name in keyof Module]: Module[Name] extends (job: Job, ...rest: never[]) => Decision | Outcome ? Name : never;
}[keyof Module];
type Rule =
  | RuleOf<typeof jobModule>
  | RuleOf<typeof queuePlaceModule>
  | RuleOf<typeof commandModule>
  | RuleOf<typeof leaseModule>
  | RuleOf<typeof failureModule>;

const SAMPLES = {
  pending: pendingJob,
  delayed: delayedJob,
  assigned: assignedJob,
  running: runningJob,
  completed: completedJob,
  failed: failedJob,
  cancelled: () => decided(cancelJob(runningJob(), NOON)).job,
} satisfies Record<State, () => Job>;
const STATES = Object.keys(SAMPLES) as State[];
const LATER = NOON + MINUTE_MS;

const stateOf = (job: Job): State => (job.status === "pending" && job.readyAt !== null ? "delayed" : job.status);

interface Command {
  readonly run: (job: Job, lease: number, nowAt: number) => Outcome;
  /**
   * How the service itself finds the jobs for this rule, by their records. Absent if a client or worker names the job,
   * so any state may occur.
   */
  readonly reaches?: (job: Job) => boolean;
  readonly isFenced?: true;
}

const asked = (run: (job: Job, nowAt: number) => Outcome): Command => ({
  run: (job, _lease, nowAt) => run(job, nowAt),
});
const reported = (run: Command["run"]): Command => ({ run, isFenced: true });
const swept = (reaches: (job: Job) => boolean, run: (job: Job, nowAt: number) => Decision): Command => ({
  run: (job, _lease, nowAt) => ok(run(job, nowAt)),
  reaches,
});

const fails = (error: object, policy: object = {}): Command =>
  reported((job, lease, nowAt) => failJob(job, lease, failure(error), { ...NO_POLICY, ...policy }, nowAt));

/** The killswitch takes each lease back, or cancels its job, depending on the level. */
const haltAt = (level: number): Command => {
  const killswitch = engage(KILLSWITCH_OFF, { level, reason: "drill", by: "ops" }, NOON);
  return {
    reaches: isLeased,
    run: (job, _lease, nowAt) =>
      cancelsWork(killswitch) ? cancelJob(job, nowAt, "drill") : ok(haltJob(job, level, nowAt)),
  };
};

const waitsToBeReady = (job: Job): boolean => job.readyAt !== null;
const waitsInQueue = (job: Job): boolean => job.orderKey !== null;
const waitsForStart = (job: Job): boolean => isLeased(job) && job.startedAt === null;
const isBeingRun = (job: Job): boolean => isLeased(job) && job.startedAt !== null;
const isOpen = (job: Job): boolean => !isFinal(job.status);
const CHAIN = { fallbackProviders: ["anthropic"] };

const OUTPUT = { id: "file-2", name: "out.png", bytes: 3, contentType: "image/png" };

const COMMANDS = {
  assignJob: { assign: swept(waitsInQueue, (job, nowAt) => assignJob(job, WORKER, null, nowAt)) },
  makeReady: { "become ready": swept(waitsToBeReady, (job) => makeReady(job)) },
  startJob: { start: reported((job, lease, nowAt) => startJob(job, lease, nowAt)) },
  heartbeatJob: {
    heartbeat: reported((job, lease, nowAt) => heartbeatJob(job, lease, undefined, 2 * MINUTE_MS, nowAt)),
    "heartbeat, stored": reported((job, lease, nowAt) => heartbeatJob(job, lease, undefined, 1, nowAt)),
    "heartbeat, progress": reported((job, lease, nowAt) => heartbeatJob(job, lease, { done: 0.5 }, 1, nowAt)),
  },
  heardAgain: {
    "clock set back": swept(isLeased, (job, nowAt) =>
      heardAgain({ ...job, startedAt: job.startedAt && nowAt + 1 }, nowAt),
    ),
  },
  recordFirstToken: { "first word": reported((job, lease, nowAt) => recordFirstToken(job, lease, nowAt)) },
  completeJob: { complete: reported((job, lease, nowAt) => completeJob(job, lease, RESULT, nowAt)) },
  failJob: {
    fail: fails({}),
    "fail, retryable": fails(RETRYABLE),
    "fail, retryable, spent": fails(RETRYABLE, { maxAttempts: 1 }),
    "fail, retryable, chain": fails(RETRYABLE, CHAIN),
    "fail, rate limited": fails(RATE_LIMITED),
    "fail, rate limited, config": fails(RATE_LIMITED, { rateLimit: RATE_LIMIT }),
    "fail, rate limited, spent": fails(RATE_LIMITED, { rateLimit: { ...RATE_LIMIT, maxRetries: 0 } }),
    "fail, rate limited, chain": fails(RATE_LIMITED, CHAIN),
    "fail, quota": fails(QUOTA, { rateLimit: RATE_LIMIT }),
    "fail, quota, chain": fails(QUOTA, CHAIN),
  },
  releaseJob: { release: reported((job, lease, nowAt) => releaseJob(job, lease, "shutting down", nowAt)) },
  cancelJob: { cancel: asked((job, nowAt) => cancelJob(job, nowAt)), "halt at level 4": haltAt(4) },
  retryJob: {
    retry: asked((job, nowAt) => retryJob(job, false, nowAt)),
    "retry, stuck": asked((job, nowAt) => retryJob(job, true, nowAt)),
  },
  patchJob: { patch: asked((job, nowAt) => patchJob(job, { tags: ["b", "a"], priority: "high" }, nowAt)) },
  expireLease: { "lease expires": swept(waitsForStart, (job, nowAt) => expireLease(job, nowAt)) },
  reapJob: {
    reap: swept(isBeingRun, (job, nowAt) => reapJob(job, 5, nowAt)),
    "reap, exhausted": swept(isBeingRun, (job, nowAt) => reapJob(job, 1, nowAt)),
  },
  timeOutJob: { "time out": swept(isBeingRun, (job, nowAt) => timeOutJob(job, 900_000, nowAt)) },
  haltJob: { "halt at level 1": haltAt(1), "halt at level 2": haltAt(2), "halt at level 3": haltAt(3) },
  loseJob: {
    lose: swept(isLeased, (job, nowAt) => loseJob(job, 5, nowAt)),
    "lose, exhausted": swept(isLeased, (job, nowAt) => loseJob(job, 1, nowAt)),
  },
  failBegunAnswer: { "heard, then left": swept(isOpen, (job, nowAt) => failBegunAnswer(job, nowAt)) },
  addOutput: { "add an output": reported((job, lease, nowAt) => addOutput(job, lease, OUTPUT, nowAt)) },
  failForFile: { "a file is gone": swept(waitsInQueue, (job, nowAt) => failForFile(job, "file-1", nowAt)) },
  failStream: { "stream lost": swept(isOpen, (job, nowAt) => failStream(job, nowAt)) },
} satisfies Record<Rule, Record<string, Command>>;

type CommandName = { [Name in Rule]: keyof (typeof COMMANDS)[Name] }[Rule];
const COMMAND = Object.assign({}, ...Object.values(COMMANDS)) as Record<CommandName, Command>;

/**
 * A cell is the next state, the refusal's code, `same` (answered, nothing changed), `kept` (this state, reported or
 * stored again) or `-` (the service never does this to a job in this state). The last column is the same command
 * repeated at once, after it was accepted.
 */
const TABLE: Record<CommandName, string> = {
  //                             pending    delayed    assigned  running    completed     failed     cancelled   again
  assign: "                      assigned   -          -         -          -             -          -           -",
  "become ready": "              -          pending    -         -          -             -          -           -",
  start: "                       lease_lost lease_lost running   same       lease_lost    lease_lost lease_lost  same",
  heartbeat: "                   lease_lost lease_lost running   same       lease_lost    lease_lost lease_lost  same",
  "heartbeat, stored": "         lease_lost lease_lost running   kept       lease_lost    lease_lost lease_lost  same",
  "heartbeat, progress": "       lease_lost lease_lost running   kept       lease_lost    lease_lost lease_lost  kept",
  "clock set back": "            -          -          kept      kept       -             -          -           kept",
  "first word": "                lease_lost lease_lost running   kept       lease_lost    lease_lost lease_lost  same",
  complete: "                    lease_lost lease_lost completed completed  same          lease_lost lease_lost  same",
  fail: "                        lease_lost lease_lost failed    failed     lease_lost    same       lease_lost  same",
  "fail, retryable": "           lease_lost lease_lost delayed   delayed    lease_lost    same       lease_lost  same",
  "fail, retryable, spent": "    lease_lost lease_lost failed    failed     lease_lost    same       lease_lost  same",
  "fail, retryable, chain": "    lease_lost lease_lost pending   pending    lease_lost    same       lease_lost  same",
  "fail, rate limited": "        lease_lost lease_lost failed    failed     lease_lost    same       lease_lost  same",
  "fail, rate limited, config": "lease_lost lease_lost delayed   delayed    lease_lost    same       lease_lost  same",
  "fail, rate limited, spent": " lease_lost lease_lost failed    failed     lease_lost    same       lease_lost  same",
  "fail, rate limited, chain": " lease_lost lease_lost pending   pending    lease_lost    same       lease_lost  same",
  "fail, quota": "               lease_lost lease_lost failed    failed     lease_lost    same       lease_lost  same",
  "fail, quota, chain": "        lease_lost lease_lost pending   pending    lease_lost    same       lease_lost  same",
  release: "                     lease_lost lease_lost pending   pending    lease_lost    lease_lost lease_lost  same",
  cancel:
    "                      cancelled  cancelled  cancelled cancelled  job_state     job_state  job_state   job_state",
  retry:
    "                       job_state  job_state  job_state job_state  job_state     pending    job_state   job_state",
  "retry, stuck":
    "              job_state  job_state  pending   pending    job_state     pending    job_state   job_state",
  patch: "                       kept       kept       kept      kept       job_completed kept       kept        kept",
  "lease expires": "             -          -          pending   -          -             -          -           -",
  reap: "                        -          -          -         pending    -             -          -           -",
  "reap, exhausted": "           -          -          -         failed     -             -          -           -",
  "time out": "                  -          -          -         failed     -             -          -           -",
  "halt at level 1": "           -          -          pending   pending    -             -          -           -",
  "halt at level 2": "           -          -          pending   pending    -             -          -           -",
  "halt at level 3": "           -          -          pending   pending    -             -          -           -",
  "halt at level 4": "           -          -          cancelled cancelled  -             -          -           -",
  lose: "                        -          -          pending   pending    -             -          -           -",
  "lose, exhausted": "           -          -          pending   failed     -             -          -           -",
  "heard, then left": "          failed     failed     failed    failed     -             -          -           -",
  "add an output": "             lease_lost lease_lost running   kept       lease_lost    lease_lost lease_lost  same",
  "a file is gone": "            failed     -          -         -          -             -          -           -",
  "stream lost": "               failed     failed     failed    failed     -             -          -           -",
};

const names = Object.keys(TABLE) as CommandName[];
const rowOf = (name: CommandName): string[] => TABLE[name].trim().split(/\s+/);
const cells = names.flatMap((name) => STATES.map((state, at) => ({ state, name, expected: rowOf(name)[at] ?? "?" })));

/** The cell for this outcome. */
const readAs = (before: Job, outcome: Outcome): string => {
  if (!outcome.ok) return outcome.error.code;
  const { job } = outcome.value;
  if (job === before) return "same";
  return stateOf(job) === stateOf(before) ? "kept" : stateOf(job);
};

/** What is true of every job in every state. */
const expectWellFormed = (job: Job): void => {
  expect(job.groupKey).toBe(groupKeyOf(job));
  expect(job.orderKey !== null).toBe(stateOf(job) === "pending");
  if (job.readyAt !== null) expect(job.status).toBe("pending");
  expect(job.finishedAt !== null).toBe(isFinal(job.status));
  if (job.status === "pending")
    expect([job.assignedWorker, job.workerProvider, job.assignedAt]).toEqual([null, null, null]);
  if (isLeased(job)) expect([job.assignedWorker, job.workerProvider, job.assignedAt]).not.toContain(null);
  if (job.status === "pending") expect([job.startedAt, job.heartbeatAt, job.progress]).toEqual([null, null, null]);
  if (job.status === "assigned") expect(job.startedAt).toBeNull();
  expect(job.delayedBy !== null).toBe(job.readyAt !== null);
  if (job.status === "running") expect([job.startedAt, job.heartbeatAt]).not.toContain(null);
  expect(job.attempts).toBeGreaterThanOrEqual(0);
  if (job.status === "running") expect(job.attempts).toBeGreaterThanOrEqual(1);
  expect(job.attempts).toBeLessThanOrEqual(job.lease);
};

/** A step forward: versions and leases only grow, and only an assignment makes a lease. */
const expectForward = (before: Job, { job, events }: Decision, nowAt: number): void => {
  expect(job.version).toBeGreaterThanOrEqual(before.version);
  expect(job.lease).toBe(before.lease + (job.status === "assigned" && before.status === "pending" ? 1 : 0));
  // Each event is stored under its own version.
  expect(events.length).toBeLessThanOrEqual(job.version - before.version);
  expect(job.version > before.version).toBe(events.length > 0);
  if (job.version > before.version) expect(job.updatedAt).toBe(nowAt);
  for (const event of events) expect(event).toMatchObject({ jobId: job.id, at: nowAt, lease: job.lease });
  // The timeline entry names the worker that held the job, however the job left it.
  if (isLeased(before)) for (const event of events) expect(event.worker).toBe(before.assignedWorker);
};

describe("the table", () => {
  test("has a column for every status, one more for a pending job that is not to run yet, and one for repeats", () => {
    expect([...STATES].sort()).toEqual([...JOB_STATUSES, "delayed"].sort());
    for (const name of names) expect([name, rowOf(name).length]).toEqual([name, STATES.length + 1]);
  });

  test("has a row for every command", () => {
    expect([...names].sort()).toEqual(Object.keys(COMMAND).sort());
    const variants = Object.values(COMMANDS).reduce((sum, group) => sum + Object.keys(group).length, 0);
    expect(names.length).toBe(variants);
  });

  test("starts from jobs that are in the states they stand for", () => {
    for (const state of STATES) {
      const job = SAMPLES[state]();
      expect(stateOf(job)).toBe(state);
      expectWellFormed(job);
    }
  });

  test("tells of everything that can happen to a job after its creation", () => {
    const told = new Set<JobEventType>(["job.created"]);
    for (const { state, name, expected } of cells) {
      if (expected === "-") continue;
      const job = SAMPLES[state]();
      const outcome = COMMAND[name].run(job, job.lease, LATER);
      if (outcome.ok) for (const event of outcome.value.events) told.add(event.type);
    }
    expect([...told].sort()).toEqual([...JOB_EVENT_TYPES].sort());
  });
});

describe("every state × every command", () => {
  test.each(cells)("$state: $name → $expected", ({ state, name, expected }) => {
    const job = SAMPLES[state]();
    const command = COMMAND[name];
    if (command.reaches !== undefined) expect(command.reaches(job)).toBe(expected !== "-");
    if (expected === "-") return;
    const outcome = command.run(job, job.lease, LATER);
    expect(readAs(job, outcome)).toBe(expected);
    if (!outcome.ok) return;
    expectForward(job, outcome.value, LATER);
    expectWellFormed(outcome.value.job);
  });

  const taken = cells.filter(({ expected }) => !["-", "same"].includes(expected) && !expected.includes("_"));
  test.each(taken)("$state: $name, at once again", ({ state, name }) => {
    const before = SAMPLES[state]();
    const command = COMMAND[name];
    const job = decided(command.run(before, before.lease, LATER)).job;
    const again = rowOf(name)[STATES.length] ?? "?";
    if (again === "-") {
      expect(command.reaches?.(job)).toBe(false);
      return;
    }
    const outcome = command.run(job, before.lease, LATER);
    expect(readAs(job, outcome)).toBe(again);
    if (outcome.ok) expectForward(job, outcome.value, LATER);
  });

  const fenced = cells.filter(({ name }) => COMMAND[name].isFenced);
  test.each(fenced)("$state: $name with a stale lease is refused and changes nothing", ({ state, name }) => {
    const job = SAMPLES[state]();
    const copy = structuredClone(job);
    for (const lease of [job.lease - 1, job.lease + 1]) {
      expect(COMMAND[name].run(job, lease, LATER)).toEqual({
        ok: false,
        error: { code: "lease_lost", id: "job-1", lease, current: job.lease, status: job.status },
      });
    }
    expect(job).toEqual(copy);
  });

  test("a refusal says what the state is and what was asked of it", () => {
    const job = completedJob();
    const refusal = (command: string) => ({
      ok: false,
      error: { code: "job_state", id: "job-1", status: "completed", command },
    });
    expect(cancelJob(job, LATER)).toEqual(refusal("cancel"));
    expect(retryJob(job, true, LATER)).toEqual(refusal("retry"));
    expect(patchJob(job, {}, LATER)).toEqual({ ok: false, error: { code: "job_completed", id: "job-1" } });
  });
});

describe("whatever happens to a job, in whatever order", () => {
  const step = fc.record({
    name: fc.constantFrom(...names),
    leaseBack: fc.constantFrom(0, 0, 0, 1),
    tookMs: fc.integer({ min: 0, max: 20 * MINUTE_MS }),
  });
  const start = fc.record({
    tags: fc.subarray(["gpu", "eu", "a100"]),
    provider: fc.constantFrom(null, "openai"),
    runAt: fc.constantFrom(null, NOON - MINUTE_MS, NOON + MINUTE_MS),
  });

  test("its versions and leases only grow, a final state is left only by retrying a failure, its record stays whole", () => {
    fc.assert(
      fc.property(start, fc.array(step, { maxLength: 40, size: "max" }), (given, steps) => {
        let job = pendingJob(given);
        let nowAt = NOON;
        for (const { name, leaseBack, tookMs } of steps) {
          nowAt += tookMs;
          const command = COMMAND[name];
          if (command.reaches !== undefined && !command.reaches(job)) continue;
          const outcome = command.run(job, job.lease - leaseBack, nowAt);
          if (!outcome.ok) continue;
          if (command.isFenced && leaseBack > 0) expect.fail(`${name} was taken with lease ${job.lease - leaseBack}`);
          expectForward(job, outcome.value, nowAt);
          const next = outcome.value.job;
          if (isFinal(job.status) && next.status !== job.status) {
            expect([job.status, next.status, name.startsWith("retry")]).toEqual(["failed", "pending", true]);
          }
          expectWellFormed(next);
          job = next;
        }
      }),
      { numRuns: 500 },
    );
  });
});
