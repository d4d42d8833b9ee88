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

/** The smallest range around a place says how often it ran; of several loads, that of the load that ran it most. */
const innermost = (ranges: Ranges, at: number): Profiler.CoverageRange | null => {
  let found: Profiler.CoverageRange | null = null;
  for (const range of ranges) {
    if (at < range.startOffset || at >= range.endOffset) continue;
    const grown = found === null ? -1 : range.endOffset - range.startOffset - (found.endOffset - found.startOffset);
    if (grown < 0 || (grown === 0 && range.count > (found?.count ?? 0))) found = range;
  }
  return found;
};

/** Whether each place ran since the last call, in what was loaded since then. */
export const takeReached = (places: readonly Place[]): boolean[] => {
  const ranges = new Map<string, Ranges>();
  session.post("Profiler.takePreciseCoverage", (_error, { result }) => {
    for (const { url, functions } of result) {
      const file = withoutQuery(url);
      ranges.set(file, [...(ranges.get(file) ?? []), ...functions.flatMap((one) => one.ranges)]);
    }
  });
  return places.map(({ file, at }) => (innermost(ranges.get(urlOf(file)) ?? [], at)?.count ?? 0) > 0);
};
