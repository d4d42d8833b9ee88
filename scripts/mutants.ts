// `npm run mutants`: plants each known defect and expects the simulator to notice it, or the recorded runs of the model
// in workerd. A mutant that is not caught, or whose place in the code is gone, fails the run. Arguments select mutants.
// `-- --scan <file> …` tries every small change of those files instead, and lists those that neither the tests of the
// rules nor those of the service notice, nor the simulation; with `--tests-only` without a simulation.

import { glob, readFile } from "node:fs/promises";
import path from "node:path";
import type { Catcher, Mutant } from "../test/simulation/mutant.ts";
import { MUTANTS } from "../test/simulation/mutants.ts";
import { runScript } from "./exit-error.ts";
import { runModel, runSimulation, tryInCopy } from "./mutants/copy-trial.ts";
import { type Change, scan } from "./mutants/scan.ts";
import { survivorsOf } from "./mutants/survivors.ts";
import { ROOT } from "./run-command.ts";

const TESTS_OF_RULES = [
  "test/domain/*.test.ts",
  "test/catalog/normalise.test.ts",
  "test/catalog/price-and-timing.test.ts",
  "test/tenant/{counters,socket-group,telling}.test.ts",
  "test/observability/spans.test.ts",
  "test/self-host/call-group.test.ts",
];
/** Most of them are for the platform; here they run in plain Node (`mutants/platform`). */
const TESTS_OF_THE_SERVICE = [
  "test/{tenant,http,front-door,webhooks}/*.workers.test.ts",
  "test/store/{claim-waits,door-waits,drain,turns,*.workers}.test.ts",
];
/** Some tests of the service wait for seconds. */
const SLOWEST_MS = 1_500;
const TESTS_ONLY = "--tests-only";
/** Most changes are noticed within a few runs. */
const FEW_SEEDS = 25;
const MANY_SEEDS = 150;

const survivorsOfSimulation = (
  changes: readonly Change[],
  seeds: number,
  tell: (change: Change, by: string | null) => void,
): Promise<Change[]> => {
  process.env.SEEDS = String(seeds);
  return survivorsOf(changes, ["scripts/mutants/simulated-runs.ts"], tell);
};

const read = (file: string): Promise<string> => readFile(path.join(ROOT, file), "utf8");

/** Where a mutant is tried; nowhere if its place in the code is not there exactly once. */
type Stage = "thread" | Catcher | "nowhere";

interface Planted extends Change {
  readonly stage: Stage;
}

/** A thread replaces modules; other files are changed in a copy. */
const stageOf = ({ catcher, file }: Mutant): Stage =>
  catcher === "simulation" && file.endsWith(".ts") ? "thread" : catcher;

const plant = async (mutant: Mutant): Promise<Planted> => {
  const { what, file, search, replace } = mutant;
  const source = await read(file);
  const pieces = source.split(search);
  const stage = pieces.length === 2 ? stageOf(mutant) : "nowhere";
  return { what, file, at: source.indexOf(search), text: pieces.join(replace), stage };
};

const tell = ({ what }: Change, by: string | null): void =>
  console.log(`${by === null ? "MISSED" : "caught"}  ${what}\n        ${(by ?? "every test passes").slice(0, 200)}`);

const tellCaught = (change: Change, by: string | null): void => {
  if (by !== null) tell(change, by);
};

const tellSurvivor = ({ file, what }: Change, by: string | null): void => {
  if (by === null) console.log(`SURVIVES  ${file} ${what}`);
};

const tryMutants = async (wanted: readonly string[]): Promise<number> => {
  const chosen = MUTANTS.filter(({ what }) => wanted.every((word) => what.includes(word)));
  const planted = Object.groupBy(await Promise.all(chosen.map(plant)), ({ stage }) => stage);
  const { nowhere = [], thread = [], simulation = [], model = [] } = planted;
  for (const { what, file } of nowhere)
    console.log(`MISSED  ${what}\n        ${file} does not have its place exactly once`);
  const rare = await survivorsOfSimulation(thread, FEW_SEEDS, tellCaught);
  const missed = [
    ...nowhere,
    ...(await survivorsOfSimulation(rare, MANY_SEEDS, tell)),
    ...(await tryInCopy(simulation, runSimulation, tell)),
    ...(await tryInCopy(model, runModel, tell)),
  ];
  console.log(`${chosen.length - missed.length} of ${chosen.length} mutants caught`);
  return missed.length === 0 ? 0 : 1;
};

const filesLike = async (patterns: readonly string[]): Promise<string[]> => {
  const files: string[] = [];
  for await (const file of glob(patterns, { cwd: ROOT })) files.push(file);
  return files;
};

const scanFiles = async (files: readonly string[], hasSimulation: boolean): Promise<number> => {
  const scanned = await Promise.all(files.map(async (file) => scan(file, await read(file))));
  const changes = scanned.flat();
  const silent = (): void => {};
  const byRules = await survivorsOf(changes, await filesLike(TESTS_OF_RULES), silent);
  console.log(`${changes.length - byRules.length} of ${changes.length} changes noticed by the tests of the rules`);
  const tests = await filesLike(TESTS_OF_THE_SERVICE);
  const byService = await survivorsOf(byRules, tests, hasSimulation ? silent : tellSurvivor, SLOWEST_MS);
  const survivors = hasSimulation ? await survivorsOfSimulation(byService, FEW_SEEDS, tellSurvivor) : byService;
  console.log(`${changes.length - survivors.length} of ${changes.length} changes noticed`);
  return 0;
};

const [mode, ...rest] = process.argv.slice(2);
const files = rest.filter((given) => given !== TESTS_ONLY);
await runScript(() =>
  mode === "--scan" ? scanFiles(files, files.length === rest.length) : tryMutants(process.argv.slice(2)),
);
