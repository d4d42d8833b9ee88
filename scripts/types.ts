// `npm run types`: the types of every TypeScript project, a few at once; begins no more after the first with a mistake.

import { existsSync, readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import { runScript } from "../self-host/exit-error.ts";
import { ROOT, runCommand } from "../self-host/run-command.ts";

/** The root and each folder directly below it with a tsconfig.json. */
const typeScriptProjects = (): string[] => {
  const folders = readdirSync(ROOT, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith(".") && entry.name !== "node_modules")
    .map((entry) => entry.name);
  return [".", ...folders.sort()]
    .map((folder) => path.join(folder, "tsconfig.json"))
    .filter((file) => existsSync(path.join(ROOT, file)));
};

/** More would not be faster, and each takes up to 1.5 GB. */
const MOST_AT_ONCE = 3;

export const checkTypes = async (): Promise<number> => {
  // The tests, which take the longest, are not left for the end.
  const projects = typeScriptProjects().reverse();
  let failed = 0;
  const checkNext = async (): Promise<void> => {
    for (let file = projects.shift(); file !== undefined && failed === 0; file = projects.shift()) {
      const { code, output } = await runCommand("tsc", ["--noEmit", "-p", file], { isQuiet: true });
      console.log(`types of ${file}\n${output}`.trimEnd());
      failed ||= code;
    }
  };
  await Promise.all(Array.from({ length: Math.min(MOST_AT_ONCE, availableParallelism()) }, checkNext));
  return failed;
};

if (import.meta.main) await runScript(checkTypes);
