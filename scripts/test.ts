// `npm test`: builds what tests need, then runs Vitest with the given arguments (`npm test -- test/domain`). Every run
// also writes a JSON report, from which CI takes its count; a run of many files ends with the ten slowest.

import { existsSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { runScript } from "../self-host/exit-error.ts";
import { ROOT, runCommand } from "../self-host/run-command.ts";
import { buildAll } from "./build.ts";
import { slowestFiles } from "./slowest-files.ts";

const TEST_REPORT = "dist/test-report.json";

export const runTests = async (args: string[]): Promise<number> => {
  await buildAll();
  const report = path.join(ROOT, TEST_REPORT);
  rmSync(report, { force: true });
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${TEST_REPORT}`];
  const { code } = await runCommand("vitest", ["run", ...reporters, ...args]);
  const slowest = existsSync(report) ? slowestFiles(JSON.parse(readFileSync(report, "utf8")), ROOT) : [];
  if (slowest.length > 0) console.log(["\nThe slowest test files:", ...slowest].join("\n"));
  return code;
};

if (import.meta.main) await runScript(() => runTests(process.argv.slice(2)));
