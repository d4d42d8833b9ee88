// Workers' reports that end an attempt: completed, failed, or what one spent that had ended without a report.

import type { JobReport } from "../../../contract/socket.ts";
import { maxAttemptsOf } from "../../../domain/config.ts";
import type { Outcome } from "../../../domain/fleet/worker.ts";
import { isClientsFault } from "../../../domain/front-door/front-door.ts";
import { observationOf } from "../../../domain/insight/latency.ts";
import { type FailurePolicy, failJob, lacksModel, type ReportedFailure } from "../../../domain/job/failure.ts";
import { type Decision, isWaitedFor, type Job, type Usage } from "../../../domain/job/job.ts";
import { completeJob } from "../../../domain/job/lease.ts";
import { hearFirst, holds, leaseLost } from "../../../domain/job/lease-fence.ts";
import type { AttemptCost } from "../../../domain/money/cost.ts";
import { isElsewhere } from "../../../domain/routing/explanation.ts";
import { chainOf, laterInChain } from "../../../domain/routing/strategy.ts";
import { isFinal } from "../../../domain/words/job-status.ts";
import type { Json } from "../../../domain/words/json.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import { ok, type Result } from "../../../domain/words/result.ts";
import { nextChoice } from "../../placing/next-choice.ts";
import { routePolicy, routeRequest } from "../../placing/route-policy.ts";
import { settleUse } from "../../steps/demand.ts";
import { correctCharge } from "../../steps/flow.ts";
import { type ResultElsewhere, storedResult } from "../../steps/job-files.ts";
import { holdLines, lineWaitMs, noteAnsweredLine } from "../../steps/line-backoff.ts";
import { noteMissingModel, noteOutcome } from "../../steps/outcomes.ts";
import { costOfAttempt, recordSpending, type Spent } from "../../steps/pricing.ts";
import { countAttempt } from "../../turn/counting.ts";
import type { Turn } from "../../turn/turn.ts";
import { noteUncounted } from "../../turn/uncounted.ts";
import { enforceBudget } from "../halts/budget.ts";
import { countLate } from "../halts/late-spending.ts";
import { findReported, type LeaseReport, noteSign } from "./report.ts";

interface FinalReport extends LeaseReport, Spent {
  /** From the start of the attempt to its first event with content. */
  readonly firstTokenMs?: number | null;
}

/** A worker may report its first output only with the final report. */
const heardFirst = (turn: Turn, job: Job, { lease, firstTokenMs = null }: FinalReport): Decision => {
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

interface AttemptEnd {
  readonly report: FinalReport;
  readonly outcome: Outcome["outcome"];
  /** Null: it spent nothing. */
  readonly cost: AttemptCost | null;
  /** The job with its first output. */
  readonly heard: Decision;
  /** Notes what only such an outcome shows, and tells what its worker is judged by. */
  readonly note: (after: Job) => Pick<Outcome, "code" | "isClientsFault">;
}

/** What follows from the end of an attempt. A repeated report changes nothing, a late one counts what was spent. */
const endAttempt = (
  turn: Turn,
  job: Job,
  { report, outcome, cost, heard, note }: AttemptEnd,
  decided: Result<Decision & { readonly backoffUntilAt?: number | null }, Refusal>,
): Result<Job, Refusal> => {
  if (!decided.ok) {
    countLate(turn, job, report, decided.error);
    return decided;
  }
  const { job: after, backoffUntilAt = null } = decided.value;
  if (after === job) return ok(job);
  noteSign(turn, job);
  correctCharge(turn, job, report.usage);
  settleUse(turn, job, report.usage, isFinal(after.status));
  if (cost !== null) recordSpending(turn, job, outcome, report, cost);
  else noteUncounted(turn, heard.job);
  backOff(turn, job, backoffUntilAt);
  turn.record(job, afterwards(heard, decided.value));
  const judged = note(after);
  noteOutcome(turn, job, { outcome, ...judged });
  countAttempt(turn.memory, job, { model: report.model, outcome, errorCode: judged.code }, turn.nowAt);
  enforceBudget(turn);
  return ok(after);
};

export const complete = (
  turn: Turn,
  request: FinalReport & { readonly result: Json } & ResultElsewhere,
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
  const note = (after: Job) => {
    if (job.batch !== null) noteAnsweredLine(turn, job.workerProvider ?? "");
    measure(turn, after, usage);
    return { code: null };
  };
  const decided = completeJob(heard.job, request.lease, outcome, turn.nowAt);
  return endAttempt(turn, job, { report: request, outcome: "completed", cost, heard, note }, decided);
};

/** How long a completed attempt waited and took. */
const measure = (turn: Turn, job: Job, usage: Usage | null): void => {
  const { latencies, tallies } = turn.memory.counters;
  latencies.note(turn.store.latency, job, usage, turn.nowAt);
  tallies.measure(job.ranProvider ?? "", job.ranModel ?? "", observationOf(job, usage));
};

export const fail = (turn: Turn, request: FinalReport & ReportedFailure): Result<Job, Refusal> => {
  const found = findReported(turn, request);
  if (!found.ok) return found;
  const job = found.value;
  const { error } = request;
  // A failed attempt that reports neither tokens nor cost spent nothing.
  const hasSpent = request.usage !== null || request.costUsd !== null;
  const cost = hasSpent ? costOfAttempt(turn, job, request) : null;
  const report = { ...request, costNanoUsd: cost?.costNanoUsd ?? null };
  const heard = heardFirst(turn, job, request);
  const policy = failurePolicy(turn, job, request);
  const failed = failJob(heard.job, request.lease, report, policy, turn.nowAt);
  const isForOthers = !failed.ok || failed.value.job === job || (lacksModel(job, error) && policy.isElsewhere);
  const next = isForOthers ? null : nextChoice(turn, heard.job, error);
  const decided = failed.ok && next !== null ? ok({ ...failed.value, ...next }) : failed;
  const note = (after: Job) => {
    if (lacksModel(job, error)) noteMissingModel(turn, job);
    // Status 429 means a rate limit, whatever code the worker gives.
    const code = after.error?.code ?? error.code;
    return isClientsFault(job, error) ? { code, isClientsFault: true } : { code };
  };
  return endAttempt(turn, job, { report: request, outcome: "failed", cost, heard, note }, decided);
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
    // A worker that has failed this request before may have asked its client to wait, too.
    isElsewhere: lacksModel(job, error)
      ? isElsewhereNow(turn, job)
      : keepsClient && isElsewhereNow(turn, job, job.avoidedWorkers),
    jitter: turn.random(),
  };
};

const isElsewhereNow = (turn: Turn, job: Job, tried: readonly string[] = []): boolean =>
  isElsewhere(turn.memory.fleet, routeRequest(turn, job), routePolicy(turn), [...tried, job.assignedWorker ?? ""]);

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

/** Counts the cost of an attempt that was taken back, and changes nothing else. */
export const spent = (turn: Turn, request: LeaseReport & Spent): Result<Job, Refusal> => {
  const found = findReported(turn, request);
  if (!found.ok) return found;
  const job = found.value;
  if (!holds(job, request.lease)) countLate(turn, job, request, leaseLost(job, request.lease));
  return found;
};
