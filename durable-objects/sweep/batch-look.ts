// When batches are looked at, and what time alone brings them: the end of a window, of a cancelled batch's patience, of
// a worker's quiet, of a provider's rate limit, and of what is remembered.

import { type BatchRecord, CANCEL_GRACE_MS, finishLines, isEnded, nextInstantOf } from "../../domain/batch/batch.ts";
import { DAY_MS, SECOND_MS } from "../../domain/words/duration.ts";
import { earliest } from "../../domain/words/earliest.ts";
import { endLineWaits, lineWaitEnds } from "../steps/line-backoff.ts";
import { endOpenLines } from "../steps/stop-batches.ts";
import type { Turn } from "../turn/turn.ts";

const BUSY_LOOK_MS = 5 * SECOND_MS;
const IDLE_LOOK_MS = 30 * SECOND_MS;
/** A batch is remembered for this long after its end, whatever became of its files. */
const REMEMBERED_MS = 30 * DAY_MS;
const REMOVED_A_SWEEP = 100;

const lookAfterMs = (turn: Turn, batch: BatchRecord): number =>
  batch.status !== "in_progress" || batch.inProgressAt === null || turn.store.lineEnds.has(batch.id)
    ? BUSY_LOOK_MS
    : IDLE_LOOK_MS;

/** When batches are looked at next. */
export const nextBatchAt = (turn: Turn): number | null => {
  const { batches } = turn.memory;
  const instants = [...batches.open.values()].flatMap((batch) => [
    batches.lookedAt + lookAfterMs(turn, batch),
    nextInstantOf(batch),
  ]);
  const oldest = turn.store.batches.oldestEndAt();
  return earliest([
    ...instants,
    ...quietEnds(turn),
    ...lineWaitEnds(turn),
    oldest === null ? null : oldest + REMEMBERED_MS,
  ]);
};

const quietEnds = (turn: Turn): number[] => {
  const { batches, config } = turn.memory;
  return batches.open.size === 0 ? [] : [...batches.otherAt.values()].map((at) => at + config.batches.quietMs);
};

/** Ends what is over, asks for what is missing, and opens what was held. */
export const lookAtBatches = (turn: Turn): void => {
  const { batches, queue } = turn.memory;
  batches.lookedAt = turn.nowAt;
  for (const batch of [...batches.open.values()]) {
    attend(turn, batch);
    turn.effects.batches.add(batch.id);
  }
  endQuiet(turn);
  endLineWaits(turn);
  for (const { key, requirements } of queue.groups.values())
    if (requirements.batch !== null) turn.openedGroups.add(key);
  for (const old of turn.store.batches.endedBefore(turn.nowAt - REMEMBERED_MS, REMOVED_A_SWEEP))
    turn.store.batches.remove(old.id);
};

const endQuiet = (turn: Turn): void => {
  const { batches, config } = turn.memory;
  for (const [instance, at] of batches.otherAt) {
    if (at + config.batches.quietMs > turn.nowAt) continue;
    batches.otherAt.delete(instance);
    turn.freedWorkers.add(instance);
  }
};

const attend = (turn: Turn, batch: BatchRecord): void => {
  if (batch.ending !== null || isEnded(batch)) return;
  // A line that comes back from its worker waits for nothing any more.
  if (batch.status === "cancelling")
    endOpenLines(turn, batch.id, { isAtOnce: (batch.cancellingAt ?? 0) + CANCEL_GRACE_MS <= turn.nowAt });
  if (batch.status !== "in_progress" || batch.expiresAt > turn.nowAt) return;
  turn.putBatch(finishLines(batch, "expired", turn.nowAt));
  endOpenLines(turn, batch.id, { isAtOnce: true, isExpired: true });
};
