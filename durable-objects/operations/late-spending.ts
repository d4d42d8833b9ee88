// The cost of attempts that were cancelled, halted, timed out or reaped before they reported: such a report changes
// nothing any more, but its cost counts, once.

import type { Job } from "../../domain/job.ts";
import type { Refusal } from "../../domain/refusal.ts";
import { enforceBudget } from "./budget.ts";
import { costOfAttempt, recordSpending, type Spent } from "./pricing.ts";
import type { Turn } from "./turn.ts";

/** Counts the cost of a report that is refused as late. */
export const countLate = (turn: Turn, job: Job, report: Spent & { readonly lease: number }, refusal: Refusal): void => {
  if (refusal.code !== "lease_lost" || (report.usage === null && report.costUsd === null)) return;
  const ended = turn.store.unreported.find(job.id, report.lease);
  if (ended === null || !speaksFor(turn, ended.worker)) return;
  turn.store.unreported.remove(job.id, report.lease);
  const attempt = { ...job, lease: ended.lease, assignedWorker: ended.worker, workerProvider: ended.provider };
  recordSpending(turn, attempt, "late", report, costOfAttempt(turn, attempt, report));
  enforceBudget(turn);
};

/** A key with role worker reports only for its own workers. */
const speaksFor = (turn: Turn, instance: string): boolean =>
  turn.caller.role !== "worker" || turn.memory.fleet.get(instance)?.worker.keyId === turn.caller.keyId;
