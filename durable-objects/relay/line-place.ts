// How many data lines one relay holds. On a server all lines of a tenant end in one relay, and each takes memory of the
// process, whether anything is said on it or not; deployed, a relay has one.

import { MAX_LINES } from "./relay-bounds.ts";

/** "free", the line that gives its place to another, or null: something is said on all of them. */
export const placeForLine = <Line>(
  lines: readonly Line[],
  hasStreams: (line: Line) => boolean,
  most = MAX_LINES,
): Line | "free" | null => (lines.length < most ? "free" : (lines.find((line) => !hasStreams(line)) ?? null));
