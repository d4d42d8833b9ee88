// Ends the lines of batches before their time: cancelled by their owner or by the full halt, or expired.

import { type BatchRecord, beginCancel, CANCEL_GRACE_MS, finishLines, isSpent } from "../../domain/batch/batch.ts";
import type { JobError } from "../../domain/job/job.ts";
import { cancelJob } from "../../domain/job/job-command.ts";
import { BATCH_EXPIRED } from "../turn/batch-end.ts";
import type { Turn } from "../turn/turn.ts";

/** Its waiting lines end now; those that run may end within the grace, unless `isAtOnce`. */
export const stopBatch = (turn: Turn, batch: BatchRecord, isAtOnce: boolean): void => {
  turn.putBatch(beginCancel(batch, turn.nowAt));
  endOpenLines(turn, batch.id, { isAtOnce });
  const left = turn.memory.batches.open.get(batch.id);
  if (left !== undefined && left.ending === null && left.inProgressAt !== null && isSpent(left))
    turn.putBatch(finishLines(left, "cancelled", turn.nowAt));
  turn.effects.batches.add(batch.id);
  turn.due(turn.nowAt + CANCEL_GRACE_MS);
};

const EXPIRED: JobError = { code: BATCH_EXPIRED, message: "its batch's time was over", retryable: false };

/** Cancels the jobs of its open lines: those that wait, or all. */
export const endOpenLines = (
  turn: Turn,
  batchId: string,
  { isAtOnce, isExpired = false }: { isAtOnce: boolean; isExpired?: boolean },
): void => {
  for (const job of turn.store.jobs.openOfBatch(batchId)) {
    if (job.status !== "pending" && !isAtOnce) continue;
    const reason = isExpired ? "its batch has expired" : "its batch was cancelled";
    const decided = cancelJob(job, turn.nowAt, reason, isExpired ? EXPIRED : null);
    if (!decided.ok) continue;
    turn.sendHalt(job, "cancelled");
    turn.record(job, decided.value);
  }
};

/** Lines that end from now on do not complete their batches. */
export const beginCancelOfAll = (turn: Turn): void => {
  for (const batch of [...turn.memory.batches.open.values()])
    if (batch.ending === null) turn.putBatch(beginCancel(batch, turn.nowAt));
};

/** The full halt cancels all batches. */
export const stopAllBatches = (turn: Turn): void => {
  for (const batch of [...turn.memory.batches.open.values()]) if (batch.ending === null) stopBatch(turn, batch, true);
};
