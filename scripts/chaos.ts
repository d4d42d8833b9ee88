// `npm run chaos -- --kills 200`: the self-hosted server under load, killed at random, with cut connections and stopped
// workers; afterwards the answers are checked for consistency. `--batch 20000 --kills 20` does so with one batch.
// `--seed N` repeats a run's choices.

import path from "node:path";
import { runScript } from "../self-host/exit-error.ts";
import { ROOT, runCommand } from "../self-host/run-command.ts";

const MAIN = path.join(ROOT, "test/chaos/main.ts");

const chaos = async (args: string[]): Promise<number> =>
  (await runCommand("node", ["--disable-warning=ExperimentalWarning", MAIN, ...args])).code;

await runScript(() => chaos(process.argv.slice(2)));
