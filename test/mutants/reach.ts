// Which places of the sources are reached, by V8's own coverage: a change at a place that a test does not reach cannot
// be noticed by it. V8 counts a function only until it is optimized, so nothing is optimized meanwhile, and what is
// watched is loaded afresh.

import { type Profiler, Session } from "node:inspector";
import { setFlagsFromString } from "node:v8";
import { urlOf, withoutQuery } from "./module-graph.ts";

export interface Place {
  readonly file: string;
  readonly at: number;
}

const session = new Session();
session.connect();

const OPTIMIZERS = ["opt", "maglev"];

export const startWatching = (): void => {
  for (const optimizer of OPTIMIZERS) setFlagsFromString(`--no-${optimizer}`);
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
};

export const stopWatching = (): void => {
  session.post("Profiler.stopPreciseCoverage");
  session.post("Profiler.disable");
  for (const optimizer of OPTIMIZERS) setFlagsFromString(`--${optimizer}`);
};

type Ranges = readonly Profiler.CoverageRange[];

const isAround = (at: number, { startOffset, endOffset }: Profiler.CoverageRange): boolean =>
  at >= startOffset && at < endOffset;

const sizeOf = ({ startOffset, endOffset }: Profiler.CoverageRange): number => endOffset - startOffset;

/** The smallest range around a place says how often it ran. */
const hasRun = (ranges: Ranges, at: number): boolean => {
  let found: Profiler.CoverageRange | null = null;
  for (const range of ranges)
    if (isAround(at, range) && (found === null || sizeOf(range) <= sizeOf(found))) found = range;
  return found !== null && found.count > 0;
};

/**
 * Whether each place ran since the last call. Of a file that was loaded several times, each load is looked at by itself:
 * what always ran in one has no range of its own there, and would be hidden by that of another, in which it never ran.
 */
export const takeReached = (places: readonly Place[]): boolean[] => {
  const loads = new Map<string, Ranges[]>();
  session.post("Profiler.takePreciseCoverage", (_error, { result }) => {
    for (const { url, functions } of result) {
      const file = withoutQuery(url);
      const ranges = functions.flatMap((one) => one.ranges);
      if (ranges.some(({ count }) => count > 0)) loads.set(file, [...(loads.get(file) ?? []), ranges]);
    }
  });
  return places.map(({ file, at }) => (loads.get(urlOf(file)) ?? []).some((ranges) => hasRun(ranges, at)));
};
