// `npm run mutants`: plants each known defect and expects the simulator to notice it, or the recorded runs of the model
// in workerd, or the tests that the mutant names. A mutant that is not caught, or whose place in the code is gone, fails the run. Arguments select mutants.

import { readFile } from "node:fs/promises";
import path from "node:path";
import { runScript } from "../self-host/exit-error.ts";
import { ROOT } from "../self-host/run-command.ts";
import type { Change } from "../test/mutants/change.ts";
import { runModel, runSimulation, runTests, tryInCopy } from "../test/mutants/copy-trial.ts";
import type { Catcher, Mutant } from "../test/mutants/planted/mutant.ts";
import { MUTANTS } from "../test/mutants/planted/mutants.ts";
import { survivorsOf } from "../test/mutants/survivors.ts";

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

/** Where a mutant is tried; nowhere if its place in the code is not there exactly once. */
type Stage = "thread" | "simulation" | "model" | "tests" | "nowhere";

interface Planted extends Change {
  readonly stage: Stage;
  readonly catcher: Catcher;
}

/** A thread replaces modules; other files are changed in a copy. */
const stageOf = ({ catcher, file }: Mutant): Stage => {
  if (typeof catcher !== "string") return "tests";
  return catcher === "simulation" && file.endsWith(".ts") ? "thread" : catcher;
};

const plant = async (mutant: Mutant): Promise<Planted> => {
  const { what, file, search, replace, catcher } = mutant;
  const source = await read(file);
  const pieces = source.split(search);
  const stage = pieces.length === 2 ? stageOf(mutant) : "nowhere";
  return { what, file, at: source.indexOf(search), text: pieces.join(replace), stage, catcher };
};

const tell = ({ what }: Change, by: string | null): void =>
  console.log(`${by === null ? "MISSED" : "caught"}  ${what}\n        ${(by ?? "every test passes").slice(0, 200)}`);

const tellCaught = (change: Change, by: string | null): void => {
  if (by !== null) tell(change, by);
};

/** Those that share their test files share a copy. */
const missedByTests = async (planted: readonly Planted[]): Promise<Change[]> => {
  const missed: Change[] = [];
  for (const group of Map.groupBy(planted, ({ catcher }) => String(catcher)).values())
    missed.push(...(await tryInCopy(group, runTests([group[0]?.catcher ?? []].flat()), tell)));
  return missed;
};

const tryMutants = async (wanted: readonly string[]): Promise<number> => {
  const chosen = MUTANTS.filter(({ what }) => wanted.every((word) => what.includes(word)));
  const planted = Object.groupBy(await Promise.all(chosen.map(plant)), ({ stage }) => stage);
  const { nowhere = [], thread = [], simulation = [], model = [], tests = [] } = planted;
  for (const { what, file } of nowhere)
    console.log(`MISSED  ${what}\n        ${file} does not have its place exactly once`);
  const rare = await survivorsOfSimulation(thread, FEW_SEEDS, tellCaught);
  const missed = [
    ...nowhere,
    ...(await survivorsOfSimulation(rare, MANY_SEEDS, tell)),
    ...(await tryInCopy(simulation, runSimulation, tell)),
    ...(await tryInCopy(model, runModel, tell)),
    ...(await missedByTests(tests)),
  ];
  console.log(`${chosen.length - missed.length} of ${chosen.length} mutants caught`);
  return missed.length === 0 ? 0 : 1;
};

await runScript(() => tryMutants(process.argv.slice(2)));
