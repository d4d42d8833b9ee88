// Builds everything that serving, deploying and testing need: the dashboard, the packages, then the bundle that
// contains them; and what serves them on this machine.

import { isBuilt, markBuilt, seenIn } from "../self-host/build/built.mjs";
import { DASHBOARD, ensureDashboard } from "../self-host/build/dashboard.ts";
import { ensurePackage, PACKAGE } from "../self-host/build/package.ts";
import { loadProject, PROJECT } from "../self-host/build/project.ts";
import { ensureServer, SERVER } from "../self-host/build/server-bundle.ts";
import { ensureWheel, PYTHON_PACKAGE } from "../self-host/build/wheel.ts";
import { EDGE_WORKER, ensureWorkerBundle } from "../self-host/build/worker-bundle.ts";
import { dataDirAt, dataRoot, lockDataDir } from "../self-host/data/data-dir.ts";
import { runScript } from "../self-host/exit-error.ts";
import { ROOT } from "../self-host/run-command.ts";
import { withLock } from "./lock.mjs";

const STEPS = [PROJECT, DASHBOARD, PACKAGE, PYTHON_PACKAGE, EDGE_WORKER, SERVER];

/**
 * Builds what has changed; calls `onBuilt` with each part that was built. One process of this checkout at a time,
 * because two would write into each other's files.
 */
export const buildAll = (onBuilt: (part: string) => void = () => {}): Promise<void> =>
  withLock("build", ROOT, async () => {
    if (isBuilt(ROOT)) return;
    const products = STEPS.map(({ product }) => product);
    const inputs = [...new Set(STEPS.flatMap((step) => step.inputs))];
    const seen = seenIn(ROOT, inputs);
    await buildEach(onBuilt);
    markBuilt(ROOT, { products, inputs, seen });
  });

const buildEach = async (onBuilt: (part: string) => void): Promise<void> => {
  await loadProject();
  // In this order, because the bundle step needs the assets' directory.
  if (await ensureDashboard()) onBuilt("dashboard");
  if (await ensurePackage()) onBuilt("package for workers and clients");
  if (await ensureWheel()) onBuilt("package for Python");
  if (await ensureWorkerBundle()) onBuilt("edge worker");
  if (await ensureServer()) onBuilt("server");
};

if (import.meta.main) {
  await runScript(async () => {
    // A server that cannot have its folder says so first, and builds nothing.
    if (process.argv.includes("--for-server")) (await lockDataDir(dataDirAt(dataRoot(process.env)))).close();
    await buildAll((part) => console.log(`Built the ${part}.`));
    return 0;
  });
}
