// The worker's heartbeat while it is connected. It detects a beat that is much too late (the machine slept, or was too
// busy): the coordinator may have marked the worker as silent in the meantime.

type Beats = { start: (everyMs: number) => void; stop: () => void };

/** A gap of this many intervals counts as late. */
const LATE_AFTER_BEATS = 1.5;

export const createBeats = (onBeat: (isLate: boolean) => void): Beats => {
  let timer: NodeJS.Timeout | undefined;
  const stop = () => clearInterval(timer);
  return {
    stop,
    start: (everyMs) => {
      stop();
      // The only clock that continues while the machine sleeps.
      let lastAtMs = Date.now();
      timer = setInterval(() => {
        const isLate = Date.now() - lastAtMs > everyMs * LATE_AFTER_BEATS;
        lastAtMs = Date.now();
        onBeat(isLate);
      }, everyMs);
    },
  };
};
