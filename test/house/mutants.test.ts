// Each planted defect of `npm run mutants` names a piece of source. Changing that piece requires changing the mutant.

import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { MUTANTS } from "../mutants/planted/mutants.ts";

const ROOT = path.join(import.meta.dirname, "../..");

it.each(MUTANTS)('the place of the mutant "$what" is in its file once', async ({ file, search }) => {
  const source = await readFile(path.join(ROOT, file), "utf8");
  expect(source.split(search).length - 1, `update test/mutants/planted/mutants.ts: ${file}`).toBe(1);
});
