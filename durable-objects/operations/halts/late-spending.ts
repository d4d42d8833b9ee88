// The cost of attempts that were cancelled, halted, timed out, reaped or lost before they reported: such a report
// changes nothing any more, but its cost counts, once. Of a stream that nobody reports on in time, an estimate counts,
// of its input and of what its relay passed on, until its worker tells. A call of the coordinator's own that was lost
// stands as unpriced.

import { tokensOf } from "../../../contract/words/token-estimate.ts";
import { isEdgeInstance } from "../../../domain/fleet/worker.ts";
import type { Job, Usage } from "../../../domain/job/job.ts";
import { type AttemptCost, noteLateCost } from "../../../domain/money/cost.ts";
import { isFinal } from "../../../domain/words/job-status.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import {
  correctSpending,
  costOfAttempt,
  measured,
  type PricedAttempt,
  recordSpending,
  type Spent,
} from "../../steps/pricing.ts";
import { seesJobsOf } from "../../steps/reading.ts";
import type { UnreportedLease } from "../../store/sums/unreported.ts";
import type { Turn } from "../../turn/turn.ts";
import { ESTIMATE_AFTER_MS } from "../../turn/uncounted.ts";
import { enforceBudget } from "./budget.ts";

/** Counts the cost of a report that is refused as late. */
export const countLate = (turn: Turn, job: Job, report: Spent & { readonly lease: number }, refusal: Refusal): void => {
  if (refusal.code !== "lease_lost") return;
  const ended = turn.store.unreported.find(job.id, report.lease);
  if (ended === null || !seesJobsOf(turn, ended.worker)) return;
  if (report.usage === null && report.costUsd === null) {
    // The coordinator's own calls always say what they spent: this one spent nothing.
    if (isEdgeInstance(ended.worker)) turn.store.unreported.remove(job.id, report.lease);
    return;
  }
  // Of two estimates the first stays.
  if (ended.isEstimated && report.isEstimate === true && report.costUsd === null) return;
  turn.store.unreported.remove(job.id, report.lease);
  const attempt = { ...job, lease: ended.lease, assignedWorker: ended.worker, workerProvider: ended.provider };
  const cost = costOfAttempt(turn, attempt, report);
  const { endedAt, estimatedNanoUsd: nanoUsd } = ended;
  const usage = estimateOf(ended);
  if (ended.isEstimated) correctSpending(turn, attempt, report, cost, { usage, nanoUsd, endedAt });
  else recordSpending(turn, attempt, "late", report, cost, endedAt);
  showSpent(turn, attempt, report, cost);
  enforceBudget(turn);
};

/** The job that has ended with this attempt shows what it cost. Of one that has left, history sees to it. */
const showSpent = (turn: Turn, attempt: PricedAttempt, spent: Spent, cost: AttemptCost): void => {
  if (spent.usage === null && cost.costNanoUsd === null) return;
  const job = turn.store.jobs.find(attempt.id);
  if (job === null) turn.recordLateCost(measured(attempt, spent, cost));
  else if (job.lease === attempt.lease && isFinal(job.status))
    turn.record(job, noteLateCost(job, spent.usage, cost.costNanoUsd, turn.nowAt));
};

const ESTIMATES_A_SWEEP = 500;
/** What its relay passed on of an attempt that nobody has reported on. */
export const noteSaid = (turn: Turn, said: readonly { jobId: string; lease: number; chars: number }[]): void => {
  for (const { jobId, lease, chars } of said) turn.store.unreported.noteSaid(jobId, lease, chars);
};

export const nextEstimateAt = (turn: Turn): number | null => {
  const oldestAt = turn.store.unreported.oldestToEstimate();
  return oldestAt === null ? null : oldestAt + ESTIMATE_AFTER_MS;
};

/** Null: it is a lost call of the coordinator's own. */
const estimateOf = ({ worker, inputTokens, saidChars }: UnreportedLease): Usage | null =>
  isEdgeInstance(worker) ? null : { inputTokens: inputTokens ?? 0, outputTokens: tokensOf(saidChars) };

/** Counts what nobody reported in time. */
export const estimateUnreported = (turn: Turn): void => {
  const ended = turn.store.unreported.toEstimate(turn.nowAt - ESTIMATE_AFTER_MS, ESTIMATES_A_SWEEP);
  for (const one of ended) {
    const { jobId, lease, worker, provider, model, keyId, fairnessKey, endedAt } = one;
    const spent = { usage: estimateOf(one), isEstimate: true, costUsd: null, model };
    const batch = turn.store.jobs.find(jobId)?.batch ?? null;
    const leased = { id: jobId, lease, assignedWorker: worker, workerProvider: provider };
    const attempt = { ...leased, model, keyId, fairnessKey, batch };
    const cost = costOfAttempt(turn, attempt, spent);
    turn.store.unreported.noteEstimated(jobId, lease, cost.costNanoUsd);
    recordSpending(turn, attempt, "late", spent, cost, endedAt);
    showSpent(turn, attempt, spent, cost);
  }
  enforceBudget(turn);
};
