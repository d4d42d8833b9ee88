// `npm run dev`: the edge under `wrangler dev`, which reloads on every change, and the dashboard, rebuilt on changes.
// The state is below .wrangler/, or where --persist-to says: development never touches the data of `npm start`. When
// this ends, in whatever way, so does everything that it started.

import { existsSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { VITE_CONFIG, VITE_WATCH } from "../self-host/build/dashboard.ts";
import { type Supervised, supervise } from "../self-host/children/supervised.ts";
import { runScript } from "../self-host/exit-error.ts";
import { programOf, ROOT, toolEnvironment } from "../self-host/run-command.ts";
import { buildAll } from "./build.ts";
import { migrateDevelopment } from "./dev-migrations.ts";
import { keepDevSecrets } from "./dev-secrets.ts";

const STOP_GRACE_MS = 5_000;

const start = (command: string, args: string[]): Supervised =>
  supervise(command, programOf(command, args), { env: toolEnvironment(), cwd: ROOT });

/** Resolves when the edge ends, or a signal asks for it. */
const serve = async (): Promise<number> => {
  const secrets = keepDevSecrets(ROOT, process.env);
  const port = process.env.PORT || "8787";
  const signalled = new Promise<number>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => resolve(0));
  });
  const edge = start("wrangler", ["dev", "--port", port, ...secrets, ...process.argv.slice(2)]);
  const children = [edge];
  if (existsSync(path.join(ROOT, VITE_CONFIG))) children.push(start("vite", [...VITE_WATCH]));
  console.log("The root key of this development server is in .wrangler/development.env.");
  const code = await Promise.race([edge.exited.then((exit) => exit.code ?? 1), signalled]);
  await Promise.all(children.map((child) => child.stop(STOP_GRACE_MS)));
  return code;
};

/** All else is wrangler's. */
const stateFolder = (): string => {
  const { values } = parseArgs({ options: { "persist-to": { type: "string" } }, strict: false });
  return path.resolve(ROOT, String(values["persist-to"] ?? ".wrangler/state"));
};

await runScript(async () => {
  await buildAll();
  await migrateDevelopment(stateFolder());
  return serve();
});
