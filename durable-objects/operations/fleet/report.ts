// Workers' reports on the jobs they hold: the operations of the worker protocol, each checked by its lease.

import { type JobResource, presentJob } from "../../../contract/jobs/job.ts";
import type { JobReport } from "../../../contract/socket.ts";
import { maxAttemptsOf, storeBeatAfterMs } from "../../../domain/config.ts";
import { isOffline } from "../../../domain/fleet/worker.ts";
import { isClientsFault } from "../../../domain/front-door/front-door.ts";
import { observationOf } from "../../../domain/insight/latency.ts";
import { type FailurePolicy, failJob, lacksModel, type ReportedFailure } from "../../../domain/job/failure.ts";
import { type Decision, isWaitedFor, type Job, type Usage } from "../../../domain/job/job.ts";
import { completeJob, heartbeatJob, recordFirstToken, releaseJob, startJob } from "../../../domain/job/lease.ts";
import { hearFirst, holds, leaseLost } from "../../../domain/job/lease-fence.ts";
import { isElsewhere } from "../../../domain/routing/explanation.ts";
import { chainOf, laterInChain } from "../../../domain/routing/strategy.ts";
import { isFinal } from "../../../domain/words/job-status.ts";
import type { Json } from "../../../domain/words/json.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../../domain/words/result.ts";
import { nextChoice } from "../../placing/next-choice.ts";
import { routePolicy, routeRequest } from "../../placing/route-policy.ts";
import { waitingReason } from "../../placing/waiting-reason.ts";
import { settleUse } from "../../steps/demand.ts";
import { broughtOf, findJob, type JobCommand } from "../../steps/find-job.ts";
import { correctCharge } from "../../steps/flow.ts";
import { type ResultElsewhere, storedResult } from "../../steps/job-files.ts";
import { holdLines, lineWaitMs, noteAnsweredLine } from "../../steps/line-backoff.ts";
import { noteMissingModel, noteOutcome } from "../../steps/outcomes.ts";
import { costOfAttempt, recordSpending, type Spent } from "../../steps/pricing.ts";
import { seesJobsOf } from "../../steps/reading.ts";
import { countAttempt } from "../../turn/counting.ts";
import type { Turn } from "../../turn/turn.ts";
import { enforceBudget } from "../halts/budget.ts";
import { countLate } from "../halts/late-spending.ts";

/** May be repeated after its job has left the object. */
export interface LeaseReport extends JobCommand {
  readonly lease: number;
}

export const present = (turn: Turn, request: LeaseReport, job: Job): JobResource => {
  const brought = broughtOf(turn, request);
  if (brought !== undefined) return presentJob(job, brought, brought.result);
  const payload = turn.store.payloads.find(job.id);
  return presentJob(job, payload, turn.store.payloads.findResult(job.id), waitingReason(turn, job));
};

/** Adds the job to an operation's answer over HTTP; over a socket an acknowledgement is enough. */
export const presented =
  <Request extends LeaseReport>(verb: (turn: Turn, request: Request) => Result<Job, Refusal>) =>
  (turn: Turn, request: Request): Result<JobResource, Refusal> => {
    const done = verb(turn, request);
    return done.ok ? ok(present(turn, request, done.value)) : done;
  };

/** The job of a report. A key with role worker reports only on jobs of its own workers. */
export const findReported = (turn: Turn, request: LeaseReport): Result<Job, Refusal> => {
  const found = findJob(turn, request);
  if (!found.ok) return found;
  if (mayReport(turn, found.value, request.lease)) return found;
  return err({ code: "forbidden", detail: "a worker key reports only on the jobs of its own workers" });
};

/**
 * On the job's last lease only its own worker, whose repeated report is answered with the job. Who held one before learns
 * which lease the job is at, and no other key.
 */
const mayReport = (turn: Turn, job: Job, lease: number): boolean => {
  if (turn.caller.role !== "worker") return true;
  const { assignedWorker, lastWorker, avoidedWorkers } = job;
  const ended = turn.store.unreported.find(job.id, lease)?.worker ?? null;
  const held =
    job.lease === lease
      ? [assignedWorker ?? lastWorker ?? ended]
      : [assignedWorker, lastWorker, ended, ...avoidedWorkers];
  return held.some((holder) => seesJobsOf(turn, holder));
};

/** A report is a sign of life of its worker. */
const noteSign = (turn: Turn, job: Job): void => {
  const member = turn.memory.fleet.get(job.assignedWorker);
  if (member === undefined) return;
  // A worker that had fallen silent can get jobs again.
  const { offlineAfterMs } = turn.memory.config.presence;
  if (isOffline(member.lastSeenAt, offlineAfterMs, turn.nowAt)) turn.freedWorkers.add(member.worker.instance);
  turn.memory.fleet.noteSeen(member.worker.instance, turn.nowAt);
};

/** A report that only its lease decides on; `note`: what it says besides. */
const takeReport = (
  turn: Turn,
  request: LeaseReport,
  decide: (job: Job) => Result<Decision, Refusal>,
  note: (turn: Turn, job: Job) => void = () => undefined,
): Result<Job, Refusal> => {
  const found = findReported(turn, request);
  if (!found.ok) return found;
  const job = found.value;
  const decided = decide(job);
  if (!decided.ok) return decided;
  noteSign(turn, job);
  note(turn, job);
  turn.record(job, decided.value);
  return ok(decided.value.job);
};

export const start = (turn: Turn, request: LeaseReport): Result<Job, Refusal> =>
  takeReport(turn, request, (job) => startJob(job, request.lease, turn.nowAt), noteStarted);

/** A worker that starts a job has its expired leases forgotten. */
const noteStarted = (turn: Turn, job: Job): void => {
  const worker = turn.memory.fleet.get(job.assignedWorker)?.worker;
  if (worker !== undefined && worker.expiredLeases > 0) turn.putWorker({ ...worker, expiredLeases: 0 });
};

export const heartbeat = (turn: Turn, request: LeaseReport & { progress?: Json | undefined }): Result<Job, Refusal> => {
  const storeAfterMs = storeBeatAfterMs(turn.memory.config.jobs.reapStaleAfterMs);
  const { lease, progress } = request;
  return takeReport(
    turn,
    request,
    (job) => heartbeatJob(job, lease, progress, storeAfterMs, turn.nowAt),
    (_turn, job) => turn.noteBeat(job),
  );
};

export const reportFirstToken = (turn: Turn, request: LeaseReport): Result<Job, Refusal> =>
  takeReport(turn, request, (job) => recordFirstToken(job, request.lease, turn.nowAt));

/** Checks who holds the lease, for streams and inputs. */
export const holdLease = (turn: Turn, request: LeaseReport): Result<{ instance: string }, Refusal> => {
  const found = findReported(turn, request);
  if (!found.ok) return found;
  const job = found.value;
  if (holds(job, request.lease) && job.assignedWorker !== null) return ok({ instance: job.assignedWorker });
  return err(leaseLost(job, request.lease));
};

/** A worker may report its first output only with the final report. */
const heardFirst = (turn: Turn, job: Job, { lease, firstTokenMs = null }: LeaseReport & TokenTiming): Decision => {
  if (!holds(job, lease) || firstTokenMs === null || job.firstTokenAt !== null) return { job, events: [] };
  // A job whose start was never reported starts with this report.
  const at = Math.min(turn.nowAt, (job.startedAt ?? turn.nowAt) + firstTokenMs);
  return hearFirst(job, at, turn.nowAt);
};

/** Both changes of one report. */
const afterwards = ({ events }: Decision, decided: Decision): Decision => ({
  ...decided,
  events: [...events, ...decided.events],
});

interface TokenTiming {
  /** From the start of the attempt to its first event with content. */
  readonly firstTokenMs?: number | null;
}

export const complete = (
  turn: Turn,
  request: LeaseReport & { result: Json } & ResultElsewhere & Spent & TokenTiming,
): Result<Job, Refusal> => {
  const found = findReported(turn, request);
  if (!found.ok) return found;
  const job = found.value;
  const stored = storedResult(turn, job, request);
  if (!stored.ok) return stored;
  const cost = costOfAttempt(turn, job, request);
  const { result, usage, model, streamedBytes = null } = request;
  const outcome = { result, usage, model, costNanoUsd: cost.costNanoUsd, resultFile: stored.value, streamedBytes };
  const heard = heardFirst(turn, job, request);
  const decided = completeJob(heard.job, request.lease, outcome, turn.nowAt);
  if (!decided.ok) {
    countLate(turn, job, request, decided.error);
    return decided;
  }
  if (decided.value.job !== job) {
    noteSign(turn, job);
    recordSpending(turn, job, "completed", request, cost);
    correctCharge(turn, job, request.usage);
    settleUse(turn, job, request.usage, true);
    turn.record(job, afterwards(heard, decided.value));
    noteOutcome(turn, job, { outcome: "completed", code: null });
    if (job.batch !== null) noteAnsweredLine(turn, job.workerProvider ?? "");
    countAttempt(turn.memory, job, { model, outcome: "completed", errorCode: null }, turn.nowAt);
    measure(turn, decided.value.job, request.usage);
    enforceBudget(turn);
  }
  return ok(decided.value.job);
};

/** Counts the cost of an attempt that was taken back, and changes nothing else. */
export const spent = (turn: Turn, request: LeaseReport & Spent): Result<Job, Refusal> => {
  const found = findReported(turn, request);
  if (!found.ok) return found;
  const job = found.value;
  if (!holds(job, request.lease)) countLate(turn, job, request, leaseLost(job, request.lease));
  return found;
};

/**
 * The provider refused the coordinator's key, or its account has no money: the job goes to another worker that may have
 * it, at no cost; without one it fails as reported.
 */
export const leftToOthers = (turn: Turn, report: JobReport, reason: string): JobReport => {
  const { id, job_id, lease } = report;
  const job = report.type === "job.failed" ? turn.store.jobs.find(job_id) : null;
  if (job === null || job.firstTokenAt !== null || job.lease !== lease || !isElsewhereNow(turn, job)) return report;
  return { type: "job.released", id, job_id, lease, reason };
};

export const fail = (
  turn: Turn,
  request: LeaseReport & ReportedFailure & Spent & TokenTiming,
): Result<Job, Refusal> => {
  const found = findReported(turn, request);
  if (!found.ok) return found;
  const job = found.value;
  // A failed attempt that reports neither tokens nor cost spent nothing.
  const hasSpent = request.usage !== null || request.costUsd !== null;
  const cost = hasSpent ? costOfAttempt(turn, job, request) : null;
  const report = { ...request, costNanoUsd: cost?.costNanoUsd ?? null };
  const heard = heardFirst(turn, job, request);
  const policy = failurePolicy(turn, job, request);
  const failed = failJob(heard.job, request.lease, report, policy, turn.nowAt);
  const isForOthers = !failed.ok || failed.value.job === job || (lacksModel(job, request.error) && policy.isElsewhere);
  const next = isForOthers ? null : nextChoice(turn, heard.job, request.error);
  const decided = failed.ok && next !== null ? ok({ ...failed.value, ...next }) : failed;
  if (!decided.ok) {
    countLate(turn, job, request, decided.error);
    return decided;
  }
  if (decided.value.job !== job) {
    noteSign(turn, job);
    correctCharge(turn, job, request.usage);
    settleUse(turn, job, request.usage, isFinal(decided.value.job.status));
    if (cost !== null) recordSpending(turn, job, "failed", request, cost);
    else turn.noteUncounted(heard.job);
    backOff(turn, job, decided.value.backoffUntilAt);
    turn.record(job, afterwards(heard, decided.value));
    if (lacksModel(job, request.error)) noteMissingModel(turn, job);
    // Status 429 means a rate limit, whatever code the worker gives.
    const errorCode = decided.value.job.error?.code ?? request.error.code;
    noteOutcome(turn, job, {
      outcome: "failed",
      code: errorCode,
      ...(isClientsFault(job, request.error) ? { isClientsFault: true } : {}),
    });
    countAttempt(turn.memory, job, { model: request.model, outcome: "failed", errorCode }, turn.nowAt);
    enforceBudget(turn);
  }
  return ok(decided.value.job);
};

const failurePolicy = (turn: Turn, job: Job, { error, retryAfterMs }: ReportedFailure): FailurePolicy => {
  const { config, fleet } = turn.memory;
  const provider = job.workerProvider ?? "";
  const later = laterInChain(chainOf(config.routing), provider);
  const fallbackProviders = later.filter((next) => !job.excludedProviders.includes(next));
  const keepsClient = retryAfterMs !== null && isWaitedFor(job);
  return {
    maxAttempts: maxAttemptsOf(config, job),
    retry: config.jobs.retry,
    rateLimit: config.providers.get(provider)?.rateLimit ?? null,
    lineWaitMs: job.batch === null ? null : lineWaitMs(turn, provider),
    fallbackProviders,
    unservedProviders: fallbackProviders.filter((next) => fleet.offers.ofProvider(next) === undefined),
    isElsewhere: (lacksModel(job, error) || keepsClient) && isElsewhereNow(turn, job),
    jitter: turn.random(),
  };
};

const isElsewhereNow = (turn: Turn, job: Job): boolean =>
  isElsewhere(turn.memory.fleet, routeRequest(turn, job), routePolicy(turn), job.assignedWorker ?? "");

/** The provider gets no new job until then, without `rate_limit` no new line; the later of two ends counts. */
const backOff = (turn: Turn, job: Job, untilAt: number | null): void => {
  const { batch, workerProvider: provider } = job;
  if (provider === null || untilAt === null) return;
  if (batch !== null) holdLines(turn, provider, untilAt);
  if (turn.memory.config.providers.get(provider)?.rateLimit == null) return;
  const until = Math.max(untilAt, turn.memory.backoffs.get(provider) ?? 0);
  turn.memory.backoffs.set(provider, until);
  turn.store.backoffs.put(provider, until);
  turn.due(until);
};

/** How long a completed attempt waited and took. */
const measure = (turn: Turn, job: Job, usage: Usage | null): void => {
  const { latencies, tallies } = turn.memory.counters;
  latencies.note(turn.store.latency, job, usage, turn.nowAt);
  tallies.measure(job.ranProvider ?? "", job.ranModel ?? "", observationOf(job, usage));
};

export const release = (turn: Turn, request: LeaseReport & { reason: string }): Result<Job, Refusal> =>
  takeReport(turn, request, (job) => releaseJob(job, request.lease, request.reason, turn.nowAt));
