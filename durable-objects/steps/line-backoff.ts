// Lines of batches at a provider that reports a rate limit. A line has hours, so it does not fail for it: all lines of the
// provider wait, longer each time until one of them is answered. In memory alone: after a reload one more line is told.

import type { Job } from "../../domain/job/job.ts";
import { MINUTE_MS, SECOND_MS } from "../../domain/words/duration.ts";
import type { Turn } from "../turn/turn.ts";

const FIRST_WAIT_MS = SECOND_MS;
const LONGEST_WAIT_MS = MINUTE_MS;

/** How long a line waits for its provider, in ms; null for any other job. */
export const lineWaitMs = ({ memory, nowAt }: Turn, { batch, workerProvider }: Job): number | null => {
  if (batch === null) return null;
  const { untilAt = 0, waits = 0 } = memory.batchWork.backoffs.get(workerProvider ?? "") ?? {};
  const limit = memory.config.providers.get(workerProvider ?? "")?.rateLimit;
  // `retry_after_seconds` may be 0, and a line's tries have no other bound.
  const firstMs = Math.max(FIRST_WAIT_MS, limit?.retryAfterMs ?? 0);
  // Lines that ran beside each other are told beside each other: they wait once.
  const before = untilAt > nowAt ? waits - 1 : waits;
  return Math.max(firstMs, Math.min(LONGEST_WAIT_MS, firstMs * 2 ** before));
};

/** A line was told of the rate limit. */
export const holdLines = (turn: Turn, { batch, workerProvider }: Job, untilAt: number | null): void => {
  if (batch === null || workerProvider === null || untilAt === null) return;
  const { backoffs } = turn.memory.batchWork;
  const known = backoffs.get(workerProvider) ?? { untilAt: 0, waits: 0 };
  const waits = known.untilAt > turn.nowAt ? known.waits : known.waits + 1;
  backoffs.set(workerProvider, { untilAt: Math.max(known.untilAt, untilAt), waits });
  turn.due(untilAt);
};

/** A line was answered: the next wait is a short one again. */
export const noteAnsweredLine = ({ memory }: Turn, { batch, workerProvider }: Job): void => {
  const { backoffs } = memory.batchWork;
  const known = batch === null ? undefined : backoffs.get(workerProvider ?? "");
  if (known !== undefined) backoffs.set(workerProvider ?? "", { ...known, waits: 0 });
};

/** The ends of waits. */
export const lineWaitEnds = ({ memory }: Turn): number[] =>
  [...memory.batchWork.backoffs.values()].flatMap(({ untilAt }) => (untilAt === 0 ? [] : [untilAt]));

/** Lets lines run whose provider has been waited for. */
export const endLineWaits = ({ memory, nowAt }: Turn): void => {
  const { backoffs } = memory.batchWork;
  if (memory.batches.size === 0) backoffs.clear();
  for (const [provider, backoff] of backoffs)
    if (backoff.untilAt <= nowAt) backoffs.set(provider, { ...backoff, untilAt: 0 });
};
