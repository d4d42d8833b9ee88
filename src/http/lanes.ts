// The lane of a request: by its endpoint, its body's length, and whether it waits.

import type { Lane } from "../home.ts";

/** From this size on a body costs as much as a list. */
const HEAVY_BYTES = 64 * 1024;

interface LaneFacts {
  readonly lane: Lane | undefined;
  readonly bodyBytes: number;
  readonly isWaiting: boolean;
}

export const laneOf = ({ lane, bodyBytes, isWaiting }: LaneFacts): Lane => {
  if (isWaiting) return "waiting";
  if (lane !== undefined) return lane;
  return bodyBytes >= HEAVY_BYTES ? "heavy" : "usual";
};
