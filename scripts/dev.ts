// `npm run dev`: the edge under `wrangler dev`, which reloads on every change, and the dashboard, rebuilt on changes.
// The state is below .wrangler/: development never touches the data of `npm start`.

import { existsSync } from "node:fs";
import path from "node:path";
import { VITE_BUILD, VITE_CONFIG } from "./build/dashboard.ts";
import { loadProject } from "./build/project.ts";
import { buildAll } from "./build.ts";
import { keepDevSecrets } from "./dev-secrets.ts";
import { ExitError, runScript } from "./exit-error.ts";
import { ROOT, runCommand } from "./run-command.ts";

async function dev(): Promise<number> {
  await buildAll();
  const { databases } = await loadProject();
  for (const { binding } of databases) {
    const { code } = await runCommand("wrangler", ["d1", "migrations", "apply", binding, "--local"], {
      env: { CI: "1" },
    });
    if (code !== 0) throw new ExitError(`The migrations of ${binding} could not be applied.`);
  }
  const secrets = keepDevSecrets(ROOT, process.env);
  const port = process.env.PORT || "8787";
  const edge = runCommand("wrangler", ["dev", "--port", port, ...secrets, ...process.argv.slice(2)]);
  if (existsSync(path.join(ROOT, VITE_CONFIG))) void runCommand("vite", [...VITE_BUILD, "--watch"]);
  console.log("The root key of this development server is in .wrangler/development.env.");
  const { code } = await edge;
  process.exit(code);
}

await runScript(dev);
