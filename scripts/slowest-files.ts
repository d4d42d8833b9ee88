// The test files that a run of all tests waits for most, from Vitest's own report of the run.

import path from "node:path";

const SHOWN = 10;

/** The part of Vitest's JSON report that tells how long each file took; in epoch milliseconds. */
interface TestReport {
  readonly testResults: readonly { readonly name: string; readonly startTime: number; readonly endTime: number }[];
}

/** One line a file, slowest first; empty for a run of a few files. A file that runs in two places has a line for each. */
export const slowestFiles = ({ testResults }: TestReport, root: string): string[] => {
  if (testResults.length <= SHOWN) return [];
  const timed = testResults.map(({ name, startTime, endTime }) => ({ name, seconds: (endTime - startTime) / 1000 }));
  timed.sort((one, other) => other.seconds - one.seconds);
  return timed
    .slice(0, SHOWN)
    .map(({ name, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${path.relative(root, name)}`);
};
