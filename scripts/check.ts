// `npm run check`: what CI runs. Format and lint, types of every TypeScript project, tests; stops at the first failure.

import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { runScript } from "./exit-error.ts";
import { ROOT, runCommand } from "./run-command.ts";
import { runTests } from "./test.ts";

/** The root and each folder directly below it with a tsconfig.json. */
function typeScriptProjects(): string[] {
  const folders = readdirSync(ROOT, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith(".") && entry.name !== "node_modules")
    .map((entry) => entry.name);
  return [".", ...folders.sort()]
    .map((folder) => path.join(folder, "tsconfig.json"))
    .filter((file) => existsSync(path.join(ROOT, file)));
}

async function check(): Promise<number> {
  const command =
    (name: string, ...args: string[]) =>
    async () =>
      (await runCommand(name, args)).code;
  const steps: [string, () => Promise<number>][] = [
    ["format and lint", command("biome", "check", "--error-on-warnings", ".")],
    ...typeScriptProjects().map((file): [string, () => Promise<number>] => [
      `types of ${file}`,
      command("tsc", "--noEmit", "-p", file),
    ]),
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
}

await runScript(check);
