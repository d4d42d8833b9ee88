// A child process that is started again when it dies, with growing delays, until it is stopped.

import { setTimeout as pause } from "node:timers/promises";
import { log } from "../../log/log.ts";
import { describeExit, type Exit, type Supervised } from "./supervised.ts";

interface Pace {
  readonly firstMs: number;
  readonly maxMs: number;
  /** A child that lived this long had started well: its next death counts as the first. */
  readonly healthyAfterMs: number;
}

export interface Kept {
  /** The current process. */
  readonly current: () => Supervised;
  /** Ends the current process, which is then started again. */
  readonly renew: (graceMs: number) => void;
  /** Stops it in order; resolves when it has ended and none follows. */
  readonly stop: (graceMs: number) => Promise<void>;
}

/** Of workerd, which starts in a tenth of a second. */
export const WORKERD_PACE: Pace = { firstMs: 100, maxMs: 10_000, healthyAfterMs: 10_000 };

/** `isOver`: whether it is useless to start it again; asked when it died. */
export const keepRunning = (
  what: string,
  pace: Pace,
  start: () => Supervised,
  isOver: () => Promise<boolean> = async () => false,
): Kept => {
  const stopping = new AbortController();
  let current = start();
  let startedAt = performance.now();

  const look = async (): Promise<void> => {
    for (let backoffMs = pace.firstMs; ; backoffMs = Math.min(backoffMs * 2, pace.maxMs)) {
      const exit: Exit = await current.exited.catch(() => ({ code: null, signal: null }));
      if (stopping.signal.aborted || (await isOver())) return;
      if (performance.now() - startedAt > pace.healthyAfterMs) backoffMs = pace.firstMs;
      log("error", "process.ended", {
        detail: `${what} ${describeExit(exit)}; starting it again in ${backoffMs / 1000} s.`,
      });
      await pause(backoffMs, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) return;
      startedAt = performance.now();
      current = start();
    }
  };
  const ended = look();
  return {
    current: () => current,
    renew: (graceMs) => void current.stop(graceMs),
    stop: async (graceMs) => {
      stopping.abort();
      await current.stop(graceMs);
      await ended;
    },
  };
};
