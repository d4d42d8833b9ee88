// Lines of batches at a provider that reports a rate limit. A line has hours, so it does not fail for it: all lines of the
// provider wait, longer each time until one of them is answered. In memory alone: after a reload one more line is told.

import { attemptDelayMs } from "../../domain/job/backoff.ts";
import { MINUTE_MS, SECOND_MS } from "../../domain/words/duration.ts";
import type { Turn } from "../turn/turn.ts";

const FIRST_WAIT_MS = SECOND_MS;
const LONGEST_WAIT_MS = MINUTE_MS;
const NONE = { untilAt: 0, waits: 0 };

/** How many waits there have been with the one that a line which is told now begins, or is told of again. */
const waitsBy = ({ memory, nowAt }: Turn, provider: string): number => {
  const { untilAt, waits } = memory.batches.backoffs.get(provider) ?? NONE;
  return untilAt > nowAt ? waits : waits + 1;
};

/** How long a line waits for its provider, in ms. */
export const lineWaitMs = (turn: Turn, provider: string): number => {
  const { retryAfterMs = 0 } = turn.memory.config.providers.get(provider)?.rateLimit ?? {};
  // `retry_after_seconds` may be 0, and a line's tries have no other bound.
  const firstMs = Math.max(FIRST_WAIT_MS, retryAfterMs);
  return attemptDelayMs(waitsBy(turn, provider), firstMs, Math.max(firstMs, LONGEST_WAIT_MS), 0);
};

/** A line was told of the rate limit. */
export const holdLines = (turn: Turn, provider: string, untilAt: number): void => {
  const { backoffs } = turn.memory.batches;
  const known = backoffs.get(provider) ?? NONE;
  backoffs.set(provider, { untilAt: Math.max(known.untilAt, untilAt), waits: waitsBy(turn, provider) });
  turn.due(untilAt);
};

/** A line was answered: the next wait is a short one again. */
export const noteAnsweredLine = ({ memory }: Turn, provider: string): void => {
  const { backoffs } = memory.batches;
  const known = backoffs.get(provider);
  if (known !== undefined) backoffs.set(provider, { ...known, waits: 0 });
};

/** The ends of waits. */
export const lineWaitEnds = ({ memory }: Turn): number[] =>
  [...memory.batches.backoffs.values()].flatMap(({ untilAt }) => (untilAt === 0 ? [] : [untilAt]));

/** Lets lines run whose provider has been waited for. */
export const endLineWaits = ({ memory, nowAt }: Turn): void => {
  const { backoffs } = memory.batches;
  if (memory.batches.open.size === 0) backoffs.clear();
  for (const [provider, backoff] of backoffs)
    if (backoff.untilAt <= nowAt) backoffs.set(provider, { ...backoff, untilAt: 0 });
};
