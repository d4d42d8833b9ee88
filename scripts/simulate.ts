// `npm run simulate -- --minutes 10`: the deterministic simulator, for any time. `--seed N` replays one run, `--seeds N
// --from M` runs a number of them; `--keep-going` continues after a failure. Without arguments: 200 runs.

import path from "node:path";
import { runScript } from "./exit-error.ts";
import { ROOT, runCommand } from "./run-command.ts";

const MAIN = path.join(ROOT, "test/simulation/main.ts");

const simulate = async (args: string[]): Promise<number> =>
  (await runCommand("node", ["--disable-warning=ExperimentalWarning", MAIN, ...args])).code;

await runScript(() => simulate(process.argv.slice(2)));
