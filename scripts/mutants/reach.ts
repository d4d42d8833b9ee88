// Which places of the sources a run reaches, by V8's own coverage: a change at a place that a test never reaches cannot
// be noticed by it.

import { type Profiler, Session } from "node:inspector";
import { urlOf } from "./module-graph.ts";

export interface Place {
  readonly file: string;
  readonly at: number;
}

const session = new Session();
session.connect();

export const startWatching = (): void => {
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
};

export const stopWatching = (): void => {
  session.post("Profiler.stopPreciseCoverage");
  session.post("Profiler.disable");
};

type Ranges = readonly Profiler.CoverageRange[];

/** The smallest range around a place says how often it ran. */
const innermost = (ranges: Ranges, at: number): Profiler.CoverageRange | null => {
  let found: Profiler.CoverageRange | null = null;
  for (const range of ranges) {
    if (at < range.startOffset || at >= range.endOffset) continue;
    if (found === null || range.endOffset - range.startOffset <= found.endOffset - found.startOffset) found = range;
  }
  return found;
};

/** Whether each place ran since the last call. */
export const takeReached = (places: readonly Place[]): boolean[] => {
  const ranges = new Map<string, Ranges>();
  session.post("Profiler.takePreciseCoverage", (_error, { result }) => {
    for (const { url, functions } of result)
      ranges.set(
        url,
        functions.flatMap((one) => one.ranges),
      );
  });
  return places.map(({ file, at }) => (innermost(ranges.get(urlOf(file)) ?? [], at)?.count ?? 0) > 0);
};
