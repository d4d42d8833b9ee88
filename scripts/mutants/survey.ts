// `npm run mutants -- --scan <file> …`: tries every change of a file against the tests of `test/domain` that import it,
// and, if those pass, against a short simulation. Prints the changes that were not noticed.

import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { ROOT, runCommand } from "../run-command.ts";
import { type Change, scan } from "./scan.ts";

const TESTS = "test/domain";
const SEEDS = 25;

const importers = async (folder: string, ends: string, file: string): Promise<string[]> => {
  const names = (await readdir(path.join(ROOT, folder))).filter((name) => name.endsWith(ends));
  const found: string[] = [];
  for (const name of names) {
    const text = await readFile(path.join(ROOT, folder, name), "utf8");
    if (text.includes(`/${file}"`)) found.push(`${folder}/${name}`);
  }
  return found;
};

/** Tests that import the file, or a rule that does, because nearly every test reaches nearly every file indirectly. */
const testsOf = async (file: string): Promise<string[]> => {
  const found = await importers(TESTS, ".test.ts", file);
  const rules = file.startsWith("domain/") ? await importers("domain", ".ts", path.basename(file)) : [];
  for (const rule of rules)
    for (const test of await importers(TESTS, ".test.ts", rule)) if (!found.includes(test)) found.push(test);
  // Its own test first, because that notices most changes.
  const own = `${TESTS}/${path.basename(file, ".ts")}.test.ts`;
  return found.sort((one, other) => Number(other === own) - Number(one === own));
};

const QUICK_RUN = path.join(ROOT, "scripts/mutants/run-tests.ts");
const NO_WARNING = "--disable-warning=ExperimentalWarning";
/** A change may make a loop endless. */
const PATIENCE_MS = 240_000;

/** Whether one of these tests fails on the tree as it is now. */
const fails = async (copy: string, tests: readonly string[]): Promise<boolean> => {
  if (tests.length === 0) return false;
  const command = { isQuiet: true, cwd: copy, timeoutMs: PATIENCE_MS };
  return (await runCommand("node", [NO_WARNING, QUICK_RUN, ...tests], command)).code !== 0;
};

const isNoticed = async (
  copy: string,
  [own, ...others]: readonly string[],
  hasSimulation: boolean,
): Promise<boolean> => {
  if (own !== undefined && (await fails(copy, [own]))) return true;
  if (await fails(copy, others)) return true;
  if (!hasSimulation) return false;
  const main = path.join(copy, "test/simulation/main.ts");
  const args = [NO_WARNING, main, "--seeds", String(SEEDS), "--no-shrink"];
  return (await runCommand("node", args, { isQuiet: true, timeoutMs: PATIENCE_MS })).code !== 0;
};

const tryFile = async (copy: string, file: string, hasSimulation: boolean): Promise<number> => {
  const source = await readFile(path.join(copy, file), "utf8");
  const tests = await testsOf(file);
  if (await fails(copy, tests)) {
    console.log(`${file}: its tests fail without any change, or take too long`);
    return 0;
  }
  const survivors: Change[] = [];
  const changes = scan(source);
  for (const change of changes) {
    await writeFile(path.join(copy, file), change.text);
    if (await isNoticed(copy, tests, hasSimulation)) continue;
    survivors.push(change);
    console.log(`SURVIVES  ${file}:${change.line}  ${change.what}  ${source.split("\n")[change.line - 1]?.trim()}`);
  }
  await writeFile(path.join(copy, file), source);
  console.log(`${file}: ${changes.length - survivors.length} of ${changes.length} changes noticed`);
  return survivors.length;
};

/** Returns how many changes were not noticed; the simulation takes most of the time, so it can be left out. */
export const survey = async (copy: string, files: readonly string[], hasSimulation: boolean): Promise<number> => {
  let survivors = 0;
  for (const file of files) survivors += await tryFile(copy, file, hasSimulation);
  return survivors;
};
