// How recent a worker's last report is, in steps of a heartbeat: only a missed heartbeat distinguishes workers.

/** A worker that missed as many is as good as offline. */
export const MAX_MISSED_BEATS = 4;

export interface PresenceFacts {
  readonly nowAt: number;
  readonly offlineAfterMs: number;
}

/** By the last sign of life: heartbeats missed since, from 0 to `MAX_MISSED_BEATS`. */
export const missedBeatsIn = ({ nowAt, offlineAfterMs }: PresenceFacts): ((lastSeenAt: number) => number) => {
  const missesNoneFrom = nowAt - offlineAfterMs / MAX_MISSED_BEATS + 1;
  return (lastSeenAt) => {
    if (lastSeenAt >= missesNoneFrom) return 0;
    return Math.min(MAX_MISSED_BEATS, Math.floor((MAX_MISSED_BEATS * (nowAt - lastSeenAt)) / offlineAfterMs));
  };
};

/** In [0, 1]. */
export const freshnessAfter = (missedBeats: number): number => 1 - missedBeats / MAX_MISSED_BEATS;
