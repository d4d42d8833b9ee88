// The object under thousands of steps of faults, in a process of its own, because the simulation controls its clock and
// randomness.

import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const MAIN = path.join(import.meta.dirname, "main.ts");
/** The same runs on every machine, however fast. */
const SEEDS = 24;
const TIMEOUT_MS = 120_000;

test("every invariant holds after every step, and everything gets done once nothing fails", {
  timeout: TIMEOUT_MS,
}, async () => {
  const args = ["--disable-warning=ExperimentalWarning", MAIN, "--seeds", String(SEEDS)];
  const { stdout } = await promisify(execFile)(process.execPath, args).catch((error: { stdout: string }) => error);
  expect(stdout).toContain("every invariant held");
});
