// The machine's clock, when it is set back. workerd lets no object see that: a tenant's time stands still until the clock
// is where it was, and with it the silence of workers, the timeouts of jobs and the minutes of keys. A process that is
// started again has the right time.

import { log } from "../../log/log.ts";

const LOOK_EVERY_MS = 1_000;
/** A time that stands still for less harms nobody, and a process that ends breaks the streams of its tenants. */
const HEEDED_MS = 10_000;

interface ClockWatch {
  readonly stop: () => void;
}

/** How far the machine's clock is ahead of one that nobody sets. */
const aheadMs = (): number => Date.now() - performance.now();

/** `startAgain`: starts the processes with the tenants again. */
export const watchClock = (startAgain: () => void, look: () => number = aheadMs): ClockWatch => {
  let highest = look();
  const timer = setInterval(() => {
    const ahead = look();
    const setBackMs = highest - ahead;
    highest = Math.max(highest, ahead);
    if (setBackMs < HEEDED_MS) return;
    highest = ahead;
    const seconds = Math.round(setBackMs / 1000);
    const detail = `The machine's clock was set back by ${seconds} s: the processes with the tenants are started again.`;
    log("warn", "clock.set_back", { detail });
    startAgain();
  }, LOOK_EVERY_MS);
  timer.unref();
  return { stop: () => clearInterval(timer) };
};
