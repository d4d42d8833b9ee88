// The minute's work on the history of several tenants, in bounded steps: the next minute goes on with what is left.

import type { Allowance, Cost } from "../../domain/words/allowance.ts";

/** For all tenants together, of one kind of work. */
export const STEPS_A_MINUTE = 20;

/**
 * One step for each in turn, while there is more to do and the allowance lasts; `step` returns what the next step of
 * that one begins with, or null after the last.
 */
export const inTurns = async <Due>(
  all: readonly Due[],
  cost: Cost,
  allowance: Allowance,
  step: (one: Due) => Promise<Due | null>,
): Promise<void> => {
  let due = all;
  for (let left = STEPS_A_MINUTE; left > 0 && due.length > 0; ) {
    const goOn: Due[] = [];
    for (const one of due.slice(0, left)) {
      if (!allowance.hold(cost)) return;
      left -= 1;
      const next = await step(one);
      if (next !== null) goOn.push(next);
      allowance.release(cost);
    }
    due = goOn;
  }
};
