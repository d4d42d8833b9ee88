// `npm run mutants`: plants each known defect and expects the simulator to notice it, or the tests that the mutant names.
// A mutant that is not caught, or whose place in the code is gone, fails the run. Arguments select mutants.

import { readFile } from "node:fs/promises";
import path from "node:path";
import { ExitError, runScript } from "../self-host/exit-error.ts";
import { ROOT } from "../self-host/run-command.ts";
import type { Change } from "../test/mutants/change.ts";
import type { Catcher, Mutant } from "../test/mutants/planted/mutant.ts";
import { MUTANTS } from "../test/mutants/planted/mutants.ts";
import { survivorsOf } from "../test/mutants/survivors.ts";
import { survivorsOfTests } from "../test/mutants/tested.ts";

/** Most changes are noticed within a few runs. */
const FEW_SEEDS = 25;
const MANY_SEEDS = 150;

const survivorsOfSimulation = (
  changes: readonly Change[],
  seeds: number,
  tell: (change: Change, by: string | null) => void,
): Promise<Change[]> => {
  process.env.SEEDS = String(seeds);
  return survivorsOf(changes, ["test/mutants/simulated-runs.ts"], tell);
};

const read = (file: string): Promise<string> => readFile(path.join(ROOT, file), "utf8");

interface Planted extends Change {
  readonly catcher: Catcher;
  /** Its place in the code is there once. */
  readonly isThere: boolean;
}

const plant = async ({ what, file, search, replace, catcher }: Mutant): Promise<Planted> => {
  const source = await read(file);
  const pieces = source.split(search);
  return { what, file, at: source.indexOf(search), text: pieces.join(replace), catcher, isThere: pieces.length === 2 };
};

const tell = ({ what }: Change, by: string | null): void =>
  console.log(`${by === null ? "MISSED" : "caught"}  ${what}\n        ${(by ?? "every test passes").slice(0, 200)}`);

const tellCaught = (change: Change, by: string | null): void => {
  if (by !== null) tell(change, by);
};

const tryMutants = async (wanted: readonly string[]): Promise<number> => {
  const chosen = MUTANTS.filter(({ what }) => wanted.every((word) => what.includes(word)));
  if (chosen.length === 0) throw new ExitError(`No mutant's name has each of these words: ${wanted.join(" ")}`);
  const planted = await Promise.all(chosen.map(plant));
  const there = planted.filter(({ isThere }) => isThere);
  const gone = planted.filter(({ isThere }) => !isThere);
  for (const { what, file } of gone)
    console.log(`MISSED  ${what}\n        ${file} does not have its place exactly once`);
  const simulated = there.filter(({ catcher }) => catcher === "simulation");
  const tested = there.flatMap(({ catcher, ...change }) =>
    catcher === "simulation" ? [] : [{ ...change, by: catcher }],
  );
  const rare = await survivorsOfSimulation(simulated, FEW_SEEDS, tellCaught);
  const missed = [
    ...gone,
    ...(await survivorsOfSimulation(rare, MANY_SEEDS, tell)),
    ...(await survivorsOfTests(tested, tell)),
  ];
  console.log(`${chosen.length - missed.length} of ${chosen.length} mutants caught`);
  return missed.length === 0 ? 0 : 1;
};

await runScript(() => tryMutants(process.argv.slice(2)));
