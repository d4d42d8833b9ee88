// `npm run migrations`: writes the migration of D1 that a change of migrations/schema.ts needs.

import { runScript } from "../self-host/exit-error.ts";
import { runCommand } from "../self-host/run-command.ts";

await runScript(async () => (await runCommand("drizzle-kit", ["generate", ...process.argv.slice(2)])).code);
