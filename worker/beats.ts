// The worker's pulse while it is connected. A beat that comes much later than it should (the machine slept, or was too
// busy) says so: the coordinator may have taken the worker for silent meanwhile.

export type Beats = { start: (everyMs: number) => void; stop: () => void };

/** A gap of this many beats is a late one. */
const LATE_AFTER_BEATS = 1.5;

export function createBeats(onBeat: (isLate: boolean) => void): Beats {
  let timer: NodeJS.Timeout | undefined;
  const stop = () => clearInterval(timer);
  return {
    stop,
    start: (everyMs) => {
      stop();
      // Of the clocks only this one goes on while the machine sleeps.
      let lastAtMs = Date.now();
      timer = setInterval(() => {
        const isLate = Date.now() - lastAtMs > everyMs * LATE_AFTER_BEATS;
        lastAtMs = Date.now();
        onBeat(isLate);
      }, everyMs);
    },
  };
}
