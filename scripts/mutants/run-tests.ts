// Runs test files with `quick-vitest.ts` instead of vitest: `node run-tests.ts <file> …`. Exit code 1 after a failure.

import { registerHooks } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const QUICK = new URL("./quick-vitest.ts", import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "vitest" ? { url: QUICK, shortCircuit: true } : next(specifier, context),
});

for (const file of process.argv.slice(2)) await import(pathToFileURL(path.resolve(file)).href);
const { runAll } = (await import(QUICK)) as typeof import("./quick-vitest.ts");
await runAll();
