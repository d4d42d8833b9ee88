// The worker's pulse while it is connected: a beat every interval, a ping halfway between two.

export type Beats = { start: (everyMs: number) => void; stop: () => void };

export function createBeats(onBeat: () => void, onPing: () => void): Beats {
  let beat: NodeJS.Timeout | undefined;
  let ping: NodeJS.Timeout | undefined;
  const stop = () => {
    clearInterval(beat);
    clearInterval(ping);
  };
  return {
    stop,
    start: (everyMs) => {
      stop();
      beat = setInterval(onBeat, everyMs);
      ping = setTimeout(() => {
        onPing();
        ping = setInterval(onPing, everyMs);
      }, everyMs / 2);
    },
  };
}
