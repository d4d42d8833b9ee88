// The lane of a request: by its endpoint, its body's length, and whether it waits.

const LANES = ["vital", "usual", "heavy", "waiting"] as const;
/** `vital`: stops or finishes work. `heavy`: reads or writes much. `waiting`: held open without work. */
export type Lane = (typeof LANES)[number];

/** From this size on a body costs as much as a list. */
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
