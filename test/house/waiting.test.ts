// How long tests wait is said in one place (`test/support/patience.ts`): a busy machine fails none of them.

import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";

const TESTS = path.join(import.meta.dirname, "..");

it("waits with `eventually` or `expect.poll`, whose patience is the same", async () => {
  const others: string[] = [];
  for await (const file of glob("**/*.ts", { cwd: TESTS })) {
    if (/\bvi\.wait[A-Z]\w+\(/.test(readFileSync(path.join(TESTS, file), "utf8"))) others.push(file);
  }
  expect(others).toEqual([path.join("support", "eventually.ts")]);
});
