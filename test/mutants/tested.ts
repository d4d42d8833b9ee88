// Tries planted defects where no thread can: against test files. A defect is noticed if the tests fail twice in a row: a
// busy machine makes one fail once.

import type { Change } from "./change.ts";
import { type Outcome, TestBench } from "./test-bench.ts";

/** A change, and the test files that must notice it. */
export interface Tested extends Change {
  readonly by: readonly string[];
}

const RUNS_TO_PASS = 3;
const RUNS_TO_FAIL = 2;

/** The last outcome. */
const runUntilPassed = async (bench: TestBench, files: readonly string[], maxRuns: number): Promise<Outcome> => {
  let outcome = await bench.run(files);
  for (let runs = 1; runs < maxRuns && outcome.kind !== "passes"; runs += 1) outcome = await bench.run(files);
  return outcome;
};

/** Why tests say nothing: on the tree as it is they do not pass. */
const problemOf = async (bench: TestBench, files: readonly string[]): Promise<string | null> => {
  const { kind, said } = await runUntilPassed(bench, files, RUNS_TO_PASS);
  return kind === "passes" ? null : `${files.join(", ")}: ${said}`;
};

const outcomeWith = async (bench: TestBench, change: Tested): Promise<Outcome> => {
  await bench.plant(change);
  try {
    return await runUntilPassed(bench, change.by, RUNS_TO_FAIL);
  } finally {
    await bench.restore(change);
  }
};

/** How a change is noticed; null if it is not. A machine that is too busy for the tests is not taken for a defect. */
const noticedBy = async (bench: TestBench, change: Tested): Promise<string | null> => {
  const { kind, said } = await outcomeWith(bench, change);
  if (kind === "fails") return said;
  return kind === "passes" || (await problemOf(bench, change.by)) !== null ? null : said;
};

/** The changes with which their tests pass. `tell` hears by what each was noticed. */
export const survivorsOfTests = async (
  changes: readonly Tested[],
  tell: (change: Change, by: string | null) => void,
): Promise<Change[]> => {
  if (changes.length === 0) return [];
  const bench = await TestBench.open();
  const survivors: Change[] = [];
  try {
    for (const group of Map.groupBy(changes, ({ by }) => JSON.stringify(by)).values()) {
      const problem = await problemOf(bench, (group[0] as Tested).by);
      if (problem !== null) console.log(`LEFT OUT  ${problem}`);
      for (const change of group) {
        const by = problem === null ? await noticedBy(bench, change) : null;
        tell(change, by);
        if (by === null) survivors.push(change);
      }
    }
    return survivors;
  } finally {
    await bench.close();
  }
};
