// `npm run fixture -- 0.1.0`: records a release's data folder, which every later release must be able to read.

import path from "node:path";
import { runScript } from "../self-host/exit-error.ts";
import { ROOT, runCommand } from "../self-host/run-command.ts";
import { buildAll } from "./build.ts";

const MAIN = path.join(ROOT, "test/upgrade/main.ts");

const fixture = async (args: string[]): Promise<number> => {
  await buildAll();
  return (await runCommand("node", ["--disable-warning=ExperimentalWarning", MAIN, ...args])).code;
};

await runScript(() => fixture(process.argv.slice(2)));
