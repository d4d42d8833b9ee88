// `npm run simulate -- --minutes 10`: the deterministic simulator, for any time. `--seed N` replays one run, `--seeds N
// --from M` runs a number of them; `--keep-going` continues after a failure. Without arguments: 200 runs.

import path from "node:path";
import { runScript } from "../self-host/exit-error.ts";
import { ROOT, runCommand } from "../self-host/run-command.ts";

const MAIN = path.join(ROOT, "test/simulation/main.ts");

/** Young garbage is collected less often. */
const FLAGS = ["--disable-warning=ExperimentalWarning", "--max-semi-space-size=64"];

const simulate = async (args: string[]): Promise<number> => (await runCommand("node", [...FLAGS, MAIN, ...args])).code;

await runScript(() => simulate(process.argv.slice(2)));
