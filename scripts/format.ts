// `npm run format`: formats and lints, and mends what can be mended.

import { runScript } from "../self-host/exit-error.ts";
import { runCommand } from "../self-host/run-command.ts";

await runScript(async () => (await runCommand("biome", ["check", "--write", "."])).code);
