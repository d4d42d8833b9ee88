// `npm run mutants -- --scan <file> …`: tries every change of a file against the tests of `test/domain` that reach it,
// and, where those are content, against a short simulation. Says which changes nobody noticed.

import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { ROOT, runCommand } from "../run-command.ts";
import { DomainTests } from "./domain-tests.ts";
import { type Change, scan } from "./scan.ts";

const TESTS = "test/domain";
const SEEDS = 25;

/** The files that a file imports, itself included. */
const reach = async (file: string, known = new Set<string>()): Promise<Set<string>> => {
  if (known.has(file)) return known;
  known.add(file);
  const text = await readFile(path.join(ROOT, file), "utf8").catch(() => "");
  for (const [, target = ""] of text.matchAll(/from "(\.[^"]+)"/g))
    await reach(path.join(path.dirname(file), target), known);
  return known;
};

const testsOf = async (file: string): Promise<string[]> => {
  const names = (await readdir(path.join(ROOT, TESTS))).filter((name) => name.endsWith(".test.ts"));
  const found: string[] = [];
  for (const name of names) if ((await reach(`${TESTS}/${name}`)).has(file)) found.push(`${TESTS}/${name}`);
  // Its own test first: most changes fall there.
  const own = `${TESTS}/${path.basename(file, ".ts")}.test.ts`;
  return found.sort((one, other) => Number(other === own) - Number(one === own));
};

const isNoticed = async (
  copy: string,
  tests: DomainTests,
  file: string,
  [own, ...others]: string[],
): Promise<boolean> => {
  for (const some of [own === undefined ? [] : [own], others]) if (await tests.notice(file, some)) return true;
  const main = path.join(copy, "test/simulation/main.ts");
  const args = ["--disable-warning=ExperimentalWarning", main, "--seeds", String(SEEDS), "--no-shrink"];
  return (await runCommand("node", args, { isQuiet: true })).code !== 0;
};

const tryFile = async (copy: string, tests: DomainTests, file: string): Promise<number> => {
  const source = await readFile(path.join(copy, file), "utf8");
  const names = await testsOf(file);
  const survivors: Change[] = [];
  const changes = scan(source);
  for (const change of changes) {
    await writeFile(path.join(copy, file), change.text);
    if (await isNoticed(copy, tests, file, names)) continue;
    survivors.push(change);
    console.log(`SURVIVES  ${file}:${change.line}  ${change.what}  ${source.split("\n")[change.line - 1]?.trim()}`);
  }
  await writeFile(path.join(copy, file), source);
  console.log(`${file}: ${changes.length - survivors.length} of ${changes.length} changes noticed`);
  return survivors.length;
};

/** Answers how many changes nobody noticed. */
export const survey = async (copy: string, files: readonly string[]): Promise<number> => {
  const tests = await DomainTests.open(copy);
  let survivors = 0;
  for (const file of files) survivors += await tryFile(copy, tests, file);
  await tests.close();
  return survivors;
};
