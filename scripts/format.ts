// `npm run format`: formats and lints, and mends what can be mended.

import { runScript } from "./exit-error.ts";
import { runCommand } from "./run-command.ts";

await runScript(async () => (await runCommand("biome", ["check", "--write", "."])).code);
