// Each planted defect of `npm run mutants` names a piece of source, and what catches it. Changing that piece, or moving a
// test, requires changing the mutant.

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { MUTANTS } from "../mutants/planted/mutants.ts";

const ROOT = path.join(import.meta.dirname, "../..");

it.each(MUTANTS)('the place of the mutant "$what" is in its file once', async ({ file, search }) => {
  const source = await readFile(path.join(ROOT, file), "utf8");
  expect(source.split(search).length - 1, `update test/mutants/planted/mutants.ts: ${file}`).toBe(1);
});

/** What runs in the simulation, as a module. */
const SIMULATED = /^(?:domain|durable-objects|contract)\/.*\.ts$/;

it.each(MUTANTS)('what catches the mutant "$what" runs its file', ({ catcher, file }) => {
  if (catcher === "simulation") expect(file).toMatch(SIMULATED);
  else for (const test of catcher) expect(existsSync(path.join(ROOT, test)), test).toBe(true);
});
