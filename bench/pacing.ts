// A load at a fixed rate, whether or not the server keeps up: each step has its own instant, and a late step counts
// from when it was due.

import { setTimeout as pause } from "node:timers/promises";

/** Waits for the next step; returns when it was due, on the clock of `performance.now()`. */
export const paced = (perSecond: number): (() => Promise<number>) => {
  const startedAt = performance.now();
  let taken = 0;
  return async () => {
    const dueAt = startedAt + (taken++ * 1000) / perSecond;
    const aheadMs = dueAt - performance.now();
    if (aheadMs > 0) await pause(aheadMs);
    return dueAt;
  };
};
