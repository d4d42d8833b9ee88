// How long tests wait is said in one place (`test/support/patience.ts`): a busy machine fails none of them.

import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";

const TESTS = path.join(import.meta.dirname, "..");

const read = (file: string) => readFileSync(path.join(TESTS, file), "utf8");

it("waits with `eventually` or `expect.poll`, whose patience is the same", async () => {
  const others: string[] = [];
  for await (const file of glob("**/*.ts", { cwd: TESTS })) {
    if (/\bvi\.wait[A-Z]\w+\(/.test(read(file))) others.push(file);
  }
  expect(others).toEqual([path.join("support", "eventually.ts")]);
});

it("waits for what a page is to show: counted at once, it may not be there yet", async () => {
  const hasty: string[] = [];
  for await (const file of glob("{dashboard,sign-in}/*.ts", { cwd: TESTS })) {
    for (const [found] of read(file).matchAll(
      /expect\(await .*\.(count\(\)\)\.toBe\([1-9]|all(InnerTexts|TextContents)\(\)).*/g,
    ))
      hasty.push(`${file}: ${found}`);
  }
  expect(hasty).toEqual([]);
});
