// Which lane a request takes: by its endpoint, by the length of its body, and by whether it asks to wait.

export const LANES = ["vital", "usual", "heavy", "waiting"] as const;
/** `vital`: what stops and ends work. `heavy`: reads and writes of many. `waiting`: held open, without work. */
export type Lane = (typeof LANES)[number];

/** A body from here on costs as much as a list. */
const HEAVY_BYTES = 64 * 1024;

export interface Asked {
  readonly lane: Lane | undefined;
  readonly bodyBytes: number;
  readonly isWaiting: boolean;
}

export const laneOf = ({ lane, bodyBytes, isWaiting }: Asked): Lane => {
  if (isWaiting) return "waiting";
  if (lane !== undefined) return lane;
  return bodyBytes >= HEAVY_BYTES ? "heavy" : "usual";
};
