// D1's migrations in the state of `wrangler dev`, all in one runtime: `wrangler d1 migrations apply --local` starts one for
// each of them, which takes a first start 20 seconds.

import path from "node:path";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { loadProject } from "../self-host/build/project.ts";
import { ExitError } from "../self-host/exit-error.ts";
import { ROOT } from "../self-host/run-command.ts";

/** Where wrangler keeps its resources below a folder that `--persist-to` names. */
const RESOURCES = "v3";

export const migrateDevelopment = async (persistTo: string): Promise<void> => {
  const { databases, compatibilityDate } = await loadProject();
  const options = convertV4MiniflareOptions({
    modules: true,
    scriptPath: path.join(ROOT, "self-host/migration-worker.js"),
    compatibilityDate,
    bindings: { DATABASES: databases },
    d1Databases: Object.fromEntries(databases.map(({ binding, databaseId }) => [binding, databaseId])),
  });
  const runtime = new Miniflare({ ...options, resourcePersistencePath: path.join(persistTo, RESOURCES) });
  try {
    const answer = await runtime.dispatchFetch("http://migrations/");
    if (!answer.ok) throw new ExitError(`The D1 migrations could not be applied: ${await answer.text()}`);
  } finally {
    await runtime.dispose();
  }
};
