// The minute's work on the history of several tenants, in bounded steps: the next minute goes on with what is left.

import type { Allowance, Cost } from "../../domain/words/allowance.ts";

/** For all tenants together, of one kind of work. */
export const STEPS_A_MINUTE = 20;

/**
 * One step for each in turn, for as long as there is more and room for it; `step` answers with what the one after it
 * begins with, or null if there is none.
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
