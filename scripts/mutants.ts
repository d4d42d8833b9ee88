// `npm run mutants`: plants each known defect in a copy of the tree and runs the simulator on it, or the recorded runs
// of the model in workerd. A mutant that is not caught, or whose place in the code is gone, fails the run. Arguments
// select mutants. `-- --scan <file> …` tries every small change of those files instead, and lists those that no test
// notices; with `--tests-only` only by the tests of `test/domain`, without a simulation.

import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import path from "node:path";
import type { Catcher, Mutant } from "../test/simulation/mutant.ts";
import { MUTANTS } from "../test/simulation/mutants.ts";
import { runScript } from "./exit-error.ts";
import { survey } from "./mutants/survey.ts";
import { ROOT, runCommand } from "./run-command.ts";

const SOURCES = ["contract", "domain", "durable-objects", "src", "migrations", "providers"];
const SETTINGS = ["package.json", "tsconfig.base.json", "tsconfig.json", "vitest.config.ts", "wrangler.toml"];
const TESTS = ["test/domain", "test/simulation", "test/support", "test/tenant/model", "test/tsconfig.json"];
const NEEDED = [...SOURCES, ...SETTINGS, ...TESTS];
const SEEDS = 150;
const TESTS_ONLY = "--tests-only";
/** Leaves some of the machine for other processes. */
const AT_ONCE = Math.max(1, Math.min(4, availableParallelism() - 2));

interface Trial {
  readonly mutant: Mutant | null;
  readonly isCaught: boolean;
  readonly said: string;
}

const copyTree = async (): Promise<string> => {
  const copy = await mkdtemp(path.join(tmpdir(), "signalbox-mutant-"));
  for (const place of NEEDED) await cp(path.join(ROOT, place), path.join(copy, place), { recursive: true });
  await mkdir(path.join(copy, "dist/dashboard"), { recursive: true });
  await symlink(path.join(ROOT, "node_modules"), path.join(copy, "node_modules"));
  return copy;
};

/** Null if the code to change does not occur exactly once. */
const plant = async (copy: string, { file, search, replace }: Mutant): Promise<boolean> => {
  const place = path.join(copy, file);
  const pieces = (await readFile(place, "utf8")).split(search);
  await writeFile(place, pieces.join(replace));
  return pieces.length === 2;
};

const runIn = (copy: string, catcher: Catcher): Promise<{ code: number; output: string }> => {
  if (catcher === "model") {
    const args = ["run", "--project", "workerd", "test/tenant/model/model", "-t", "failed once"];
    return runCommand("vitest", args, { isQuiet: true, cwd: copy });
  }
  const main = path.join(copy, "test/simulation/main.ts");
  const args = ["--disable-warning=ExperimentalWarning", main, "--seeds", String(SEEDS), "--no-shrink"];
  return runCommand("node", args, { isQuiet: true });
};

const attempt = async (mutant: Mutant | null, catcher: Catcher): Promise<Trial> => {
  const copy = await copyTree();
  try {
    if (mutant !== null && !(await plant(copy, mutant))) {
      return { mutant, isCaught: false, said: `${mutant.file} does not have its place exactly once` };
    }
    const { code, output } = await runIn(copy, catcher);
    return { mutant, isCaught: code !== 0, said: output.trim().split("\n").slice(-2).join(" ") };
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
};

const tell = ({ mutant, isCaught, said }: Trial): void =>
  console.log(`${isCaught ? "caught" : "MISSED"}  ${mutant?.what}\n        ${said.slice(0, 200)}`);

const tryMutants = async (wanted: readonly string[]): Promise<number> => {
  const waiting = MUTANTS.filter(({ what }) => wanted.every((word) => what.includes(word)));
  for (const catcher of new Set(waiting.map((mutant) => mutant.catcher))) {
    const sane = await attempt(null, catcher);
    if (!sane.isCaught) continue;
    console.error(`The tests fail without any mutant: ${sane.said}`);
    return 1;
  }
  const trials: Trial[] = [];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const trial = await attempt(next, next.catcher);
      tell(trial);
      trials.push(trial);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const missed = trials.filter(({ isCaught }) => !isCaught).length;
  console.log(`${trials.length - missed} of ${trials.length} mutants caught`);
  return missed === 0 ? 0 : 1;
};

const surveyFiles = async (given: readonly string[]): Promise<number> => {
  const copy = await copyTree();
  const files = given.filter((file) => file !== TESTS_ONLY);
  try {
    console.log(`${await survey(copy, files, files.length === given.length)} changes that nobody noticed`);
    return 0;
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
};

const [mode, ...rest] = process.argv.slice(2);
await runScript(() => (mode === "--scan" ? surveyFiles(rest) : tryMutants(process.argv.slice(2))));
