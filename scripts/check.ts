// `npm run check`: what CI runs. Format and lint, types of every TypeScript project, tests; stops at the first failure.

import { runScript } from "../self-host/exit-error.ts";
import { runCommand } from "../self-host/run-command.ts";
import { runTests } from "./test.ts";
import { checkTypes } from "./types.ts";

const check = async (): Promise<number> => {
  const steps: [string, () => Promise<number>][] = [
    ["format and lint", async () => (await runCommand("biome", ["check", "--error-on-warnings", "."])).code],
    ["types", checkTypes],
    ["tests", () => runTests([])],
  ];
  for (const [name, run] of steps) {
    console.log(`\n— ${name}`);
    const code = await run();
    if (code === 0) continue;
    console.error(`\nThe check failed at: ${name}`);
    return code;
  }
  console.log("\nEverything passed.");
  return 0;
};

await runScript(check);
