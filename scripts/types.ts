// `npm run types`: the types of every TypeScript project; stops at the first with a mistake.

import { existsSync, readdirSync } from "node:fs";
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

export const checkTypes = async (): Promise<number> => {
  for (const file of typeScriptProjects()) {
    console.log(`types of ${file}`);
    const { code } = await runCommand("tsc", ["--noEmit", "-p", file]);
    if (code !== 0) return code;
  }
  return 0;
};

if (import.meta.main) await runScript(checkTypes);
