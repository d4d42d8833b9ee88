// What an attempt spent that was cancelled, halted, timed out or reaped before it could say so: its report changes
// nothing any more, and what it spent counts all the same, once.

import type { Job } from "../../domain/job.ts";
import type { Refusal } from "../../domain/refusal.ts";
import { enforceBudget } from "./budget.ts";
import { costOfAttempt, recordSpending, type Spent } from "./pricing.ts";
import type { Turn } from "./turn.ts";

/** Counts the spending of a report that is refused as late. */
export const countLate = (turn: Turn, job: Job, report: Spent & { readonly lease: number }, refusal: Refusal): void => {
  if (refusal.code !== "lease_lost" || (report.usage === null && report.costUsd === null)) return;
  const ended = turn.store.unreported.find(job.id, report.lease);
  if (ended === null || !speaksFor(turn, ended.worker)) return;
  turn.store.unreported.remove(job.id, report.lease);
  const attempt = { ...job, lease: ended.lease, assignedWorker: ended.worker, workerProvider: ended.provider };
  recordSpending(turn, attempt, "late", report, costOfAttempt(turn, attempt, report));
  enforceBudget(turn);
};

/** A key with role worker reports for its own workers only. */
const speaksFor = (turn: Turn, instance: string): boolean =>
  turn.caller.role !== "worker" || turn.memory.fleet.get(instance)?.worker.keyId === turn.caller.keyId;
