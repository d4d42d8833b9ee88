// `npm test`: builds what tests need, then runs Vitest with the given arguments (`npm test -- test/domain`). Every run
// also writes a JSON report, from which CI takes its count.

import { buildAll } from "./build.ts";
import { runScript } from "./exit-error.ts";
import { runCommand } from "./run-command.ts";

const TEST_REPORT = "dist/test-report.json";

export async function runTests(args: string[]): Promise<number> {
  await buildAll();
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${TEST_REPORT}`];
  return (await runCommand("vitest", ["run", ...reporters, ...args])).code;
}

if (import.meta.main) await runScript(() => runTests(process.argv.slice(2)));
